import { describe, expect, it } from 'vitest';
import { apiVersionFate } from '../../../src/validation/api-versions.ts';
import { kubernetesVersions, openKubernetesSchemas } from '../../../src/validation/kubernetes-schemas.ts';

const all = await Promise.all(kubernetesVersions.map(openKubernetesSchemas));
const apiVersionsOf = ({ kinds }: (typeof all)[number]) =>
  kinds.map(({ group, version, kind }) => ({ apiVersion: group === '' ? version : `${group}/${version}`, kind }));
const minorOf = (version: string): number => Number(version.slice(2));

describe('the fates of API versions', () => {
  it.each(all)('agree with what Kubernetes $version serves', (schemas) => {
    for (const { apiVersion, kind } of apiVersionsOf(schemas)) {
      const removedIn = apiVersionFate(apiVersion, kind)?.removedIn ?? Number.POSITIVE_INFINITY;
      expect(removedIn, `${apiVersion} ${kind}`).toBeGreaterThan(minorOf(schemas.version));
    }
  });

  it('name the version that removed what one version served and the next one does not', () => {
    for (const [index, later] of all.entries()) {
      const earlier = all[index - 1];
      if (earlier === undefined) continue;
      const served = new Set(apiVersionsOf(later).map(({ apiVersion, kind }) => `${apiVersion} ${kind}`));
      for (const { apiVersion, kind } of apiVersionsOf(earlier)) {
        if (served.has(`${apiVersion} ${kind}`)) continue;
        expect(apiVersionFate(apiVersion, kind)?.removedIn, `${apiVersion} ${kind}`).toBe(minorOf(later.version));
      }
    }
  });

  it('name a replacement that the newest version serves', () => {
    const newest = all.at(-1);
    for (const schemas of all) {
      for (const { apiVersion, kind } of apiVersionsOf(schemas)) {
        const { instead } = apiVersionFate(apiVersion, kind) ?? {};
        const [, group, version] = /^(?:([a-z0-9.]+)\/)?(v\d\w*)$/.exec(instead ?? '') ?? [];
        if (version !== undefined) expect(newest?.find(group ?? '', version, kind), `${instead} ${kind}`).toBeDefined();
      }
    }
  });

  it.each([
    ['extensions/v1beta1', 'Deployment', 16, 'apps/v1'],
    ['extensions/v1beta1', 'Ingress', 22, 'networking.k8s.io/v1'],
    ['batch/v1beta1', 'CronJob', 25, 'batch/v1'],
    ['autoscaling/v2beta2', 'HorizontalPodAutoscaler', 26, 'autoscaling/v2'],
    ['policy/v1beta1', 'PodDisruptionBudget', 25, 'policy/v1'],
    ['apiextensions.k8s.io/v1beta1', 'CustomResourceDefinition', 22, 'apiextensions.k8s.io/v1'],
    ['flowcontrol.apiserver.k8s.io/v1beta3', 'FlowSchema', 32, 'flowcontrol.apiserver.k8s.io/v1'],
  ])('%s %s went in 1.%i', (apiVersion, kind, removedIn, instead) => {
    expect(apiVersionFate(apiVersion, kind)).toMatchObject({ removedIn, instead });
  });

  it('say nothing of what is served and stays', () => {
    expect(apiVersionFate('apps/v1', 'Deployment')).toBeUndefined();
    expect(apiVersionFate('v1', 'Endpoints')).toEqual({
      deprecatedIn: 33,
      instead: 'EndpointSlice of discovery.k8s.io/v1',
    });
  });
});
