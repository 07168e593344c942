import type { DriftMode } from '../fleet/drift.ts';
import type { HealthCheck } from '../objects/health-check.ts';
import type { LabelSelector } from '../objects/label-selector.ts';
import { canonicalJson, isJsonObject, type JsonValue, parseJson } from '../text/json.ts';
import { BOOLEAN, type Check, firstOf, list, members, NAMESPACE, TEXT, text } from '../text/json-checks.ts';
import { ok, problem, type Result } from '../values/result.ts';
import { TAKES_DRIFT_MODE, TAKES_DRIFT_MODE_BOUND, TAKES_HEALTH_CHECKS, TAKES_LIVE_OPT_OUTS } from './agent.ts';
import { domainMembers } from './agent-members.ts';

/**
 * What the server tells an agent, at each connect and at each change. A domain adds its members by augmenting this interface;
 * {@link domainMembers} has their form on the wire.
 */
export interface AgentSettings {
  readonly discovery: DiscoverySettings;
  /** Fields that other managers own, besides those that every agent leaves alone (the replicas of an autoscaler). */
  readonly ignoredFields: readonly IgnoredFields[];
  /** Annotations of live objects that switch off drift repair or pruning have no effect; only for agents that take it. */
  readonly ignoreLiveOptOuts?: true;
  /** Drift is only reported; only for agents that take it. Absent: it is put back. */
  readonly driftMode?: Extract<DriftMode, 'Report'>;
  /** What Placements and manifests say of drift has no effect; only for agents that take it. Absent: Placements and manifests win over `driftMode`. */
  readonly driftModeBound?: true;
  /** At most one for each kind, in canonical order; only for agents that take it. Absent: none. */
  readonly healthChecks?: readonly HealthCheck[];
}

/** Which objects an agent puts into its input snapshot. */
export interface DiscoverySettings {
  readonly excludedNamespaces: readonly string[];
  /** `group/Kind` as in object keys: `/Service`, `apps/Deployment`. */
  readonly excludedKinds: readonly string[];
  /** What the agent reports besides what every agent reports. Exclusions win; absent: nothing. */
  readonly additionalKinds?: readonly AdditionalKinds[];
  /** Only objects in Namespaces with these labels, and cluster-scoped objects; absent: all. */
  readonly namespaceSelector?: LabelSelector;
  /** Only objects with these labels; absent: all. */
  readonly objectSelector?: LabelSelector;
}

/** A kind that an agent reports besides the usual ones: all of its objects, or some. A kind can be listed several times. */
export interface AdditionalKind extends KindNarrowing {
  /** `group/Kind`, or `group/*`: every kind of the group. */
  readonly kind: string;
}

/** Kinds that an agent reports besides the usual ones, with what they share. */
export interface AdditionalKinds extends KindNarrowing {
  /** As {@link AdditionalKind.kind}. */
  readonly kinds: readonly string[];
}

/** Which objects of a kind are reported. */
export interface KindNarrowing {
  /** Only objects in these Namespaces; absent: in all. */
  readonly namespaces?: readonly string[];
  /** Only objects whose names begin with one of these; absent: all. */
  readonly namePrefixes?: readonly string[];
  /** Only objects with these labels; absent: all. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Nothing but their metadata is asked for. */
  readonly metadataOnly?: true;
}

/** What a domain needs of the agent of one cluster. */
export interface AgentNeeds {
  readonly kinds: readonly AdditionalKind[];
  /** Its own members of the settings; absent: none. */
  readonly settings?: Partial<AgentSettings>;
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

/** The largest text of settings, in bytes: it fits into one message of the relay. */
export const MOST_SETTINGS_BYTES = 240 * 1024;
/** The largest part of it that a policy may be. */
export const MOST_POLICY_BYTES = 128 * 1024;

/** Returns the text of settings; equal settings have equal texts. */
export function settingsText(settings: AgentSettings): string {
  return canonicalJson(settings as unknown as JsonValue);
}

/**
 * Parses settings from the wire or from storage. An unknown member is a problem, because it may be a newer rule about
 * objects that must not leave the cluster.
 */
export function parseSettings(text: string): Result<AgentSettings> {
  if (Buffer.byteLength(text) > MOST_SETTINGS_BYTES) {
    return problem(`settings of more than ${MOST_SETTINGS_BYTES} bytes`);
  }
  const value = parseJson(text);
  if (value === undefined) return problem('settings that are not JSON');
  const found = SETTINGS(value, 'settings');
  return found === undefined ? ok(value as unknown as AgentSettings) : problem(`settings: ${found}`);
}

const KIND = text(/^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)?\/[A-Za-z][A-Za-z0-9]{0,62}$/);
const FIELD = text(/^[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_-]*)*$/);
const OPERATOR = text(/^(In|NotIn|Exists|DoesNotExist)$/);
const LABELS: Check = (value, name) =>
  isJsonObject(value)
    ? firstOf(Object.entries(value).map(([key, label]) => TEXT(label, key)))
    : `${name} is not an object`;
const SELECTOR = members({
  matchLabels: LABELS,
  matchExpressions: list(members({ key: TEXT, operator: OPERATOR, values: list(TEXT) })),
});
const ADDITIONAL = members(
  { kinds: list(text(/^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)?\/([A-Za-z][A-Za-z0-9]{0,62}|\*)$/)) },
  { namespaces: list(NAMESPACE), namePrefixes: list(TEXT), labels: LABELS, metadataOnly: BOOLEAN },
);
const HEALTH_CHECK = members({ apiVersion: TEXT, kind: TEXT, current: TEXT }, { inProgress: TEXT, failed: TEXT });
/** The members that only agents with a capability take, each with that capability. */
export const CAPABILITY_OF_MEMBER: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(domainMembers).flatMap(([name, { capability }]) =>
      capability === undefined ? [] : [[name, capability]],
    ),
  ),
  ignoreLiveOptOuts: TAKES_LIVE_OPT_OUTS,
  driftMode: TAKES_DRIFT_MODE,
  driftModeBound: TAKES_DRIFT_MODE_BOUND,
  healthChecks: TAKES_HEALTH_CHECKS,
};
const SETTINGS = members(
  {
    discovery: members(
      { excludedNamespaces: list(NAMESPACE), excludedKinds: list(KIND) },
      { additionalKinds: list(ADDITIONAL), namespaceSelector: SELECTOR, objectSelector: SELECTOR },
    ),
    ignoredFields: list(members({ kind: KIND, fields: list(FIELD) })),
  },
  {
    ...Object.fromEntries(Object.entries(domainMembers).map(([name, { check }]) => [name, check])),
    ignoreLiveOptOuts: BOOLEAN,
    driftMode: text(/^Report$/),
    driftModeBound: BOOLEAN,
    healthChecks: list(HEALTH_CHECK),
  },
);
