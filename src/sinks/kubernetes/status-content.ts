import {
  type Condition,
  type ConditionForm,
  type ConditionValue,
  readConditions,
  withTimes,
} from '../../model/conditions.ts';
import { type JsonObject, type JsonValue, jsonEquals, objectOf, objectsOf } from '../../model/json.ts';
import type { MetadataChange } from '../../ports/resource-status.ts';

/** What is to be said, without the times that only the writer knows. */
export interface StatusContent {
  readonly conditions: readonly ConditionValue[];
  readonly fields: JsonObject;
  /** Further lists of conditions, by field. */
  readonly conditionLists?: Readonly<Record<string, readonly ConditionValue[]>>;
  /** By which rules conditions are written; `metav1` if left out. */
  readonly form?: ConditionForm;
  /** Labels that the object should have. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Annotations that the object should not have any more. */
  readonly removeAnnotations?: readonly string[];
}

/** Messages of conditions are for people; an API server takes no more than this. */
const MAX_MESSAGE = 32_768;

/**
 * The status to write: times are those of the conditions as they are, as long as what they are of has not changed.
 *
 * @param generation the generation of the object that it speaks of
 */
export function statusOf(
  { conditions, conditionLists = {}, fields, form = 'metav1' }: StatusContent,
  before: JsonObject | undefined,
  generation: number,
  now: number,
): JsonObject {
  const written = (list: readonly ConditionValue[], last: JsonValue | undefined): JsonValue =>
    withTimes(list.map(bounded), readConditions(last), now, form).map((condition) => ({
      ...condition,
      ...(form === 'metav1' ? { observedGeneration: generation } : {}),
    }));
  return {
    ...fields,
    conditions: written(conditions, before?.conditions),
    ...Object.fromEntries(
      Object.entries(conditionLists).map(([field, list]) => [field, written(list, before?.[field])]),
    ),
  };
}

/** What of an object's metadata is not as it should be; undefined: all of it is. */
export function metadataChange(
  value: JsonObject,
  { labels = {}, removeAnnotations = [] }: StatusContent,
): MetadataChange | undefined {
  const metadata = objectOf(value.metadata);
  const [has, annotations] = [objectOf(metadata.labels), objectOf(metadata.annotations)];
  const missing = Object.entries(labels).filter(([name, text]) => has[name] !== text);
  const unwanted = removeAnnotations.filter((name) => annotations[name] !== undefined);
  if (missing.length + unwanted.length === 0) return undefined;
  return { labels: Object.fromEntries(missing), removeAnnotations: unwanted };
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
  return readConditions(status?.conditions);
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
