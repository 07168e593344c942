import { isJsonObject, type JsonObject, type JsonValue, objectOf, objectsOf, textOf } from '../../text/json.ts';
import { groupOf } from '../object-key.ts';

/** The states of the health of an object, the most urgent first. */
export const healthStates = ['failed', 'inProgress', 'terminating', 'unknown', 'suspended', 'current'] as const;

/**
 * The health of an applied object. `current`: as declared and working, or a kind without status. `inProgress`: its controller is
 * at work. `failed`: it needs a person. `terminating`: it is being deleted. `suspended`: a person has stopped it on purpose, or it
 * waits for one as planned; that is no failure. `unknown`: its controller cannot say.
 */
export interface ObjectHealth {
  readonly state: (typeof healthStates)[number];
  /** For people; may be empty. Of a current object: a note. */
  readonly message: string;
}

/** The health that a rule finds. */
export interface Found extends ObjectHealth {
  /** The health that follows at a time, in milliseconds since 1970, if the object stays as it is. */
  readonly later?: { readonly at: number; readonly health: ObjectHealth };
}

/** A live object as rules read it. */
export interface Live {
  readonly group: string;
  readonly kind: string;
  readonly metadata: JsonObject;
  readonly spec: JsonObject;
  readonly status: JsonObject;
  /** The conditions of the status; empty: there are none. */
  readonly conditions: readonly JsonObject[];
  /** The first condition of a type. */
  readonly condition: (type: string) => JsonObject | undefined;
  /** The first condition with one of these types and this status. */
  readonly conditionWith: (types: readonly string[], status: ConditionStatus) => JsonObject | undefined;
  /** Whether a condition is about an earlier generation of the object. */
  readonly isStale: (condition: JsonObject) => boolean;
  /** The object has a status with content. */
  readonly hasStatus: boolean;
  readonly known: Known;
}

/** What is known of an object beside what it says itself. Times are in milliseconds since 1970. */
export interface Known {
  /** The health that was found for it last. */
  readonly before?: ObjectHealth | undefined;
  /** Of a Pod: when the scheduler first said that no node can take it. */
  readonly unschedulableSince?: number | undefined;
  /** Of a Pod: when an autoscaler of the cluster last said that it adds nodes for it. Absent: none does. */
  readonly scalesUpSince?: number | undefined;
}

type ConditionStatus = 'True' | 'False' | 'Unknown';

/** Judges a live object; undefined: it is current. */
export type Rule = (live: Live) => Found | undefined;

/** Rules by `group/Kind`, `group/*`, or `*.suffix/*` for all groups with this suffix. */
export type Rules = Readonly<Record<string, Rule>>;

export const CURRENT: ObjectHealth = { state: 'current', message: '' };
export const TERMINATING: ObjectHealth = { state: 'terminating', message: 'it is being deleted' };
/** For kinds whose controller always writes a status. */
export const NOT_OBSERVED: ObjectHealth = inProgress('its controller has not taken it up yet');
/** How long a controller is waited for that may not be there, in milliseconds. */
export const UNOBSERVED_MS = 600_000;
/** What an object refers to can be applied after it: for this time a failure that says so is progress. */
const PATIENCE_MS = 300_000;

/** What health says: a message, or the condition that has it. */
type Said = string | JsonObject;

export function current(said: Said): ObjectHealth {
  return { state: 'current', message: textSaid(said) };
}

export function inProgress(said: Said): ObjectHealth {
  return { state: 'inProgress', message: textSaid(said) };
}

export function failed(said: Said): ObjectHealth {
  return { state: 'failed', message: textSaid(said) };
}

export function suspended(said: Said): ObjectHealth {
  return { state: 'suspended', message: textSaid(said) };
}

export function unknown(said: Said): ObjectHealth {
  return { state: 'unknown', message: textSaid(said) };
}

function textSaid(said: Said): string {
  return typeof said === 'string' ? said : messageOf(said);
}

/** Whether nothing is to be done and nothing is being done: what a person has stopped on purpose is well, too. */
export function isWell({ state }: ObjectHealth): boolean {
  return state === 'current' || state === 'suspended';
}

/** The live object as rules read it. */
export function liveOf(value: JsonObject, known: Known): Live {
  const [metadata, status] = [objectOf(value.metadata), objectOf(value.status)];
  const conditions = objectsOf(status.conditions).map(withText);
  return {
    group: groupOf(textOf(value.apiVersion)),
    kind: textOf(value.kind),
    metadata,
    spec: objectOf(value.spec),
    status,
    conditions,
    condition: (type) => conditionIn(conditions, type),
    conditionWith: (types, wanted) => conditionWith(conditions, types, wanted),
    isStale: (condition) => isStale(condition, metadata),
    hasStatus: Object.keys(status).length > 0,
    known,
  };
}

/** Some controllers write a boolean as the status of a condition. */
function withText(condition: JsonObject): JsonObject {
  const { status } = condition;
  return typeof status === 'boolean' ? { ...condition, status: status ? 'True' : 'False' } : condition;
}

/** The condition of this type in the status of a live object. */
export function conditionOf(status: JsonObject, type: string): JsonObject | undefined {
  return conditionIn(objectsOf(status.conditions), type);
}

/** The first condition of this type. */
export function conditionIn(conditions: readonly JsonObject[], type: string): JsonObject | undefined {
  return conditions.find((one) => one.type === type);
}

/** The first condition with one of these types and this status. */
export function conditionWith(
  conditions: readonly JsonObject[],
  types: readonly string[],
  status: ConditionStatus,
): JsonObject | undefined {
  return conditions.find((one) => one.status === status && types.includes(textOf(one.type)));
}

/** What a condition says to people. */
export function messageOf({ message, reason, type, status }: JsonObject): string {
  return textOf(message) || textOf(reason) || `${textOf(type)} is ${textOf(status)}`;
}

/** Whether a condition is about an earlier generation of the object. */
export function isStale({ observedGeneration }: JsonObject, { generation }: JsonObject): boolean {
  return typeof observedGeneration === 'number' && typeof generation === 'number' && observedGeneration !== generation;
}

export function count(value: JsonValue | undefined): number {
  return typeof value === 'number' ? value : 0;
}

/** The number of Pods that the spec of a workload declares. */
export function replicasOf({ replicas }: JsonObject): number {
  return typeof replicas === 'number' ? replicas : 1;
}

/** A time of the API server in milliseconds since 1970; undefined: it is none. */
export function timeOf(value: JsonValue | undefined): number | undefined {
  const millis = Date.parse(textOf(value));
  return Number.isNaN(millis) ? undefined : millis;
}

/** The latest of some times; undefined: none is known. */
export function latestOf(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}

/**
 * When the object was created, or if later: when its manager last wrote one of these fields of its spec (milliseconds since 1970).
 * It moves with each change by the manager. Undefined: not known.
 */
export function specWrittenAt(
  { creationTimestamp, managedFields }: JsonObject,
  fields?: readonly string[],
): number | undefined {
  const written = objectsOf(managedFields).filter(({ fieldsV1 }) => {
    const spec = objectOf(fieldsV1)['f:spec'];
    return isJsonObject(spec) && (fields === undefined || fields.some((field) => isJsonObject(spec[field])));
  });
  return latestOf([timeOf(creationTimestamp), ...written.map(({ time }) => timeOf(time))]);
}

/** Health that ends after a time since a moment (milliseconds since 1970); without the moment it does not end. */
export function until(since: number | undefined, millis: number, now: ObjectHealth, then: ObjectHealth): Found {
  return since === undefined ? now : { ...now, later: { at: since + millis, health: then } };
}

/** For kinds with a status only while something uses the object: without a status an object is current after ten minutes. */
export function notObservedAtFirst({ creationTimestamp }: JsonObject): Found {
  return until(timeOf(creationTimestamp), UNOBSERVED_MS, NOT_OBSERVED, current('no controller has taken it up'));
}

/**
 * What a condition says is progress for five minutes since it changed, and a failure then: it says that something is missing which
 * often comes later. One without a time is a failure.
 */
export function failedAfterPatience(condition: JsonObject): Found {
  return failedAfter(timeOf(condition.lastTransitionTime), messageOf(condition));
}

/** Progress for five minutes since a moment (milliseconds since 1970), and a failure then, or if the moment is not known. */
export function failedAfter(since: number | undefined, message: string): Found {
  return since === undefined ? failed(message) : until(since, PATIENCE_MS, inProgress(message), failed(message));
}
