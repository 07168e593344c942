import { quote } from './ids.ts';
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from './json.ts';
import type { LabelRequirement, LabelSelector } from './label-selector.ts';
import { ok, problem, type Result } from './result.ts';

/** The part of a FleetPolicy that the server sends to every agent, at each connect and at each change. */
export interface AgentSettings {
  readonly discovery: DiscoverySettings;
  /** Fields that other managers own, besides those that every agent leaves alone (the replicas of an autoscaler). */
  readonly ignoredFields: readonly IgnoredFields[];
}

/** Which objects an agent puts into its input snapshot. */
export interface DiscoverySettings {
  readonly excludedNamespaces: readonly string[];
  /** `group/Kind` as in object keys: `/Service`, `apps/Deployment`. */
  readonly excludedKinds: readonly string[];
  /** Kinds (`group/Kind`) that the agent reports besides those that every agent reports. Exclusions win; absent: none. */
  readonly additionalKinds?: readonly string[];
  /** Only objects in Namespaces with these labels, and cluster-scoped objects; absent: all. */
  readonly namespaceSelector?: LabelSelector;
  /** Only objects with these labels; absent: all. */
  readonly objectSelector?: LabelSelector;
}

/** Fields of all objects of one kind that the agent writes when it creates an object, and never afterwards. */
export interface IgnoredFields {
  /** `group/Kind`. */
  readonly kind: string;
  /** Dotted paths of fields: `spec.replicas`. */
  readonly fields: readonly string[];
}

export const NO_SETTINGS: AgentSettings = {
  discovery: { excludedNamespaces: [], excludedKinds: [] },
  ignoredFields: [],
};

/** The largest text of settings, in bytes. */
export const MOST_SETTINGS_BYTES = 128 * 1024;

/** Returns the text of settings; equal settings have equal texts. */
export function settingsText(settings: AgentSettings): string {
  return canonicalJson(settings as unknown as JsonValue);
}

/**
 * Parses settings from the wire or from storage. An unknown member is a problem, because it may be a newer rule about
 * objects that must not leave the cluster.
 */
export function parseSettings(text: string): Result<AgentSettings> {
  if (Buffer.byteLength(text) > MOST_SETTINGS_BYTES)
    return problem(`settings of more than ${MOST_SETTINGS_BYTES} bytes`);
  try {
    return ok(readSettings(JSON.parse(text)));
  } catch (error) {
    return problem(error instanceof NotSettings ? error.message : 'settings that are not JSON');
  }
}

class NotSettings extends Error {}

const MOST_ITEMS = 1000;
const KIND = /^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)?\/[A-Za-z][A-Za-z0-9]{0,62}$/;
const NAMESPACE = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const FIELD = /^[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_-]*)*$/;
const OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist'] as const;

function readSettings(value: JsonValue): AgentSettings {
  const { discovery, ignoredFields } = members(value, 'settings', ['discovery', 'ignoredFields']);
  const said = members(discovery, 'discovery', [
    'excludedNamespaces',
    'excludedKinds',
    'additionalKinds',
    'namespaceSelector',
    'objectSelector',
  ]);
  const { additionalKinds, namespaceSelector, objectSelector } = said;
  return {
    discovery: {
      excludedNamespaces: texts(said.excludedNamespaces, 'excludedNamespaces', NAMESPACE),
      excludedKinds: texts(said.excludedKinds, 'excludedKinds', KIND),
      ...(additionalKinds === undefined ? {} : { additionalKinds: texts(additionalKinds, 'additionalKinds', KIND) }),
      ...(namespaceSelector === undefined ? {} : { namespaceSelector: selector(namespaceSelector) }),
      ...(objectSelector === undefined ? {} : { objectSelector: selector(objectSelector) }),
    },
    ignoredFields: list(ignoredFields, 'ignoredFields').map((item) => {
      const { kind, fields } = members(item, 'ignoredFields', ['kind', 'fields']);
      return { kind: text(kind, 'kind', KIND), fields: texts(fields, 'fields', FIELD) };
    }),
  };
}

function selector(value: JsonValue): LabelSelector {
  const { matchLabels, matchExpressions } = members(value, 'a selector', ['matchLabels', 'matchExpressions']);
  if (!isJsonObject(matchLabels)) throw new NotSettings('settings: matchLabels is not an object');
  return {
    matchLabels: Object.fromEntries(
      Object.entries(matchLabels).map(([key, label]) => [key, text(label, 'matchLabels')] as const),
    ),
    matchExpressions: list(matchExpressions, 'matchExpressions').map(requirement),
  };
}

function requirement(value: JsonValue): LabelRequirement {
  const { key, operator, values } = members(value, 'a requirement', ['key', 'operator', 'values']);
  const known = OPERATORS.find((word) => word === operator);
  if (known === undefined) throw new NotSettings('settings: an unknown operator');
  return { key: text(key, 'key'), operator: known, values: texts(values, 'values') };
}

function members(value: JsonValue | undefined, what: string, known: readonly string[]): JsonObject {
  if (!isJsonObject(value)) throw new NotSettings(`settings: ${what} is not an object`);
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  if (unknown !== undefined) throw new NotSettings(`settings: ${what} has the unknown member ${quote(unknown)}`);
  return value;
}

function list(value: JsonValue | undefined, what: string): readonly JsonValue[] {
  if (!Array.isArray(value)) throw new NotSettings(`settings: ${what} is not a list`);
  if (value.length > MOST_ITEMS) throw new NotSettings(`settings: ${what} has more than ${MOST_ITEMS} items`);
  return value;
}

function texts(value: JsonValue | undefined, what: string, pattern?: RegExp): readonly string[] {
  return list(value, what).map((item) => text(item, what, pattern));
}

function text(value: JsonValue | undefined, what: string, pattern?: RegExp): string {
  if (typeof value !== 'string' || pattern?.test(value) === false) {
    throw new NotSettings(`settings: ${what} holds ${quote(String(value))}, which does not belong there`);
  }
  return value;
}
