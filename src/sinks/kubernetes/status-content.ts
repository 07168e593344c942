import { type Condition, type ConditionValue, withTransitionTimes } from '../../engine/status/conditions.ts';
import { type JsonObject, type JsonValue, jsonEquals } from '../../model/json.ts';
import { objectsOf } from '../../model/json-fields.ts';

/** What is to be said, without the times that only the writer knows. */
export interface StatusContent {
  readonly conditions: readonly ConditionValue[];
  readonly fields: JsonObject;
}

/** Messages of conditions are for people; an API server takes no more than this. */
const MAX_MESSAGE = 32_768;

/**
 * The status to write: times are those of the conditions as they are, as long as a status has not changed.
 *
 * @param generation the generation of the object that it speaks of
 */
export function statusOf(
  { conditions, fields }: StatusContent,
  before: JsonObject | undefined,
  generation: number,
  now: number,
): JsonObject {
  const timed = withTransitionTimes(conditions.map(bounded), conditionsOf(before), now);
  return {
    ...fields,
    conditions: timed.map((condition) => ({ ...condition, observedGeneration: generation })),
  };
}

/** Does the status of the object have all of this already, and no condition of our own types beside it? */
export function saysAlready(
  before: JsonObject | undefined,
  status: JsonObject,
  ownConditions: readonly string[],
): boolean {
  const { conditions, ...fields } = status;
  if (!Object.entries(fields).every(([name, value]) => jsonEquals(before?.[name], value))) return false;
  const wanted = byType(conditions);
  const there = byType(before?.conditions);
  for (const [type, condition] of wanted) if (!jsonEquals(there.get(type), condition)) return false;
  return [...there.keys()].every((type) => wanted.has(type) || !ownConditions.includes(type));
}

/** The conditions in a status as an object has it; what is none is passed over. */
export function conditionsOf(status: JsonObject | undefined): readonly Condition[] {
  return [...byType(status?.conditions).values()].filter(isCondition);
}

function byType(conditions: JsonValue | undefined): ReadonlyMap<string, JsonObject> {
  return new Map(objectsOf(conditions).map((condition) => [String(condition.type), condition]));
}

function bounded(condition: ConditionValue): ConditionValue {
  const { message } = condition;
  return message.length <= MAX_MESSAGE
    ? condition
    : { ...condition, message: `${message.slice(0, MAX_MESSAGE - 3)}...` };
}

function isCondition(value: JsonObject): value is JsonObject & Condition {
  const { type, status, lastTransitionTime } = value;
  return (
    typeof type === 'string' &&
    (status === 'True' || status === 'False' || status === 'Unknown') &&
    typeof lastTransitionTime === 'string'
  );
}
