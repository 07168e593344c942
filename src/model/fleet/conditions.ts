import { isJsonObject, type JsonObject, type JsonValue, jsonEquals, objectOf, objectsOf } from '../text/json.ts';
import { rfc3339 } from '../text/time.ts';

/** The statuses of objects that fleetrelay does not own, which are counted apart from objects. */
export interface StatusCounts {
  readonly total: number;
  readonly applied: number;
  readonly failed: number;
}

/** A condition without its times, which only the writer knows. */
export interface ConditionValue {
  readonly type: string;
  /** `Progressing`: only in the timed form. */
  readonly status: 'True' | 'False' | 'Unknown' | 'Progressing';
  /** Constant UpperCamelCase word. */
  readonly reason: string;
  readonly message: string;
  /** Only in the timed form: error codes for programs. */
  readonly codes?: readonly string[];
}

/** A condition as written. Times are RFC 3339, whole seconds. */
export interface Condition extends ConditionValue {
  /** Changes only when `status` does. */
  readonly lastTransitionTime: string;
  /** Only in the timed form: changes only when reason, message or codes do. */
  readonly lastUpdateTime?: string;
}

/** Whose rules conditions follow: `metav1.Condition`, or the same with the time of the last update, as Gardener has them. */
export type ConditionForm = 'metav1' | 'timed';

/** A written condition as it was before its times were added. */
export function withoutTimes({
  lastTransitionTime: _transition,
  lastUpdateTime: _update,
  ...value
}: Condition): ConditionValue {
  return value;
}

/** Adds times to conditions. An unchanged condition keeps the time with which it was written last. */
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
    const isUnchanged =
      last?.reason === reason && last.message === message && jsonEquals([...(last.codes ?? [])], [...codes]);
    const lastUpdateTime = (isUnchanged ? last.lastUpdateTime : undefined) ?? rfc3339(now);
    return { ...condition, lastUpdateTime, ...(codes.length === 0 ? {} : { codes }) };
  });
}

/**
 * Adds `lastUpdateTime` to members of a status, and to each item of those that are lists. A member or an item that is as written
 * last keeps its time.
 */
export function withUpdateTimes(
  fields: Readonly<Record<string, JsonObject | readonly JsonObject[]>>,
  before: JsonObject | undefined,
  now: number,
): JsonObject {
  const timed = Object.entries(fields).map(([name, value]) => {
    const last = before?.[name];
    if (isList(value)) return [name, value.map((item) => withUpdateTime(item, objectsOf(last), now))] as const;
    return [name, withUpdateTime(value, [objectOf(last)], now)] as const;
  });
  return Object.fromEntries(timed);
}

function isList(value: JsonObject | readonly JsonObject[]): value is readonly JsonObject[] {
  return Array.isArray(value);
}

function withUpdateTime(value: JsonObject, before: readonly JsonObject[], now: number): JsonObject {
  const unchanged = before.find(({ lastUpdateTime: _, ...last }) => jsonEquals(last, value))?.lastUpdateTime;
  return { ...value, lastUpdateTime: typeof unchanged === 'string' ? unchanged : rfc3339(now) };
}

/** The moments of a status as they are written; null: the moment of the writing. */
export function momentsAt(moments: Readonly<Record<string, string | null>>, now: number): JsonObject {
  return Object.fromEntries(Object.entries(moments).map(([name, moment]) => [name, moment ?? rfc3339(now)]));
}

/** Parses written conditions; leaves out what is no condition. */
export function readConditions(list: JsonValue | undefined): readonly Condition[] {
  return objectsOf(list).flatMap((condition) => {
    const { type, status, reason = '', message = '', lastTransitionTime, lastUpdateTime, codes } = condition;
    if (typeof type !== 'string' || !isConditionStatus(status) || typeof lastTransitionTime !== 'string') return [];
    if (typeof reason !== 'string' || typeof message !== 'string') return [];
    const known = Array.isArray(codes) ? codes.filter((code) => typeof code === 'string') : [];
    return [
      {
        type,
        status,
        reason,
        message,
        lastTransitionTime,
        ...(typeof lastUpdateTime === 'string' ? { lastUpdateTime } : {}),
        ...(known.length === 0 ? {} : { codes: known }),
      },
    ];
  });
}

function isConditionStatus(status: JsonValue | undefined): status is Condition['status'] {
  return status === 'True' || status === 'False' || status === 'Unknown' || status === 'Progressing';
}

/** The status of an object of an engine kind as it was written last. */
export interface ObservedStatus {
  readonly conditions: readonly Condition[];
  /** The other members of the status, as written. */
  readonly fields: JsonObject;
}

/** Parses the `status` of a status file or custom resource; undefined: there is none. */
export function readObserved(status: JsonValue | undefined): ObservedStatus | undefined {
  if (status === undefined || !isJsonObject(status)) return undefined;
  const { conditions, ...fields } = status;
  return { conditions: readConditions(conditions), fields };
}

/** Objects by outcome: applied, failed, held, pending and unreachable add up to targeted. */
export interface OutcomeCounts {
  readonly targeted: number;
  readonly applied: number;
  readonly failed: number;
  readonly held: number;
  readonly pending: number;
  readonly unreachable: number;
}
