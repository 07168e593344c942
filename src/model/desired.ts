import type { IgnoredFields } from './agent-settings.ts';
import type { Diagnostic } from './diagnostic.ts';
import type { EngineKind } from './engine-kinds.ts';
import type { ClusterName, Digest } from './ids.ts';
import type { JsonObject } from './json.ts';
import type { LabelSelector } from './label-selector.ts';
import type { ObjectRef } from './object-key.ts';

/** What a `KubernetesCluster` declares. */
export interface ClusterDeclaration {
  readonly name: ClusterName;
  readonly labels: Readonly<Record<string, string>>;
  /** `spec.clusterDomain`, `cluster.local` unless set. */
  readonly clusterDomain: string;
  /** `spec.skipWarming`: never held up by safe mode. */
  readonly skipWarming: boolean;
}

/** What a `Placement` declares: documents under `paths` go to the selected clusters. */
export interface Placement {
  readonly name: string;
  /** Globs relative to the root of the source, in canonical order. */
  readonly paths: readonly string[];
  /** Explicit clusters, joined (or) with the selector. */
  readonly clusterNames: readonly ClusterName[];
  /** Absent: only the names count. */
  readonly clusterSelector?: LabelSelector;
}

/** Clusters by name, joined (or) with those that a selector selects. */
export interface ClusterChoice {
  readonly names: readonly ClusterName[];
  /** Absent: only the names count. */
  readonly selector?: LabelSelector;
}

/** What a `ServiceMirror` declares: the selected services of some clusters are made known in others. */
export interface ServiceMirror {
  readonly name: string;
  readonly from: ClusterChoice;
  readonly to: ClusterChoice;
  readonly serviceSelector: LabelSelector;
}

/** What a `RemovalApproval` declares: a person lets go what a guard holds. */
export interface RemovalApproval {
  readonly name: string;
  /** Names the set of held removals. */
  readonly digest: Digest;
  /** Milliseconds since 1970; absent: only the life that every approval has bounds it. */
  readonly expiresAt?: number;
}

/** Bounds of the removal guard; a removal set larger than any of them is held. */
export interface GuardLimits {
  /** Largest number of objects removed from one cluster within the window. */
  readonly maxRemovalsPerCluster: number;
  /** Largest percentage (0 to 100) of a cluster's owned objects removed within the window. */
  readonly maxRemovalPercentPerCluster: number;
  readonly maxRemovalsPerFleet: number;
  readonly maxRemovalPercentPerFleet: number;
  /** Percentages judge only from this many owned objects on, so that two of three objects are not "66 percent". */
  readonly percentFromOwned: number;
  readonly windowSeconds: number;
}

/** What a `FleetPolicy` declares, with defaults filled in. */
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
  readonly drift: { readonly ignoredFields: readonly IgnoredFields[] };
}

/** What the documents of each engine kind say, decoded. */
export interface DeclarationValues {
  readonly KubernetesCluster: ClusterDeclaration;
  readonly Placement: Placement;
  readonly ServiceMirror: ServiceMirror;
  readonly FleetPolicy: FleetPolicy;
  readonly RemovalApproval: RemovalApproval;
  readonly Dataplane: JsonObject;
  readonly Shoot: JsonObject;
}

/** What one document of an engine kind declares. */
export type Declaration<Kind extends EngineKind = EngineKind> = {
  [Each in Kind]: {
    readonly type: 'declaration';
    readonly kind: Each;
    /** Which declarations of the kind are of the same thing: see `declarationKey`. */
    readonly key: string;
    /** As written; empty if the document names none. */
    readonly namespace: string;
    readonly name: string;
    readonly value: DeclarationValues[Each];
  };
}[Kind];

/** What one document of a manifest says, decoded. Positions are no part of it. */
export type DocumentContent =
  | {
      readonly type: 'object';
      /** As written: the namespace is empty if the manifest names none. */
      readonly ref: ObjectRef;
      readonly value: JsonObject;
      /** Of `value` as written. */
      readonly digest: Digest;
    }
  | Declaration;

/** One document of one file. */
export interface SourceDocument {
  /**
   * Identity inside the file, free of positions: `group/Kind/namespace/name`, with `@mesh` for a Dataplane and `#2`, `#3`
   * for a repetition in the same file. A document that moves inside its file keeps it.
   */
  readonly identity: string;
  /** Index in the file from 0, where it was last seen. Provenance: no part of the document's value. */
  readonly index: number;
  readonly content: DocumentContent;
}

/** One file of a source as the engine sees it. */
export type FileReading = {
  readonly blob: string;
  /** What a person should know about the file, as sentences without positions; never empty if it is not readable. */
  readonly findings: readonly string[];
} & ({ readonly readable: true; readonly documents: readonly SourceDocument[] } | { readonly readable: false });

/** Reads one file: the reading, and everything to be said about it (errors exactly when it is not readable). */
export interface DecodedFile {
  readonly reading: FileReading;
  readonly diagnostics: readonly Diagnostic[];
}
