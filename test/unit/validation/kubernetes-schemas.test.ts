import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  kubernetesVersions,
  nearestKubernetesVersion,
  newestKubernetesVersion,
  openKubernetesSchemas,
} from '../../../src/validation/kubernetes-schemas.ts';

describe.each(kubernetesVersions)('the schemas of Kubernetes %s', async (version) => {
  const schemas = await openKubernetesSchemas(version);

  it('are of that version, and have the kinds that every version has', () => {
    expect(schemas.release).toMatch(new RegExp(`^v${version}\\.\\d+$`));
    expect(schemas.kinds.length).toBeGreaterThan(70);
    expect(schemas.find('apps', 'v1', 'Deployment')).toMatchObject({ plural: 'deployments', namespaced: true });
    expect(schemas.find('', 'v1', 'Namespace')).toMatchObject({ plural: 'namespaces', namespaced: false });
    expect(schemas.versionsOf('autoscaling', 'HorizontalPodAutoscaler')).toEqual(['v2', 'v1']);
  });

  it('have a definition for every reference', () => {
    const seen = new Set<string>();
    const follow = (part: unknown): void => {
      if (typeof part !== 'object' || part === null) return;
      const { $ref } = part as { readonly $ref?: unknown };
      if (typeof $ref === 'string' && !seen.has($ref)) {
        seen.add($ref);
        expect(schemas.definition($ref), $ref).toBeDefined();
        follow(schemas.definition($ref));
      }
      for (const member of Object.values(part)) follow(member);
    };
    for (const { group, version: kindVersion, kind } of schemas.kinds) {
      follow(schemas.find(group, kindVersion, kind)?.schema);
    }
    expect(seen.size).toBeGreaterThan(400);
  });

  it('have the enums of the Go sources', () => {
    const { properties } = schemas.definition('#/definitions/io.k8s.api.core.v1.Container') ?? {};
    expect(properties?.imagePullPolicy?.enum).toEqual(['Always', 'IfNotPresent', 'Never']);
    const claim = schemas.definition('#/definitions/io.k8s.api.core.v1.PersistentVolumeClaimSpec');
    expect(claim?.properties?.accessModes?.items?.enum).toContain('ReadWriteOncePod');
  });

  it('are small as they ship', () => {
    const file = new URL(`../../../generated/kubernetes/v${version}.ts`, import.meta.url);
    expect(readFileSync(file).length).toBeLessThan(30_000);
  });
});

describe('the version that is nearest to a stated one', () => {
  it.each([
    ['1.34', '1.34'],
    ['v1.34.2', '1.34'],
    ['v1.35.1-gke.100', '1.35'],
    ['v1.36.0+k3s1', '1.36'],
    ['1.20', kubernetesVersions[0]],
    ['1.99', newestKubernetesVersion],
    ['1.3', kubernetesVersions[0]],
    ['latest', undefined],
    ['2.0', undefined],
  ])('%s is %s', (stated, wanted) => {
    expect(nearestKubernetesVersion(stated)).toBe(wanted);
  });
});
