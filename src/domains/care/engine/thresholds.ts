import type { Condition, ConditionValue } from '../../../model/fleet/conditions.ts';
import type { ObjectKey } from '../../../model/objects/object-key.ts';
import { parseRfc3339 } from '../../../model/text/time.ts';
import { given } from '../../../model/values/given.ts';
import type { LastOperation } from './written-operation.ts';

/** What a check has found. `failed` becomes a condition by {@link judge}; the others are taken as they are. */
export interface ConditionFinding {
  readonly outcome: 'good' | 'failed' | 'progressing' | 'unknown';
  /** Constant UpperCamelCase word. */
  readonly reason: string;
  readonly message: string;
  readonly codes?: readonly string[];
  /** The live object that explanations name; it is not written to a status. */
  readonly cause?: Cause;
}

/** A live object that a finding follows from. */
export interface Cause {
  readonly cluster: string;
  readonly key: ObjectKey;
}

/** A condition, and the moment at which it may change by itself. */
export interface Judged extends Pick<ConditionFinding, 'cause'> {
  readonly condition: ConditionValue;
  /** The finding is a failure that the last operation excuses. */
  readonly isPardoned?: true;
  /** Whole seconds since 1970; it stays after it has passed. Absent: time alone changes nothing. */
  readonly until?: number;
}

/** What {@link judge} reads besides the finding. */
export interface Judging {
  /** The condition as written last. */
  readonly written: Condition | undefined;
  /** The last operation as written last. */
  readonly operation: LastOperation | undefined;
  /** How long a failure is shown as `Progressing`, in milliseconds; absent: not at all. */
  readonly thresholdMillis: number | undefined;
  /** Whether the moment has passed; whole seconds since 1970. */
  readonly hasPassed: (at: number) => boolean;
}

const STATUS_OF = { good: 'True', failed: 'False', progressing: 'Progressing', unknown: 'Unknown' } as const;

/** The condition that follows from a finding. Source: Gardener's FailedCondition and PardonConditions. */
export function judgeCondition(type: string, { outcome, cause, ...said }: ConditionFinding, judging: Judging): Judged {
  const { status, until } = outcome === 'failed' ? failure(said.reason, judging) : { status: STATUS_OF[outcome] };
  const isPardoned = outcome === 'failed' && pardons(judging.operation);
  const condition = { type, status: isPardoned ? 'Progressing' : status, ...said } as const;
  return { condition, ...given({ until }), ...(isPardoned ? { isPardoned } : {}), ...given({ cause }) };
}

function failure(
  reason: string,
  { written, operation, thresholdMillis, hasPassed }: Judging,
): { readonly status: 'False' | 'Progressing'; readonly until?: number } {
  if (written === undefined || written.status === 'Unknown' || thresholdMillis === undefined) {
    return { status: 'False' };
  }
  if (written.status === 'True') return { status: 'Progressing' };
  // A moment that is exactly one threshold later still counts.
  const after = (time: string): number => Math.floor(((parseRfc3339(time) ?? 0) + thresholdMillis) / 1000) + 1;
  const recent = operation?.state === 'Succeeded' ? after(operation.lastUpdateTime) : undefined;
  if (written.status === 'Progressing') {
    const until = Math.max(after(written.lastTransitionTime), recent ?? 0);
    return { status: hasPassed(until) ? 'False' : 'Progressing', until };
  }
  const isTolerated = written.reason !== reason || (recent !== undefined && !hasPassed(recent));
  return { status: isTolerated ? 'Progressing' : 'False', ...given({ until: recent }) };
}

/** Whether a `False` is shown as `Progressing`: the cluster is being created or deleted, or an operation without errors runs. */
function pardons(operation: LastOperation | undefined): boolean {
  if (operation === undefined) return true;
  const { type, state, hasErrors } = operation;
  if ((type === 'Create' || type === 'Delete') && state !== 'Succeeded') return true;
  return state === 'Processing' && !hasErrors;
}
