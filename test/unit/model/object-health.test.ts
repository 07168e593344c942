import { expect, test } from 'vitest';
import type { JsonObject } from '../../../src/model/json.ts';
import { objectHealth } from '../../../src/model/object-health.ts';

const of = (apiVersion: string, kind: string, spec: JsonObject, status?: JsonObject, metadata: JsonObject = {}) =>
  objectHealth({ apiVersion, kind, metadata: { generation: 1, ...metadata }, spec, ...(status ? { status } : {}) });
const conditions = (type: string, status: string, reason = '', message = '') => ({
  conditions: [{ type, status, reason, message }],
});
const done = { observedGeneration: 1 };

test.each([
  ['a kind that says nothing', of('v1', 'ConfigMap', {}), 'current'],
  ['being deleted', of('v1', 'ConfigMap', {}, undefined, { deletionTimestamp: 't' }), 'terminating'],
  ['an old status', of('x/v1', 'Any', {}, { observedGeneration: 0 }), 'inProgress'],
  ['reconciling', of('x/v1', 'Any', {}, conditions('Reconciling', 'True')), 'inProgress'],
  ['stalled', of('x/v1', 'Any', {}, conditions('Stalled', 'True', 'Broken', 'why')), 'failed'],
  ['ready', of('x/v1', 'Any', {}, conditions('Ready', 'True')), 'current'],
  ['not ready', of('x/v1', 'Any', {}, conditions('Ready', 'False')), 'inProgress'],
  ['a Deployment without a status', of('apps/v1', 'Deployment', {}), 'inProgress'],
  [
    'a Deployment that is there',
    of('apps/v1', 'Deployment', { replicas: 2 }, { ...done, replicas: 2, updatedReplicas: 2, availableReplicas: 2 }),
    'current',
  ],
  [
    'a Deployment with old pods',
    of('apps/v1', 'Deployment', { replicas: 2 }, { ...done, replicas: 3, updatedReplicas: 2, availableReplicas: 3 }),
    'inProgress',
  ],
  [
    'a Deployment past its deadline',
    of('apps/v1', 'Deployment', {}, { ...done, ...conditions('Progressing', 'False', 'ProgressDeadlineExceeded') }),
    'failed',
  ],
  ['a Deployment of none', of('apps/v1', 'Deployment', { replicas: 0 }, done), 'current'],
  [
    'a StatefulSet that is there',
    of(
      'apps/v1',
      'StatefulSet',
      {},
      { ...done, replicas: 1, readyReplicas: 1, currentRevision: 'a', updateRevision: 'a' },
    ),
    'current',
  ],
  [
    'a StatefulSet of two revisions',
    of(
      'apps/v1',
      'StatefulSet',
      {},
      { ...done, replicas: 1, readyReplicas: 1, currentRevision: 'a', updateRevision: 'b' },
    ),
    'inProgress',
  ],
  ['a DaemonSet of no node', of('apps/v1', 'DaemonSet', {}, { ...done, desiredNumberScheduled: 0 }), 'current'],
  ['a DaemonSet not ready', of('apps/v1', 'DaemonSet', {}, { ...done, desiredNumberScheduled: 1 }), 'inProgress'],
  ['a ReplicaSet not available', of('apps/v1', 'ReplicaSet', {}, done), 'inProgress'],
  ['a Pod that is ready', of('v1', 'Pod', {}, { phase: 'Running', ...conditions('Ready', 'True') }), 'current'],
  ['a Pod that has ended', of('v1', 'Pod', {}, { phase: 'Succeeded' }), 'current'],
  ['a Pod that has failed', of('v1', 'Pod', {}, { phase: 'Failed', reason: 'Evicted' }), 'failed'],
  [
    'a Pod that crashes',
    of(
      'v1',
      'Pod',
      {},
      { phase: 'Running', containerStatuses: [{ state: { waiting: { reason: 'CrashLoopBackOff' } } }] },
    ),
    'failed',
  ],
  ['a Job that runs', of('batch/v1', 'Job', {}, { startTime: 't' }), 'current'],
  ['a Job that has failed', of('batch/v1', 'Job', {}, conditions('Failed', 'True')), 'failed'],
  [
    'a definition that is served',
    of('apiextensions.k8s.io/v1', 'CustomResourceDefinition', {}, conditions('Established', 'True')),
    'current',
  ],
  ['a new definition', of('apiextensions.k8s.io/v1', 'CustomResourceDefinition', {}), 'inProgress'],
  [
    'a definition whose names are taken',
    of('apiextensions.k8s.io/v1', 'CustomResourceDefinition', {}, conditions('NamesAccepted', 'False')),
    'failed',
  ],
  ['a claim', of('v1', 'PersistentVolumeClaim', {}, { phase: 'Pending' }), 'inProgress'],
  ['a bound claim', of('v1', 'PersistentVolumeClaim', {}, { phase: 'Bound' }), 'current'],
  ['a plain Service', of('v1', 'Service', { type: 'ClusterIP' }, { loadBalancer: {} }), 'current'],
  ['a Service that waits', of('v1', 'Service', { type: 'LoadBalancer' }, { loadBalancer: {} }), 'inProgress'],
  [
    'a Service with an address',
    of('v1', 'Service', { type: 'LoadBalancer' }, { loadBalancer: { ingress: [{ ip: '1.2.3.4' }] } }),
    'current',
  ],
  [
    'a budget that is kept',
    of('policy/v1', 'PodDisruptionBudget', {}, { ...done, currentHealthy: 2, desiredHealthy: 1 }),
    'current',
  ],
  ['a Namespace', of('v1', 'Namespace', {}, { phase: 'Active' }), 'current'],
  ['a Namespace that ends', of('v1', 'Namespace', {}, { phase: 'Terminating' }), 'terminating'],
])('%s', (_what, health, state) => {
  expect(health.state).toBe(state);
});

test('the message names the failure', () => {
  expect(of('apps/v1', 'Deployment', { replicas: 3 }, { ...done, updatedReplicas: 1 }).message).toBe(
    '1 of 3 pods are of the new revision',
  );
});
