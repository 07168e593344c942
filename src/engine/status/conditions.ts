import { type JsonObject, type JsonValue, jsonEquals } from '../../model/json.ts';
import { objectsOf } from '../../model/json-fields.ts';
import type { OutcomeCounts } from '../../model/outcome.ts';
import { rfc3339 } from '../../model/time.ts';
import { type HealthCounts, moving } from './health-counts.ts';
import type { Progress, ProgressState } from './progress.ts';

/** A condition without the times that only the writer knows. */
export interface ConditionValue {
  readonly type: string;
  /** `Progressing`: only of kinds whose conditions are those of Gardener. */
  readonly status: 'True' | 'False' | 'Unknown' | 'Progressing';
  /** Constant UpperCamelCase word. */
  readonly reason: string;
  readonly message: string;
  /** Of kinds whose conditions are those of Gardener: what the error is, for programs. */
  readonly codes?: readonly string[];
}

/** A condition as written. Times are RFC 3339, whole seconds. */
export interface Condition extends ConditionValue {
  /** Changes only when `status` does. */
  readonly lastTransitionTime: string;
  /** Of Gardener's conditions: changes only when reason, message or codes do. */
  readonly lastUpdateTime?: string;
}

/** By which rules conditions are written: those of `metav1.Condition`, or of Gardener. */
export type ConditionForm = 'metav1' | 'gardener';

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

/** Gives conditions their times: what is as it was written last keeps its time. */
export function withTimes(
  values: readonly ConditionValue[],
  before: readonly Condition[],
  now: number,
  form: ConditionForm = 'metav1',
): readonly Condition[] {
  return values.map(({ type, status, reason, message, codes = [] }) => {
    const last = before.find((condition) => condition.type === type);
    const lastTransitionTime = last?.status === status ? last.lastTransitionTime : rfc3339(now);
    const condition = { type, status, reason, message, lastTransitionTime };
    if (form === 'metav1') return condition;
    const saysTheSame =
      last?.reason === reason && last.message === message && jsonEquals([...(last.codes ?? [])], [...codes]);
    const lastUpdateTime = (saysTheSame ? last.lastUpdateTime : undefined) ?? rfc3339(now);
    return { ...condition, lastUpdateTime, ...(codes.length === 0 ? {} : { codes }) };
  });
}

/** Reads conditions as they were written; what is none is passed over. */
export function readConditions(list: JsonValue | undefined): readonly Condition[] {
  return objectsOf(list).flatMap((condition) => {
    const { type, status, reason = '', message = '', lastTransitionTime, lastUpdateTime, codes } = condition;
    if (typeof type !== 'string' || !isConditionStatus(status) || typeof lastTransitionTime !== 'string') return [];
    if (typeof reason !== 'string' || typeof message !== 'string') return [];
    const known = Array.isArray(codes) ? codes.filter((code) => typeof code === 'string') : [];
    return [
      {
        ...{ type, status, reason, message, lastTransitionTime },
        ...(typeof lastUpdateTime === 'string' ? { lastUpdateTime } : {}),
        ...(known.length === 0 ? {} : { codes: known }),
      },
    ];
  });
}

function isConditionStatus(status: JsonValue | undefined): status is Condition['status'] {
  return status === 'True' || status === 'False' || status === 'Unknown' || status === 'Progressing';
}

function parts(figures: readonly (readonly [number, string])[]): readonly string[] {
  return figures.filter(([count]) => count > 0).map(([count, word]) => `${count} ${word}`);
}

function wordOr(reason: string, otherwise: string): string {
  return reason === '' ? otherwise : reason;
}
