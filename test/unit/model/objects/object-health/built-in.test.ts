import { expect, test } from 'vitest';
import { objectHealth } from '../../../../../src/model/objects/object-health/object-health.ts';
import type { JsonObject } from '../../../../../src/model/text/json.ts';
import { conditionList } from '../../../../support/judged-objects.ts';

const of = (apiVersion: string, kind: string, spec: JsonObject, status?: JsonObject, metadata: JsonObject = {}) =>
  objectHealth({ apiVersion, kind, metadata: { generation: 1, ...metadata }, spec, ...(status ? { status } : {}) });
const conditions = (type: string, status: string, reason = '', message = '') => ({
  conditions: [{ type, status, reason, message }],
});
const done = { observedGeneration: 1 };
const scheduled = (count: number) => ({
  desiredNumberScheduled: count,
  currentNumberScheduled: count,
  numberAvailable: count,
  numberReady: count,
});
const waiting = (reason: string) =>
  of(
    'v1',
    'Pod',
    { restartPolicy: 'Never' },
    { phase: 'Pending', initContainerStatuses: [], containerStatuses: [{ state: { waiting: { reason } } }] },
  );

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
  [
    'a Deployment whose rollout is paused',
    of('apps/v1', 'Deployment', { paused: true, replicas: 3 }, { ...done, availableReplicas: 3, updatedReplicas: 1 }),
    'suspended',
  ],
  [
    'a Deployment whose rollout is paused, without working pods',
    of('apps/v1', 'Deployment', { paused: true, replicas: 3 }, { ...done, availableReplicas: 0 }),
    'inProgress',
  ],
  [
    'a Deployment whose rollout is paused after it has failed',
    of(
      'apps/v1',
      'Deployment',
      { paused: true },
      { ...done, availableReplicas: 1, ...conditions('Progressing', 'False', 'ProgressDeadlineExceeded') },
    ),
    'failed',
  ],
  [
    'a DaemonSet with OnDelete and old pods',
    of(
      'apps/v1',
      'DaemonSet',
      { updateStrategy: { type: 'OnDelete' } },
      { ...done, ...scheduled(1), updatedNumberScheduled: 0 },
    ),
    'current',
  ],
  [
    'a DaemonSet with OnDelete that lacks a pod',
    of('apps/v1', 'DaemonSet', { updateStrategy: { type: 'OnDelete' } }, { ...done, ...scheduled(1), numberReady: 0 }),
    'inProgress',
  ],
  [
    'a StatefulSet with OnDelete and old pods',
    of(
      'apps/v1',
      'StatefulSet',
      { updateStrategy: { type: 'OnDelete' } },
      { ...done, replicas: 1, readyReplicas: 1, currentRevision: 'a', updateRevision: 'b' },
    ),
    'current',
  ],
  [
    'a StatefulSet with OnDelete that lacks a pod',
    of('apps/v1', 'StatefulSet', { updateStrategy: { type: 'OnDelete' } }, done),
    'inProgress',
  ],
  [
    'a ReplicationController that is there',
    of('v1', 'ReplicationController', {}, { ...done, availableReplicas: 1 }),
    'current',
  ],
  ['a Pod whose node is lost', of('v1', 'Pod', {}, { phase: 'Unknown' }), 'unknown'],
  ['a Pod without a phase', of('v1', 'Pod', {}, {}), 'inProgress'],
  [
    'a Pod whose container has failed',
    of(
      'v1',
      'Pod',
      {},
      { phase: 'Failed', containerStatuses: [{ name: 'a', state: { terminated: { exitCode: 3 } } }] },
    ),
    'failed',
  ],
  ['a Pod that waits for its init container', waiting('PodInitializing'), 'inProgress'],
  ['a Pod that is being made', waiting('ContainerCreating'), 'inProgress'],
  ['a Job that is suspended', of('batch/v1', 'Job', { suspend: true }, conditions('Suspended', 'True')), 'suspended'],
  [
    'a Job that was resumed and is not started',
    of('batch/v1', 'Job', { suspend: false }, conditions('Suspended', 'True')),
    'inProgress',
  ],
  ['a Job that is complete', of('batch/v1', 'Job', { suspend: true }, conditions('Complete', 'True')), 'current'],
  ['a CronJob without a job', of('batch/v1', 'CronJob', {}), 'current'],
  [
    'a suspended CronJob',
    of('batch/v1', 'CronJob', { suspend: true }, { lastScheduleTime: '2026-01-02T00:00:00Z' }),
    'current',
  ],
  [
    'a CronJob whose last job has failed',
    of(
      'batch/v1',
      'CronJob',
      {},
      { lastScheduleTime: '2026-01-02T00:00:00Z', lastSuccessfulTime: '2026-01-01T00:00:10Z' },
    ),
    'failed',
  ],
  [
    'a CronJob whose jobs are deleted as soon as they end',
    of(
      'batch/v1',
      'CronJob',
      { jobTemplate: { spec: { ttlSecondsAfterFinished: 0 } } },
      { lastScheduleTime: '2026-01-02T00:00:00Z', lastSuccessfulTime: '2026-01-01T00:00:10Z' },
    ),
    'current',
  ],
  [
    'a CustomResourceDefinition that is served although its schema is not structural',
    of(
      'apiextensions.k8s.io/v1',
      'CustomResourceDefinition',
      {},
      { conditions: conditionList('Established=True', 'NonStructuralSchema=True') },
    ),
    'current',
  ],
  [
    'a CustomResourceDefinition that is not served because its schema is not structural',
    of(
      'apiextensions.k8s.io/v1',
      'CustomResourceDefinition',
      {},
      { conditions: conditionList('Established=False', 'NonStructuralSchema=True') },
    ),
    'failed',
  ],
  [
    'a CronJob whose job runs',
    of(
      'batch/v1',
      'CronJob',
      {},
      { active: [{}], lastScheduleTime: '2026-01-02T00:00:00Z', lastSuccessfulTime: '2026-01-01T00:00:10Z' },
    ),
    'current',
  ],
  [
    'a CronJob whose last job has succeeded',
    of(
      'batch/v1',
      'CronJob',
      {},
      { lastScheduleTime: '2026-01-02T00:00:00Z', lastSuccessfulTime: '2026-01-02T00:00:10Z' },
    ),
    'current',
  ],
  [
    'an autoscaler that works',
    of('autoscaling/v2', 'HorizontalPodAutoscaler', {}, conditions('AbleToScale', 'True', 'ReadyForNewScale')),
    'current',
  ],
  [
    'an autoscaler without metrics',
    of(
      'autoscaling/v2',
      'HorizontalPodAutoscaler',
      {},
      conditions('ScalingActive', 'False', 'FailedGetResourceMetric'),
    ),
    'failed',
  ],
  ['a new autoscaler', of('autoscaling/v2', 'HorizontalPodAutoscaler', {}), 'inProgress'],
  [
    'an autoscaler whose target is scaled to zero',
    of(
      'autoscaling/v2',
      'HorizontalPodAutoscaler',
      {},
      {
        conditions: [
          { type: 'AbleToScale', status: 'True' },
          { type: 'ScalingActive', status: 'False', reason: 'ScalingDisabled' },
        ],
      },
    ),
    'current',
  ],
  [
    'an autoscaler of version v1 without metrics',
    of(
      'autoscaling/v1',
      'HorizontalPodAutoscaler',
      {},
      {},
      {
        annotations: {
          'autoscaling.alpha.kubernetes.io/conditions':
            '[{"type":"ScalingActive","status":"False","reason":"FailedGetResourceMetric","message":"m"}]',
        },
      },
    ),
    'failed',
  ],
  ['a snapshot', of('snapshot.storage.k8s.io/v1', 'VolumeSnapshot', {}), 'inProgress'],
  ['a snapshot that is ready', of('snapshot.storage.k8s.io/v1', 'VolumeSnapshot', {}, { readyToUse: true }), 'current'],
  [
    'a snapshot that has failed',
    of('snapshot.storage.k8s.io/v1', 'VolumeSnapshotContent', {}, { readyToUse: false, error: { message: 'm' } }),
    'failed',
  ],
  ['an Ingress that waits', of('networking.k8s.io/v1', 'Ingress', {}, { loadBalancer: {} }), 'inProgress'],
  ['a claim whose volume is lost', of('v1', 'PersistentVolumeClaim', {}, { phase: 'Lost' }), 'failed'],
  ['a volume that cannot be reclaimed', of('v1', 'PersistentVolume', {}, { phase: 'Failed' }), 'failed'],
  [
    'an API without its server',
    of('apiregistration.k8s.io/v1', 'APIService', {}, conditions('Available', 'False', 'ServiceNotFound')),
    'inProgress',
  ],
  [
    'a budget that is not kept',
    of('policy/v1', 'PodDisruptionBudget', {}, { ...done, currentHealthy: 0, desiredHealthy: 1 }),
    'inProgress',
  ],
  [
    'a budget that cannot be counted',
    of('policy/v1', 'PodDisruptionBudget', {}, { ...done, ...conditions('DisruptionAllowed', 'False', 'SyncFailed') }),
    'failed',
  ],
  [
    'a definition that is being removed',
    of('apiextensions.k8s.io/v1', 'CustomResourceDefinition', {}, conditions('Terminating', 'True')),
    'terminating',
  ],
])('%s', (_what, health, state) => {
  expect(health.state).toBe(state);
});

test('the message names the failure', () => {
  expect(of('apps/v1', 'Deployment', { replicas: 3 }, { ...done, updatedReplicas: 1 }).message).toBe(
    '1 of 3 pods are of the new revision',
  );
});

test.each([
  ...['ErrImagePull', 'ErrImageNeverPull', 'ImagePullBackOff', 'ImageInspectError', 'InvalidImageName'],
  ...['RegistryUnavailable', 'SignatureValidationFailed', 'CreateContainerError', 'CreateContainerConfigError'],
  ...['RunContainerError', 'PostStartHookError', 'CrashLoopBackOff'],
])('a Pod whose container waits with %s has failed', (reason) => {
  expect(waiting(reason)).toEqual({ state: 'failed', message: `a container does not start: ${reason}` });
});
