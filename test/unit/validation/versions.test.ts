import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/model/text/json.ts';
import { createObjectCheck } from '../../../src/validation/check-object.ts';
import { type KubernetesVersion, openKubernetesSchemas } from '../../../src/validation/kubernetes-schemas.ts';

async function severities(version: KubernetesVersion, object: JsonObject): Promise<readonly string[]> {
  const check = createObjectCheck({ kubernetes: await openKubernetesSchemas(version) });
  return check(object).map(({ severity, path }) => `${severity} ${path.join('.')}`);
}

const ports = [{ port: 80 }];

describe('rules that not all versions of Kubernetes have', () => {
  it('refuse bits after the prefix of a block since 1.36, and only warn before', async () => {
    const spec = { type: 'LoadBalancer', loadBalancerSourceRanges: ['10.0.0.1/8'], ports };
    const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' }, spec };
    expect(await severities('1.36', service)).toEqual(['error spec.loadBalancerSourceRanges.0']);
    expect(await severities('1.35', service)).toEqual(['warning spec.loadBalancerSourceRanges.0']);
  });

  it('refuse the target of an autoscaler without group since 1.34', async () => {
    const spec = { scaleTargetRef: { kind: 'Deployment', name: 'web' }, maxReplicas: 3 };
    const autoscaler = {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'web' },
      spec,
    };
    expect(await severities('1.34', autoscaler)).toEqual(['error spec.scaleTargetRef.apiVersion']);
    expect(await severities('1.33', autoscaler)).toEqual(['warning spec.scaleTargetRef.apiVersion']);
  });

  it('refuse the name of a Service that begins with a digit before 1.36', async () => {
    const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: '1web' }, spec: { ports } };
    expect(await severities('1.35', service)).toEqual(['error metadata.name']);
    expect(await severities('1.36', service)).toEqual(['warning metadata.name']);
  });
});
