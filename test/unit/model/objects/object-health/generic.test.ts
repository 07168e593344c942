import { expect, test } from 'vitest';
import { judgeObject, objectHealth } from '../../../../../src/model/objects/object-health/object-health.ts';
import { conditions, liveObject } from '../../../../support/judged-objects.ts';

const health = (status: Parameters<typeof liveObject>[2]) => objectHealth(liveObject('example.com/v1', 'Any', status));

test.each([
  ['a kind that never has a status', undefined, 'current'],
  ['Ready is false', conditions('Ready=False'), 'inProgress'],
  ['Ready is false, and it waits', conditions('Ready=False:WaitingForInfrastructure'), 'inProgress'],
  ['Ready is unknown', conditions('Ready=Unknown:ValidationFailed'), 'inProgress'],
  ['Ready is false because of a failure', conditions('Ready=False:ValidationFailed'), 'failed'],
  ['Available is false', conditions('Available=False:MinimumReplicasUnavailable'), 'inProgress'],
  ['it is not synced', conditions('Synced=False'), 'inProgress'],
  ['something has failed', conditions('ResolutionFailed=True:ConstraintsNotSatisfiable'), 'failed'],
  ['nothing has failed', conditions('Failed=False', 'Synced=True'), 'current'],
  ['a part was not applied', conditions('DashboardSynchronized=False:ApplyFailed'), 'failed'],
  ['Ready sums up its parts', conditions('Ready=True', 'CronJobAvailable=False:CronJobNotAvailable'), 'current'],
  ['a condition with a boolean', { conditions: [{ type: 'Ready', status: true }] }, 'current'],
  ['no error, said by a condition that is good when false', conditions('Degraded=False:NoError'), 'current'],
  ['no error, and Ready too', conditions('Ready=True', 'Failed=False:NoFailure'), 'current'],
  ['a condition that is good when false, with a reason of before', conditions('Errored=False:SyncFailed'), 'current'],
  ['the absence of a failure is true', conditions('NoFailure=True', 'NotDegraded=True', 'NoError=True'), 'current'],
  ['a reason that denies a failure', conditions('Progressing=False:NotFailed'), 'current'],
  ['what is done about failures', conditions('RetryOnFailure=True', 'RestartAfterError=True'), 'current'],
  [
    'a part was refused while the whole is available',
    conditions('Available=True', 'Upgradeable=False:CheckFailed'),
    'current',
  ],
  ['Ready is false, and nothing has failed', conditions('Ready=False:NotFailed'), 'inProgress'],
  ['a failure whose name has a "not" in it', conditions('Loaded=False:NotFoundError'), 'failed'],
  ['a Synced that is not of Crossplane', conditions('Synced=False:ReconcilePending'), 'inProgress'],
  ['it is paused', conditions('Ready=True', 'Paused=True:ScaledObjectPaused'), 'suspended'],
  ['its phase is a failure', { phase: 'UpdateFailed' }, 'current'],
  ['its phase is Failed', { phase: 'Failed' }, 'failed'],
  ['its phase is of before', { phase: 'Failed', ...conditions('Ready=True') }, 'current'],
  ['its state is pending', { state: 'Pending' }, 'inProgress'],
  ['its state is not known', { state: 'Unknown' }, 'unknown'],
  ['it says that it is not ready', { ready: false }, 'inProgress'],
  ['its last operation has failed', { lastOperation: { state: 'Failed' } }, 'failed'],
  [
    'its last operation goes on',
    { lastOperation: { type: 'Create', state: 'Processing', progress: 10 } },
    'inProgress',
  ],
  ['its last operation waits', { lastOperation: { type: 'Create', state: 'Pending' } }, 'inProgress'],
  ['its last operation is tried again', { lastOperation: { type: 'Reconcile', state: 'Error' } }, 'inProgress'],
  ['its last operation has ended', { lastOperation: { type: 'Reconcile', state: 'Succeeded' } }, 'current'],
  ['its last operation is a word', { lastOperation: 'CREATE' }, 'current'],
  ['a phase of Elasticsearch', { phase: 'ApplyingChanges', health: 'green' }, 'inProgress'],
  ['its conditions are no list', { conditions: { Ready: 'no' } }, 'current'],
])('%s', (_what, status, state) => {
  expect(health(status === undefined ? {} : { status }).state).toBe(state);
});

test('a person has suspended it, and its status is of before', () => {
  expect(
    health({ spec: { suspend: true }, status: { observedGeneration: 1, ...conditions('Ready=False') } }).state,
  ).toBe('suspended');
});

test('what Gardener says of a Shoot', () => {
  const shoot = (...written: readonly string[]) => {
    const status = { lastOperation: { type: 'Reconcile', state: 'Succeeded' }, ...conditions(...written) };
    return objectHealth(liveObject('core.gardener.cloud/v1beta1', 'Shoot', { status })).state;
  };
  expect(shoot('APIServerAvailable=True', 'EveryNodeReady=True')).toBe('current');
  expect(shoot('APIServerAvailable=True', 'EveryNodeReady=Progressing')).toBe('inProgress');
  expect(shoot('APIServerAvailable=True', 'EveryNodeReady=False:NodesNotReady')).toBe('inProgress');
  expect(shoot('APIServerAvailable=Unknown')).toBe('unknown');
});

test('a ManagedResource is progressing while a condition of that name is true', () => {
  const managed = (...written: readonly string[]) =>
    objectHealth(
      liveObject('resources.gardener.cloud/v1alpha1', 'ManagedResource', { status: conditions(...written) }),
    );
  const applied = ['ResourcesApplied=True', 'ResourcesHealthy=True'];
  expect(managed(...applied, 'ResourcesProgressing=False').state).toBe('current');
  expect(managed(...applied, 'ResourcesProgressing=True').state).toBe('inProgress');
  expect(managed('ResourcesApplied=False:ApplyFailed').state).toBe('inProgress');
});

test('an Elasticsearch is red while it starts, and a single node stays yellow for good', () => {
  const metadata = { creationTimestamp: '2026-01-01T00:00:00Z' };
  const created = Date.parse(metadata.creationTimestamp);
  const judged = (word: string, minutes: number) => {
    const object = liveObject('elasticsearch.k8s.elastic.co/v1', 'Elasticsearch', {
      metadata,
      status: { phase: 'Ready', health: word },
    });
    return judgeObject(object, { now: created + minutes * 60_000 }).health.state;
  };
  expect([judged('red', 4), judged('red', 5)]).toEqual(['inProgress', 'failed']);
  expect([judged('yellow', 9), judged('yellow', 10)]).toEqual(['inProgress', 'current']);
});

test('a kind whose controller always writes a status is in progress without one', () => {
  expect(objectHealth(liveObject('external-secrets.io/v1', 'ExternalSecret')).state).toBe('inProgress');
});

test('names of the language are no kinds', () => {
  expect(objectHealth(liveObject('v1', 'constructor')).state).toBe('current');
  expect(objectHealth({}).state).toBe('current');
});
