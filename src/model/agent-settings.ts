import type { LabelSelector } from './label-selector.ts';

/** What a FleetPolicy says to every agent; sent at each connect and at each change. */
export interface AgentSettings {
  readonly discovery: DiscoverySettings;
  /** Fields that others own by agreement, beside those that the agent knows of by itself (an autoscaler's replicas). */
  readonly ignoredFields: readonly IgnoredFields[];
}

/** What stays out of input snapshots, at the source. */
export interface DiscoverySettings {
  readonly excludedNamespaces: readonly string[];
  /** `group/Kind` as in object keys: `/Service`, `apps/Deployment`. */
  readonly excludedKinds: readonly string[];
  /** Kinds that are reported beside those that every agent reports; `group/Kind`. Exclusions come first; absent: none. */
  readonly additionalKinds?: readonly string[];
  /** Only what lies in Namespaces with these labels (and what lies in none); absent: all. */
  readonly namespaceSelector?: LabelSelector;
  /** Only objects with these labels; absent: all. */
  readonly objectSelector?: LabelSelector;
}

/** Fields of all objects of one kind that are declared once, at creation, and left alone afterwards. */
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
