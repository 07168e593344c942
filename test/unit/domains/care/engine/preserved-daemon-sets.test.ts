import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../../../src/model/text/json.ts';
import { CONTROL_PLANE, careWorld } from '../../../../support/care-world.ts';
import { controlPlaneComponent } from '../../../../support/control-plane.ts';

/** A ManagedResource that fails only on Nodes whose failed Machine is preserved makes no system component unhealthy. */

const RUNNING = ['True', 'SystemComponentsRunning', 'All system components are healthy.'];
const UNHEALTHY = ['False', 'UnhealthyReason', 'DaemonSet kube-system/dns is unhealthy'];
const conditions = [
  { type: 'ResourcesApplied', status: 'True' },
  { type: 'ResourcesHealthy', status: 'False', reason: UNHEALTHY[1] ?? '', message: UNHEALTHY[2] ?? '' },
  { type: 'ResourcesProgressing', status: 'False' },
];
const ref = (kind: string, name: string): JsonObject => ({ kind, namespace: 'kube-system', name });
const managed = (...resources: readonly JsonObject[]): JsonObject => ({ status: { conditions, resources } });
const node = (preserved: string, ready: string): JsonObject => ({
  status: {
    conditions: [
      { type: 'Preserved', status: preserved },
      { type: 'Ready', status: ready },
    ],
  },
});
const pod = (on: string, ready: string, owner = 'dns'): JsonObject => ({
  metadata: { ownerReferences: [{ kind: 'DaemonSet', name: owner, controller: true }] },
  spec: { nodeName: on },
  status: { conditions: [{ type: 'Ready', status: ready }] },
});
const daemonSet = (numberUnavailable: number, status: JsonObject = {}, rollingUpdate: JsonObject = {}): JsonObject => ({
  metadata: { generation: 1 },
  spec: { updateStrategy: { type: 'RollingUpdate', rollingUpdate } },
  status: {
    ...{ observedGeneration: 1, desiredNumberScheduled: 4, currentNumberScheduled: 4, updatedNumberScheduled: 4 },
    ...{ numberUnavailable, ...status },
  },
});
const deployment = (available: string): JsonObject => ({
  status: { conditions: [{ type: 'Available', status: available }] },
});
const statefulSet = (readyReplicas: number): JsonObject => ({ spec: { replicas: 2 }, status: { readyReplicas } });

/** The ManagedResource `addons` with DaemonSet `dns`, whose only Pod that is not ready is on the preserved Node `n1`. */
function world() {
  const made = careWorld('{seedName: seed, provider: {workers: [{name: a, minimum: 1, maximum: 4}]}}');
  made.wrote();
  const { live } = made;
  live('seed', `apps/Deployment/${CONTROL_PLANE}/kube-apiserver`, controlPlaneComponent('controlplane'));
  live('blue', '/Pod/kube-system/vpn', { metadata: { labels: { type: 'tunnel' } }, status: { phase: 'Running' } });
  const put = (key: string, value?: JsonObject) => live('blue', key, value);
  const resource = (name: string, value?: JsonObject) =>
    live('seed', `resources.gardener.cloud/ManagedResource/${CONTROL_PLANE}/${name}`, value);
  const preserves = (preservedFailedReplicas: number, namespace = CONTROL_PLANE) =>
    live('seed', `machine.sapcloud.io/MachineDeployment/${namespace}/a`, { status: { preservedFailedReplicas } });
  resource('addons', managed(ref('DaemonSet', 'dns'), ref('ConfigMap', 'dns'), ref('Deployment', 'core')));
  put('apps/DaemonSet/kube-system/dns', daemonSet(1));
  put('apps/Deployment/kube-system/core', deployment('True'));
  put('/Node//n1', node('True', 'Unknown'));
  put('/Node//n2', node('False', 'True'));
  put('/Pod/kube-system/dns-1', pod('n1', 'False'));
  put('/Pod/kube-system/dns-2', pod('n2', 'True'));
  preserves(1);
  return {
    ...{ put, resource, preserves },
    spec: made.spec,
    found() {
      const { status, reason, message } = made.condition('SystemComponentsHealthy') ?? expect.fail();
      return [status, reason, message];
    },
  };
}

type Made = ReturnType<typeof world>;

test('only Pods of a DaemonSet on a preserved Node fail', () => {
  expect(world().found()).toEqual(RUNNING);
});

describe('the ManagedResource is named', () => {
  test.each<[string, (made: Made) => void]>([
    ['no Machine is preserved', ({ preserves }) => preserves(0)],
    ['only another control plane preserves one', ({ preserves }) => [preserves(0), preserves(1, 'shoot--web--green')]],
    ['the Node is ready', ({ put }) => put('/Node//n1', node('True', 'True'))],
    ['the Node is not preserved', ({ put }) => put('/Node//n1', node('False', 'Unknown'))],
    ['the Node is gone', ({ put }) => put('/Node//n1')],
    ['the Pod there is ready', ({ put }) => put('/Pod/kube-system/dns-1', pod('n1', 'True'))],
    ['the Pod there is of another DaemonSet', ({ put }) => put('/Pod/kube-system/dns-1', pod('n1', 'False', 'cni'))],
    [
      'another Pod is not available either',
      ({ put }) => [
        put('/Pod/kube-system/dns-2', pod('n2', 'False')),
        put('apps/DaemonSet/kube-system/dns', daemonSet(2)),
      ],
    ],
    ['the DaemonSet is not here', ({ put }) => put('apps/DaemonSet/kube-system/dns')],
    ['a Deployment fails as well', ({ put }) => put('apps/Deployment/kube-system/core', deployment('False'))],
    ['a Deployment is not here', ({ put }) => put('apps/Deployment/kube-system/core')],
    [
      'a StatefulSet fails as well',
      ({ put, resource }) => [
        resource('addons', managed(ref('DaemonSet', 'dns'), ref('StatefulSet', 'db'))),
        put('apps/StatefulSet/kube-system/db', statefulSet(1)),
      ],
    ],
    ['it manages no DaemonSet', ({ resource }) => resource('addons', managed(ref('Deployment', 'core')))],
    ['its objects are not known', ({ resource }) => resource('addons', managed())],
    ['its DaemonSets are healthy', ({ put }) => put('apps/DaemonSet/kube-system/dns', daemonSet(0))],
  ])('if %s', (_what, stage) => {
    const made = world();
    stage(made);
    expect(made.found()).toEqual(UNHEALTHY);
  });

  test('if it is another one than those that are excused', () => {
    const { resource, put, found } = world();
    const later = { ...managed(ref('DaemonSet', 'cni')) };
    resource('later', later);
    put('apps/DaemonSet/kube-system/cni', daemonSet(1));
    expect(found()).toEqual(UNHEALTHY);
    put('/Pod/kube-system/cni-1', pod('n1', 'False', 'cni'));
    expect(found()).toEqual(RUNNING);
  });
});

test('a healthy StatefulSet is no obstacle, nor one more Pod that a roll-out may take down', () => {
  const { put, resource, found } = world();
  resource('addons', managed(ref('DaemonSet', 'dns'), ref('StatefulSet', 'db')));
  put('apps/StatefulSet/kube-system/db', statefulSet(2));
  expect(found()).toEqual(RUNNING);
  const rolling = (maxUnavailable: number | string, type = 'RollingUpdate') => {
    const made = daemonSet(2, { updatedNumberScheduled: 3 });
    put('apps/DaemonSet/kube-system/dns', {
      ...made,
      spec: { updateStrategy: { type, rollingUpdate: { maxUnavailable } } },
    });
    return found();
  };
  for (const enough of [1, '25%', '49%']) expect(rolling(enough), `${enough}`).toEqual(RUNNING);
  for (const few of [0, '24%', '1', 'many']) expect(rolling(few), `${few}`).toEqual(UNHEALTHY);
  expect(rolling(1, 'OnDelete')).toEqual(UNHEALTHY);
});
