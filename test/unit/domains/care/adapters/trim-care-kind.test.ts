import { describe, expect, it } from 'vitest';
import { trimObject } from '../../../../../src/adapters/kubernetes/cluster/live/trim.ts';
import { trimCareKind } from '../../../../../src/domains/care/adapters/kubernetes/trim-care-kind.ts';
import type { JsonObject } from '../../../../../src/model/text/json.ts';

describe('of a live object stays', () => {
  const lastTransitionTime = '2026-01-05T09:00:00Z';
  const condition = { type: 'Ready', status: 'False', reason: 'R', message: 'm', lastTransitionTime };
  const renewed = { lastHeartbeatTime: '2026-01-05T09:05:00Z', lastUpdateTime: '2026-01-05T09:05:00Z' };
  it.each<readonly [string, string, JsonObject, JsonObject, JsonObject]>([
    [
      'machine.sapcloud.io/v1alpha1',
      'Machine',
      { currentStatus: { phase: 'Running', lastUpdateTime: lastTransitionTime }, lastKnownState: 'large' },
      { currentStatus: { phase: 'Running' } },
      {},
    ],
    [
      'machine.sapcloud.io/v1alpha1',
      'MachineDeployment',
      { observedGeneration: 2, failedMachines: [{ name: 'm' }], replicas: 2 },
      { observedGeneration: 2, failedMachines: [{ name: 'm' }], replicas: 2 },
      { replicas: 3 },
    ],
    [
      'extensions.gardener.cloud/v1alpha1',
      'Worker',
      { lastError: { description: 'd', codes: ['C'] }, providerStatus: { large: true }, state: { large: true } },
      { lastError: { description: 'd', codes: ['C'] } },
      { type: 'aws' },
    ],
    [
      'resources.gardener.cloud/v1alpha1',
      'ManagedResource',
      { observedGeneration: 2, resources: [{ name: 'large' }] },
      { observedGeneration: 2 },
      { class: 'seed' },
    ],
    ['druid.gardener.cloud/v1alpha1', 'Etcd', { ready: true, members: [] }, { ready: true }, { replicas: 3 }],
  ])('of a %s %s what care reads, without its heartbeats', (apiVersion, kind, status, keptStatus, keptSpec) => {
    const value = (times: JsonObject) => ({
      ...{ apiVersion, kind },
      metadata: { name: 'a', namespace: 'shop', generation: 3, managedFields: [] },
      spec: { ...keptSpec, providerConfig: { large: true } },
      status: { ...status, conditions: [{ ...condition, ...times }] },
    });
    const kept = trimObject(value(renewed), trimCareKind);
    expect(kept).toEqual({
      ...{ apiVersion, kind },
      metadata: { name: 'a', namespace: 'shop', generation: 3 },
      spec: keptSpec,
      status: { ...keptStatus, conditions: [condition] },
    });
    expect(trimObject(value({}), trimCareKind)).toEqual(kept);
  });

  it.each([
    ['ResourcesHealthy', 'False', true],
    ['ResourcesHealthy', 'Unknown', true],
    ['ResourcesProgressing', 'True', true],
    ['ResourcesProgressing', 'False', false],
    ['ResourcesApplied', 'True', false],
  ])('of a ManagedResource with %s %s the workloads that it manages: %s', (type, status, expected) => {
    const workload = { kind: 'DaemonSet', namespace: 'kube-system', name: 'dns' };
    const resources = [
      { ...workload, apiVersion: 'apps/v1', labels: { large: 'yes' } },
      { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'kube-system', name: 'dns' },
    ];
    const kept = trimObject(
      {
        ...{ apiVersion: 'resources.gardener.cloud/v1alpha1', kind: 'ManagedResource', metadata: { name: 'a' } },
        status: { conditions: [{ type, status }], resources },
      },
      trimCareKind,
    );
    expect(kept.status).toEqual({ conditions: [{ type, status }], ...(expected ? { resources: [workload] } : {}) });
  });

  it('of a CustomResourceDefinition its versions without their schemas', () => {
    const names = { kind: 'Widget', plural: 'widgets' };
    const webhook = { clientConfig: { caBundle: 'large' } };
    const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }];
    const value = {
      ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
      metadata: { name: 'widgets.example.com' },
      spec: { group: 'example.com', names, conversion: { strategy: 'Webhook', webhook }, versions },
      status: { storedVersions: ['v1beta1', 'v1'], acceptedNames: names },
    };
    expect(trimObject(value, trimCareKind)).toEqual({
      ...value,
      spec: {
        ...{ group: 'example.com', names, conversion: { strategy: 'Webhook' } },
        versions: [{ name: 'v1', served: true, storage: true }],
      },
      status: { storedVersions: ['v1beta1', 'v1'] },
    });
  });
});
