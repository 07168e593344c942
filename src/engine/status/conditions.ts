import type { OutcomeCounts } from '../../model/outcome.ts';
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

/** Sorts the nine states of progress into the five that a person counts. */
export function countOutcomes(of: Readonly<Record<ProgressState, number>>): OutcomeCounts {
  const failed = of.failed + of.conflict;
  const held = of.held + of.kept + of.paused;
  const pending = of.pending + of.removing;
  const targeted = of.applied + failed + held + pending + of.unreachable;
  return { targeted, applied: of.applied, failed, held, pending, unreachable: of.unreachable };
}

/**
 * The one summariser: outcomes into kstatus-compatible conditions. Ready: everything targeted is applied. Reconciling:
 * something is under way and needs nobody. Stalled: something waits for a person.
 */
export function summarise(
  counts: OutcomeCounts,
  worst: Pick<Progress, 'reason' | 'message'> | undefined,
): readonly ConditionValue[] {
  const { targeted, applied, failed, held, pending, unreachable } = counts;
  const figures = [
    `${applied} of ${targeted} applied`,
    ...parts([
      [failed, 'failed'],
      [held, 'held'],
      [pending, 'pending'],
      [unreachable, 'unreachable'],
    ]),
  ].join(', ');
  const message = worst === undefined || worst.message === '' ? figures : `${figures}: ${worst.message}`;
  const stalled = failed + held > 0;
  const moving = pending + unreachable > 0;
  const reason =
    applied === targeted ? 'Applied' : stalled ? (worst?.reason ?? 'Stalled') : moving ? 'Progressing' : 'Applied';
  return [
    { type: 'Ready', status: applied === targeted ? 'True' : 'False', reason: wordOr(reason, 'NotReady'), message },
    {
      type: 'Reconciling',
      status: moving ? 'True' : 'False',
      reason: moving ? 'Progressing' : 'Idle',
      message: moving ? figures : '',
    },
    {
      type: 'Stalled',
      status: stalled ? 'True' : 'False',
      reason: stalled ? wordOr(worst?.reason ?? '', 'Stalled') : 'Clear',
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

/** Whole seconds, UTC: 2026-01-31T10:42:07Z. */
export function rfc3339(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;
}

function parts(figures: readonly (readonly [number, string])[]): readonly string[] {
  return figures.filter(([count]) => count > 0).map(([count, word]) => `${count} ${word}`);
}

function wordOr(reason: string, otherwise: string): string {
  return reason === '' ? otherwise : reason;
}
