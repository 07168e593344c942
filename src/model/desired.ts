import type { ShootCondition } from '../domains/care/model/shoot.ts';
import type { DeclaredDataplane } from '../domains/health/model/dataplane.ts';
import type { InjectorSettings } from '../domains/health/model/injector-settings.ts';
import type { IgnoredFields } from './agent-settings.ts';
import type { Diagnostic } from './diagnostic.ts';
import type { DriftMode } from './drift.ts';
import type { EngineKind } from './engine-kinds.ts';
import type { HealthCheck } from './health-check.ts';
import type { ClusterName, Digest } from './ids.ts';
import type { JsonObject } from './json.ts';
import type { LabelSelector } from './label-selector.ts';
import type { ObjectRef } from './object-key.ts';
import type { ObjectSize } from './object-size.ts';

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

/** What a `ServiceMirror` declares: services are made known in the clusters of `to`. */
export interface ServiceMirror {
  readonly name: string;
  readonly from: MirrorFrom;
  readonly to: ClusterChoice;
  /** Of Services in clusters; services of meshes have no labels. */
  readonly serviceSelector: LabelSelector;
  /** Of Services in clusters. */
  readonly namespaces: MirrorNamespaces;
  /** Of Services in clusters. */
  readonly copy: MirrorCopy;
}

/** Globs of the Namespaces whose Services are mirrored (see `matchesAnyName`); `exclude` wins. */
export interface MirrorNamespaces {
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

/** Globs of the keys of labels and annotations that mirrored Services get from those that they stand for. */
export interface MirrorCopy {
  readonly labels: readonly string[];
  readonly annotations: readonly string[];
}

/**
 * What a ServiceMirror mirrors: the selected Services of clusters, or the services of all declared data planes of meshes
 * (`meshes` in canonical order, at least one), whose objects lie in `namespace`.
 */
export type MirrorFrom =
  | { readonly type: 'clusters'; readonly clusters: ClusterChoice }
  | { readonly type: 'meshes'; readonly meshes: readonly string[]; readonly namespace: string };

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
  readonly drift: {
    readonly ignoredFields: readonly IgnoredFields[];
    /** Annotations of live objects that switch off drift repair or pruning have no effect, unless they are declared. Absent: false. */
    readonly ignoreLiveOptOuts?: boolean;
    /** Absent: `Repair`. */
    readonly mode?: DriftMode;
    /** The server sets the mode: what Placements and manifests say has no effect. */
    readonly isModeBound?: true;
  };
  readonly health: HealthSettings;
  /** At most one for each kind, in canonical order. */
  readonly healthChecks: readonly HealthCheck[];
  readonly care: CareSettings;
}

/** What a `FleetPolicy` says of the care of Shoots. */
export interface CareSettings {
  /** An agent asks its API server, and tests the tunnel, so often. What agents report is judged at once. */
  readonly syncPeriodMillis: number;
  /** How long a failure is shown as `Progressing`, at most one for each type; a type that is not listed has no threshold. */
  readonly conditionThresholds: readonly { readonly type: ShootCondition; readonly millis: number }[];
  /** After so long without a heartbeat the reports of an extension are outdated; absent: heartbeats are not judged. */
  readonly staleExtensionMillis?: number;
  /** A ManagedResource may be progressing so long. */
  readonly managedResourceProgressingMillis: number;
  readonly webhookRemediatorEnabled: boolean;
  readonly webhookRemediatorDryRun: boolean;
  /** The namespaces of the heartbeats of extensions, by the kind and `spec.type` of their objects. */
  readonly extensions: readonly ExtensionHeartbeat[];
  /** An operation without success is Failed after so long. */
  readonly retryMillis: number;
  /** An operation that failed at a rate limit is tried again after so long. */
  readonly retryPeriodMillis: number;
  /** A task that has been failing, stuck or out of reach for so long is an error. */
  readonly taskTimeoutMillis: number;
  /** A cluster is not known any more when its agent has been silent five times as long. */
  readonly monitorPeriodMillis: number;
  /** A Failed operation stops the requests of agents for its objects. */
  readonly stopFailed: boolean;
  readonly monitoringEnabled: boolean;
  readonly loggingEnabled: boolean;
}

/** The namespace in the Seed that has the heartbeat of an extension. */
export interface ExtensionHeartbeat {
  /** Of the extension objects: `Worker`. */
  readonly kind: string;
  /** Their `spec.type`. */
  readonly type: string;
  readonly namespace: string;
}

/** What a `FleetPolicy` says of data planes and their health. */
export interface HealthSettings {
  /** Names of containers that make a Pod a data plane; every other container is an application's. */
  readonly sidecars: readonly string[];
  /** Makes a Pod a data plane by its labels, too; absent: none. */
  readonly podSelector?: LabelSelector;
  readonly injector: InjectorSettings;
  /** How long after a start what was made from reports of health is kept, if its data plane does not report. */
  readonly reportWaitSeconds: number;
}

/** The decoded value of a document, by engine kind. */
export interface DeclarationValues {
  readonly KubernetesCluster: ClusterDeclaration;
  readonly Placement: Placement;
  readonly ServiceMirror: ServiceMirror;
  readonly FleetPolicy: FleetPolicy;
  readonly RemovalApproval: RemovalApproval;
  readonly Dataplane: DeclaredDataplane;
  readonly Shoot: JsonObject;
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
   * Identity inside the file, free of positions: `group/Kind/namespace/name`, with `@mesh` for a Dataplane and `#2`, `#3`
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
  /** Of a kustomization: those of its parts that are manifests, and whether it changes their fields, or their names. */
  readonly kustomization?: {
    readonly resources: readonly string[];
    readonly isPatching: boolean;
    readonly isNaming: boolean;
  };
}
