import type { IgnoredFields } from '../agent/agent-settings.ts';
import type { HealthCheck } from '../objects/health-check.ts';
import type { LabelSelector } from '../objects/label-selector.ts';
import type { ObjectRef } from '../objects/object-key.ts';
import type { ObjectSize } from '../objects/object-size.ts';
import type { JsonObject } from '../text/json.ts';
import type { Diagnostic } from './diagnostic.ts';
import type { DriftMode } from './drift.ts';
import type { EngineKind } from './engine-kinds.ts';
import type { ClusterName, Digest } from './ids.ts';

/** What a `KubernetesCluster` declares. */
export interface ClusterDeclaration {
  readonly name: ClusterName;
  readonly labels: Readonly<Record<string, string>>;
  /** `spec.clusterDomain`, `cluster.local` unless set. */
  readonly clusterDomain: string;
  /** `spec.skipWarming`: safe mode never waits for the cluster. */
  readonly skipWarming: boolean;
}

/** What a `Placement` declares: documents under `paths` go to the selected clusters. */
export interface Placement {
  readonly name: string;
  /** Globs relative to the root of the source, in canonical order. */
  readonly paths: readonly string[];
  readonly clusters: ClusterChoice;
  /** What agents do about drift of the objects that it places. Absent: what the policy says. */
  readonly driftMode?: DriftMode;
}

/** Clusters by name, joined (or) with those that a selector selects. */
export interface ClusterChoice {
  readonly names: readonly ClusterName[];
  /** Absent: only the names count. */
  readonly selector?: LabelSelector;
}

/** What a `RemovalApproval` declares: a person approves removals that a guard holds. */
export interface RemovalApproval {
  readonly name: string;
  /** Of the set of held removals. */
  readonly digest: Digest;
  /** Milliseconds since 1970; absent: the general lifetime of approvals applies. */
  readonly expiresAt?: number;
}

/** The limits of the removal guards. Removals beyond any of them are held. */
export interface GuardLimits {
  /** Largest number of objects removed from one cluster within the window. */
  readonly maxRemovalsPerCluster: number;
  /** Largest percentage (0 to 100) of a cluster's owned objects removed within the window. */
  readonly maxRemovalPercentPerCluster: number;
  readonly maxRemovalsPerFleet: number;
  readonly maxRemovalPercentPerFleet: number;
  /** Percentages count only from this many owned objects on, so that two of three objects are not "66 percent". */
  readonly percentFromOwned: number;
  readonly windowSeconds: number;
}

/**
 * What a `FleetPolicy` declares, with defaults filled in. Each domain with settings adds a section of its own, which is absent in
 * the default policy.
 */
export interface FleetPolicy {
  readonly guards: GuardLimits;
  readonly safeMode: { readonly mode: 'strict' | 'scoped' | 'off'; readonly safeStartWindowSeconds: number };
  readonly status: { readonly enabled: boolean; readonly minIntervalSeconds: number };
  readonly discovery: {
    readonly excludedNamespaces: readonly string[];
    /** As written: `Kind` or `Kind.group`. */
    readonly excludedKinds: readonly string[];
    readonly namespaceSelector?: LabelSelector;
    readonly objectSelector?: LabelSelector;
  };
  readonly drift: {
    readonly ignoredFields: readonly IgnoredFields[];
    /** Annotations of live objects that switch off drift repair or pruning have no effect, unless they are declared. Absent: false. */
    readonly ignoreLiveOptOuts?: boolean;
    /** Absent: `Repair`. */
    readonly mode?: DriftMode;
    /** The server sets the mode: what Placements and manifests say has no effect. */
    readonly isModeBound?: true;
  };
  /** At most one for each kind, in canonical order. */
  readonly healthChecks: readonly HealthCheck[];
}

/** The decoded value of a document, by engine kind. Each domain adds its kinds. */
export interface DeclarationValues {
  readonly KubernetesCluster: ClusterDeclaration;
  readonly Placement: Placement;
  readonly FleetPolicy: FleetPolicy;
  readonly RemovalApproval: RemovalApproval;
}

/** What one document of an engine kind declares. */
export type Declaration<Kind extends EngineKind = EngineKind> = {
  [Each in Kind]: {
    readonly type: 'declaration';
    readonly kind: Each;
    /** See `declarationKey`. */
    readonly key: string;
    /** As written; empty if the document names none. */
    readonly namespace: string;
    readonly name: string;
    readonly value: DeclarationValues[Each];
  };
}[Kind];

/** An object for clusters as a document has it, without positions. */
export interface ObjectContent {
  readonly type: 'object';
  /** As written: the namespace is empty if the manifest names none. */
  readonly ref: ObjectRef;
  readonly value: JsonObject;
  /** Of `value` as written. */
  readonly digest: Digest;
  /** Of `value` as written; absent: it is small. */
  readonly size?: ObjectSize;
}

/** The decoded content of one document, without positions. */
export type DocumentContent = ObjectContent | Declaration;

/** One document of one file. */
export interface SourceDocument {
  /**
   * Identity inside the file, free of positions: `group/Kind/namespace/name`, with `@parent` for the universal form and `#2`, `#3`
   * for a repetition in the same file. A document keeps it when it moves inside its file.
   */
  readonly identity: string;
  /** Index in the file, from 0. Provenance: no part of the document's value. */
  readonly index: number;
  readonly content: DocumentContent;
}

/** One file of a source as the engine sees it. */
export type FileReading = {
  readonly blob: string;
  /** Findings for people, without positions; never empty if the file is not readable. */
  readonly findings: readonly string[];
  /**
   * Why the file, or a part of it, is not read as desired state: it is of another tool, or such a tool claims it. Absent: all of it is,
   * or it cannot be read for another reason.
   */
  readonly notRead?: string;
} & ({ readonly readable: true; readonly documents: readonly SourceDocument[] } | { readonly readable: false });

/** What is in a decoded file. */
export interface DecodedSize {
  /** Manifests; each item of a list counts. */
  readonly documents: number;
  /** Scalars, lists, mappings and keys, as often as aliases repeat them. */
  readonly nodes: number;
  /** Bytes of the documents as canonical JSON, as often as aliases repeat them. */
  readonly expandedBytes: number;
}

/** A decoded file with all findings; there are errors exactly when it is not readable. */
export interface DecodedFile {
  readonly reading: FileReading;
  /** What counts towards the limits of a revision; zeros for a file that was not decoded. */
  readonly size: DecodedSize;
  readonly diagnostics: readonly Diagnostic[];
  /**
   * Of a file by whose name Helm or kustomize know a folder: files and folders, relative to the root of the source, that belong
   * to it and are no manifests. Absent if the file cannot be parsed.
   */
  readonly parts?: readonly string[];
  /** Of a kustomization: the parts that are manifests, and whether it changes their fields, or their names. */
  readonly kustomization?: {
    readonly resources: readonly string[];
    readonly isPatching: boolean;
    readonly isNaming: boolean;
  };
}
