import { expect, test } from 'vitest';
import { objectHealth } from '../../../../src/model/object-health/object-health.ts';
import { conditions, liveObject } from '../../../support/judged-objects.ts';

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
  ['it is paused', conditions('Ready=True', 'Paused=True:ScaledObjectPaused'), 'suspended'],
  ['its phase is a failure', { phase: 'UpdateFailed' }, 'current'],
  ['its phase is Failed', { phase: 'Failed' }, 'failed'],
  ['its phase is of before', { phase: 'Failed', ...conditions('Ready=True') }, 'current'],
  ['its state is pending', { state: 'Pending' }, 'inProgress'],
  ['its state is not known', { state: 'Unknown' }, 'unknown'],
  ['it says that it is not ready', { ready: false }, 'inProgress'],
  ['its last operation has failed', { lastOperation: { state: 'Failed' } }, 'failed'],
  ['its conditions are no list', { conditions: { Ready: 'no' } }, 'current'],
])('%s', (_what, status, state) => {
  expect(health(status === undefined ? {} : { status }).state).toBe(state);
});

test('a person has suspended it, and its status is of before', () => {
  expect(
    health({ spec: { suspend: true }, status: { observedGeneration: 1, ...conditions('Ready=False') } }).state,
  ).toBe('suspended');
});

test('a kind whose controller always writes a status is in progress without one', () => {
  expect(objectHealth(liveObject('external-secrets.io/v1', 'ExternalSecret')).state).toBe('inProgress');
});

test('names of the language are no kinds', () => {
  expect(objectHealth(liveObject('v1', 'constructor')).state).toBe('current');
  expect(objectHealth({}).state).toBe('current');
});
