import { type JsonValue, jsonEquals } from './json.ts';
import { objectsOf } from './json-fields.ts';
import { rfc3339 } from './time.ts';

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
