import type { StatusPart } from '../../engine/status/declared-status.ts';
import {
  type ConditionForm,
  type ConditionValue,
  momentsAt,
  readConditions,
  withTimes,
  withUpdateTimes,
} from '../../model/fleet/conditions.ts';
import { type JsonObject, type JsonValue, jsonEquals, objectOf, objectsOf } from '../../model/text/json.ts';
import type { MetadataChange } from '../../ports/resource-status.ts';

/** The status of a custom resource without the times, which only the writer knows. */
export interface StatusContent extends Omit<StatusPart, 'subject'> {
  /** The form of its conditions; default `metav1`. */
  readonly form?: ConditionForm;
}

/** An API server accepts no longer message of a condition. */
const MAX_MESSAGE = 32_768;

/**
 * The status to write. A condition keeps the times that it has in `before` until it changes.
 *
 * @param generation the generation of the object that the status describes
 */
export function statusOf(
  { conditions, conditionLists = {}, fields, timedFields = {}, moments = {}, form = 'metav1' }: StatusContent,
  before: JsonObject | undefined,
  generation: number,
  now: number,
): JsonObject {
  const written = (list: readonly ConditionValue[], last: JsonValue | undefined): JsonValue =>
    withTimes(list.map(bounded), readConditions(last), now, form).map((condition) => ({
      ...condition,
      ...(form === 'metav1' ? { observedGeneration: generation } : {}),
    }));
  const lists = Object.entries({ conditions, ...conditionLists });
  return {
    ...fields,
    ...withUpdateTimes(timedFields, before, now),
    ...momentsAt(moments, now),
    ...Object.fromEntries(lists.map(([field, list]) => [field, written(list, before?.[field])])),
  };
}

/** The change that an object's metadata needs; undefined: none. */
export function metadataChange(
  value: JsonObject,
  { labels = {}, removeAnnotations = {} }: StatusContent,
): MetadataChange | undefined {
  const metadata = objectOf(value.metadata);
  const missing = differing(labels, objectOf(metadata.labels), false);
  const unwanted = differing(removeAnnotations, objectOf(metadata.annotations), true);
  if (missing.length + unwanted.length === 0) return undefined;
  return { labels: Object.fromEntries(missing), removeAnnotations: Object.fromEntries(unwanted) };
}

/** The entries of `wanted` that `present` has, or has not. */
function differing(wanted: Readonly<Record<string, string>>, present: JsonObject, has: boolean) {
  return Object.entries(wanted).filter(([name, value]) => (present[name] === value) === has);
}

/** Whether a status has all of `status` already, none of the absent fields, and no other condition of our own types. */
export function isWritten(
  before: JsonObject | undefined,
  status: JsonObject,
  ownConditions: readonly string[],
  absentFields: readonly string[] = [],
): boolean {
  const { conditions, ...fields } = status;
  if (absentFields.some((name) => before?.[name] !== undefined)) return false;
  if (!Object.entries(fields).every(([name, value]) => jsonEquals(before?.[name], value))) return false;
  const wanted = byType(conditions);
  const present = byType(before?.conditions);
  for (const [type, condition] of wanted) if (!jsonEquals(present.get(type), condition)) return false;
  return [...present.keys()].every((type) => wanted.has(type) || !ownConditions.includes(type));
}

function byType(conditions: JsonValue | undefined): ReadonlyMap<string, JsonObject> {
  return new Map(objectsOf(conditions).map((condition) => [String(condition.type), condition]));
}

function bounded(condition: ConditionValue): ConditionValue {
  const { message } = condition;
  if (message.length <= MAX_MESSAGE) return condition;
  return { ...condition, message: `${message.slice(0, MAX_MESSAGE - 3)}...` };
}
