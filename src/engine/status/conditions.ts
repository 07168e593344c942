import type { ConditionValue, OutcomeCounts } from '../../model/conditions.ts';
import type { JsonObject } from '../../model/json.ts';
import { type HealthCounts, moving } from './health-counts.ts';
import type { Progress, ProgressState } from './progress.ts';

/** The states of progress that are trouble or under way: a person should hear of the first ones first. */
export const worstFirst: readonly ProgressState[] = [
  'failed',
  'conflict',
  'held',
  'paused',
  'kept',
  'unreachable',
  'removing',
  'pending',
];

/** Sorts the nine states of progress into the five that a person counts. */
export function countOutcomes(of: Readonly<Record<ProgressState, number>>): OutcomeCounts {
  const failed = of.failed + of.conflict;
  const held = of.held + of.kept + of.paused;
  const pending = of.pending + of.removing;
  const targeted = of.applied + failed + held + pending + of.unreachable;
  return { targeted, applied: of.applied, failed, held, pending, unreachable: of.unreachable };
}

/** Counts as a field of a status. */
export function countsField({ targeted, applied, failed, held, pending, unreachable }: OutcomeCounts): JsonObject {
  return { targeted, applied, failed, held, pending, unreachable };
}

/**
 * The one summariser: outcomes into kstatus-compatible conditions. Ready: everything targeted is applied, and nothing of
 * it is known not to work. Reconciling: something is under way by itself. Stalled: something waits for a person.
 */
export function summarise(
  counts: OutcomeCounts,
  worst: Pick<Progress, 'reason' | 'message'> | undefined,
  health: HealthCounts,
): readonly ConditionValue[] {
  const { targeted, applied, failed, held, pending, unreachable } = counts;
  const figures = [
    `${applied} of ${targeted} applied`,
    ...parts([
      [failed, 'failed'],
      [held, 'held'],
      [pending, 'pending'],
      [unreachable, 'unreachable'],
      [health.failed, 'unhealthy'],
      [moving(health), 'in progress'],
    ]),
  ].join(', ');
  const message = worst === undefined || worst.message === '' ? figures : `${figures}: ${worst.message}`;
  const stalled = failed + held + health.failed > 0;
  const isMoving = pending + unreachable + moving(health) > 0;
  const ready = applied === targeted && health.failed + moving(health) === 0;
  const whyStalled = failed + held === 0 ? 'Unhealthy' : wordOr(worst?.reason ?? '', 'Stalled');
  const reason = ready ? 'Applied' : stalled ? whyStalled : isMoving ? 'Progressing' : 'NotReady';
  return [
    { type: 'Ready', status: ready ? 'True' : 'False', reason, message },
    {
      type: 'Reconciling',
      status: isMoving ? 'True' : 'False',
      reason: isMoving ? 'Progressing' : 'Idle',
      message: isMoving ? figures : '',
    },
    {
      type: 'Stalled',
      status: stalled ? 'True' : 'False',
      reason: stalled ? whyStalled : 'Clear',
      message: stalled ? message : '',
    },
  ];
}

function parts(figures: readonly (readonly [number, string])[]): readonly string[] {
  return figures.filter(([count]) => count > 0).map(([count, word]) => `${count} ${word}`);
}

function wordOr(reason: string, otherwise: string): string {
  return reason === '' ? otherwise : reason;
}
