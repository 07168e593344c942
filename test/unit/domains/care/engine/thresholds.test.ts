import { describe, expect, it } from 'vitest';
import { type ConditionFinding, judgeCondition } from '../../../../../src/domains/care/engine/thresholds.ts';
import type { LastOperation } from '../../../../../src/domains/care/engine/written-operation.ts';
import type { Condition } from '../../../../../src/model/fleet/conditions.ts';
import type { ObjectKey } from '../../../../../src/model/objects/object-key.ts';
import { rfc3339 } from '../../../../../src/model/text/time.ts';

const T0 = Date.UTC(2026, 0, 1) / 1000;
const TYPE = 'ControlPlaneHealthy';
const failed: ConditionFinding = { outcome: 'failed', reason: 'Broken', message: 'it is broken' };

const written = (status: Condition['status'], reason = 'Broken', at = T0): Condition => ({
  ...{ type: TYPE, status, reason, message: 'foo', lastTransitionTime: rfc3339(at * 1000) },
});
const operation = (type: string, state: string, hasErrors = false): LastOperation => ({
  ...{ type, state, progress: 100, description: '', lastUpdateTime: rfc3339(T0 * 1000), hasErrors },
});
const DONE = operation('Reconcile', 'Succeeded');
/** Long done, so that only the condition's own time counts. */
const OLD = { ...DONE, lastUpdateTime: rfc3339((T0 - 86_400) * 1000) };

/** The status of a failure `later` seconds after T0. */
function statusOf(before: Condition | undefined, later: number, last?: LastOperation, thresholdMillis?: number) {
  const judging = { written: before, operation: last, thresholdMillis, hasPassed: (at: number) => at <= T0 + later };
  return judgeCondition(TYPE, failed, judging).condition.status;
}

describe('a failure', () => {
  it.each([
    ['of a condition that is True', written('True'), 0, OLD, 60_000, 'Progressing'],
    ['of a condition that is True, without threshold', written('True'), 0, OLD, undefined, 'False'],
    ['while Progressing, right after an operation', written('Progressing'), 0, DONE, 60_000, 'Progressing'],
    ['while Progressing, at the threshold', written('Progressing'), 60, OLD, 60_000, 'Progressing'],
    ['while Progressing, beyond the threshold', written('Progressing'), 61, DONE, 60_000, 'False'],
    ['while Progressing, without threshold', written('Progressing'), 0, DONE, undefined, 'False'],
    ['with another reason while Progressing', written('Progressing', 'Other'), 61, OLD, 60_000, 'False'],
    ['that was False before', written('False'), 61, DONE, 60_000, 'False'],
    ['that was False before, right after an operation', written('False'), 60, DONE, 60_000, 'Progressing'],
    ['with another reason', written('False', 'Other'), 61, OLD, 60_000, 'Progressing'],
    ['with another reason, without threshold', written('False', 'Other'), 0, OLD, undefined, 'False'],
    ['of a condition that is Unknown', written('Unknown'), 0, OLD, 60_000, 'False'],
    ['of a condition that was never written', undefined, 0, OLD, 60_000, 'False'],
  ] as const)('%s', (_name, before, later, last, thresholdMillis, status) => {
    expect(statusOf(before, later, last, thresholdMillis)).toBe(status);
  });

  it.each([
    ['there was no operation', undefined, 'Progressing'],
    ['the cluster is being created', operation('Create', 'Error', true), 'Progressing'],
    ['the cluster is being deleted', operation('Delete', 'Processing'), 'Progressing'],
    ['an operation runs without errors', operation('Reconcile', 'Processing'), 'Progressing'],
    ['an operation runs with errors', operation('Reconcile', 'Processing', true), 'False'],
    ['the cluster was created', operation('Create', 'Succeeded'), 'False'],
  ] as const)('is pardoned by the last operation: %s', (_name, last, status) => {
    expect(statusOf(written('True'), 0, last)).toBe(status);
  });
});

it('the moment at which a condition turns False stays the same after it has passed', () => {
  const until = (later: number) =>
    judgeCondition(TYPE, failed, {
      ...{ written: written('Progressing'), operation: OLD, thresholdMillis: 1_500 },
      hasPassed: (at) => at <= T0 + later,
    }).until;
  expect([until(0), until(1_000)]).toEqual([T0 + 2, T0 + 2]);
});

it('what was not a failure is not judged by time, and keeps its codes', () => {
  const codes = ['ERR_CONFIGURATION_PROBLEM'];
  const found = { outcome: 'progressing', reason: 'FooBar', message: 'Baz', codes } as const;
  const judging = { written: written('False'), operation: OLD, thresholdMillis: undefined, hasPassed: () => true };
  expect(judgeCondition(TYPE, found, judging)).toEqual({
    condition: { type: TYPE, status: 'Progressing', reason: 'FooBar', message: 'Baz', codes },
  });
  expect(
    judgeCondition(TYPE, { ...failed, outcome: 'unknown' }, { ...judging, operation: undefined }).condition.status,
  ).toBe('Unknown');
});

it('the cause of a finding is kept beside the condition, and is no part of it', () => {
  const cause = { cluster: 'blue', key: '/Node//a' as ObjectKey };
  const finding = { outcome: 'failed', reason: 'NodeUnhealthy', message: 'a', cause } as const;
  const judging = { written: undefined, operation: undefined, thresholdMillis: undefined, hasPassed: () => false };
  expect(judgeCondition('EveryNodeReady', finding, judging)).toEqual({
    condition: { type: 'EveryNodeReady', status: 'Progressing', reason: 'NodeUnhealthy', message: 'a' },
    isPardoned: true,
    cause,
  });
});
