import {
  TAKES_DRIFT_MODE,
  TAKES_DRIFT_MODE_BOUND,
  TAKES_HEALTH_CHECKS,
  TAKES_INJECTOR,
  TAKES_LIVE_OPT_OUTS,
} from './agent.ts';
import type { DriftMode } from './drift.ts';
import type { HealthCheck } from './health-check.ts';
import { quote } from './ids.ts';
import { canonicalJson, isJsonObject, type JsonValue, parseJson } from './json.ts';
import type { LabelSelector } from './label-selector.ts';
import { ok, problem, type Result } from './result.ts';

/**
 * What the server tells an agent, at each connect and at each change. A domain adds its members by augmenting this interface; how
 * they look on the wire is in the table below, for all versions that read them.
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

/** Says what is wrong with a value as the member of this name; undefined: nothing. */
export function memberProblem(name: keyof typeof DOMAIN_MEMBERS, value: JsonValue | undefined): string | undefined {
  return DOMAIN_MEMBERS[name](value, name);
}

/** Returns the first problem of a value, if there is one. */
type Check = (value: JsonValue | undefined, name: string) => string | undefined;

/** The longest list in settings. */
export const MOST_ITEMS = 1000;
const TEXT = text();
const KIND = text(/^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)?\/[A-Za-z][A-Za-z0-9]{0,62}$/);
const NAMESPACE = text(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/);
const FIELD = text(/^[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_-]*)*$/);
const OPERATOR = text(/^(In|NotIn|Exists|DoesNotExist)$/);
const LABELS: Check = (value, name) =>
  isJsonObject(value)
    ? firstOf(Object.entries(value).map(([key, label]) => TEXT(label, key)))
    : `${name} is not an object`;
const BOOLEAN: Check = (value, name) => (typeof value === 'boolean' ? undefined : `${name} is neither true nor false`);
const MILLIS: Check = (value, name) =>
  typeof value === 'number' && value >= 1_000 && value <= 720 * 3_600_000 ? undefined : `${name} is no duration`;
const SELECTOR = members({
  matchLabels: LABELS,
  matchExpressions: list(members({ key: TEXT, operator: OPERATOR, values: list(TEXT) })),
});
const PORT: Check = (value, name) =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 65_535
    ? undefined
    : `${name} is no port`;
const INJECTOR = members({
  applicationProbeProxyPort: PORT,
  virtualProbesEnabled: BOOLEAN,
  virtualProbesPort: PORT,
  failurePolicy: text(/^(Fail|Ignore)$/),
});
const ADDITIONAL = members(
  { kinds: list(text(/^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)?\/([A-Za-z][A-Za-z0-9]{0,62}|\*)$/)) },
  { namespaces: list(NAMESPACE), namePrefixes: list(TEXT), labels: LABELS, metadataOnly: BOOLEAN },
);
const CARE = members(
  {
    leases: list(members({ namespace: NAMESPACE }, { namePrefix: TEXT, staleAfterMillis: MILLIS })),
    certificates: BOOLEAN,
    tunnel: BOOLEAN,
  },
  {
    apiServerProbe: members({ syncPeriodMillis: MILLIS, readyz: BOOLEAN }),
    webhookRemediator: text(/^(on|dryRun)$/),
  },
);
const HEALTH_CHECK = members({ apiVersion: TEXT, kind: TEXT, current: TEXT }, { inProgress: TEXT, failed: TEXT });
/** The members that only agents with a capability take, each with that capability. */
export const CAPABILITY_OF_MEMBER: Readonly<Record<string, string>> = {
  injector: TAKES_INJECTOR,
  ignoreLiveOptOuts: TAKES_LIVE_OPT_OUTS,
  driftMode: TAKES_DRIFT_MODE,
  driftModeBound: TAKES_DRIFT_MODE_BOUND,
  healthChecks: TAKES_HEALTH_CHECKS,
};
/** The members of domains. */
const DOMAIN_MEMBERS = { injector: INJECTOR, care: CARE };
const SETTINGS = members(
  {
    discovery: members(
      { excludedNamespaces: list(NAMESPACE), excludedKinds: list(KIND) },
      { additionalKinds: list(ADDITIONAL), namespaceSelector: SELECTOR, objectSelector: SELECTOR },
    ),
    ignoredFields: list(members({ kind: KIND, fields: list(FIELD) })),
  },
  {
    ...DOMAIN_MEMBERS,
    ignoreLiveOptOuts: BOOLEAN,
    driftMode: text(/^Report$/),
    driftModeBound: BOOLEAN,
    healthChecks: list(HEALTH_CHECK),
  },
);

function members(required: Readonly<Record<string, Check>>, optional: Readonly<Record<string, Check>> = {}): Check {
  return (value, name) => {
    if (!isJsonObject(value)) return `${name} is not an object`;
    const known = { ...required, ...optional };
    const unknown = Object.keys(value).find((each) => !Object.hasOwn(known, each));
    if (unknown !== undefined) return `${name} has the unknown member ${quote(unknown)}`;
    const checked = Object.entries(known).filter(
      ([each]) => Object.hasOwn(required, each) || value[each] !== undefined,
    );
    return firstOf(checked.map(([each, check]) => check(value[each], each)));
  };
}

function list(item: Check): Check {
  return (value, name) => {
    if (!Array.isArray(value)) return `${name} is not a list`;
    if (value.length > MOST_ITEMS) return `${name} has more than ${MOST_ITEMS} items`;
    return firstOf(value.map((each) => item(each, name)));
  };
}

function text(pattern?: RegExp): Check {
  return (value, name) =>
    typeof value === 'string' && pattern?.test(value) !== false
      ? undefined
      : `${name} holds ${quote(String(value))}, which does not belong there`;
}

function firstOf(problems: readonly (string | undefined)[]): string | undefined {
  return problems.find((each) => each !== undefined);
}
