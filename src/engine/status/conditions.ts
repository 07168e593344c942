import type { JsonObject } from '../../model/json.ts';
import type { OutcomeCounts } from '../../model/outcome.ts';
import { rfc3339 } from '../../model/time.ts';
import { type HealthCounts, moving } from './health-counts.ts';
import type { Progress, ProgressState } from './progress.ts';

/** A condition by the rules of `metav1.Condition`, without the time that only the writer knows. */
export interface ConditionValue {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  /** Constant UpperCamelCase word. */
  readonly reason: string;
  readonly message: string;
}

/** A condition as written. */
export interface Condition extends ConditionValue {
  /** RFC 3339, whole seconds; changes only when `status` does. */
  readonly lastTransitionTime: string;
}

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
 * it is known not to work. Reconciling: something is under way and needs nobody. Stalled: something waits for a person.
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

/** Gives conditions their times: a status that is as it was written last keeps its time. */
export function withTransitionTimes(
  values: readonly ConditionValue[],
  before: readonly Condition[],
  now: number,
): readonly Condition[] {
  return values.map((value) => {
    const last = before.find((condition) => condition.type === value.type);
    const lastTransitionTime = last?.status === value.status ? last.lastTransitionTime : rfc3339(now);
    return { ...value, lastTransitionTime };
  });
}

function parts(figures: readonly (readonly [number, string])[]): readonly string[] {
  return figures.filter(([count]) => count > 0).map(([count, word]) => `${count} ${word}`);
}

function wordOr(reason: string, otherwise: string): string {
  return reason === '' ? otherwise : reason;
}
