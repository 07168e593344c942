import type { AgentNeeds } from '../model/agent/agent-settings.ts';
import type { ConditionValue } from '../model/fleet/conditions.ts';
import type { FleetPolicy } from '../model/fleet/desired.ts';
import type { FindingReason } from '../model/fleet/diagnostic.ts';
import type { EngineKind } from '../model/fleet/engine-kinds.ts';
import type { ObjectName } from '../model/fleet/explain-query.ts';
import type { PolicySection } from '../model/fleet/fleet-policy.ts';
import type { Origin } from '../model/fleet/output.ts';
import type { DeclarationJudges, SourceRights } from '../model/fleet/source-rights.ts';
import type { ViewFilter } from '../model/fleet/view-filter.ts';
import type { ObjectKey } from '../model/objects/object-key.ts';
import type { WrittenPath } from '../model/text/field-path.ts';
import type { JsonObject, JsonValue } from '../model/text/json.ts';
import type { Contribution, Derived, Graph, Index, Input } from './collections/types.ts';
import type { Deadline } from './deadlines.ts';
import type { ClusterValue } from './fleet/clusters.ts';
import type { Accepts, Declarations } from './fleet/declared.ts';
import type { LiveKinds } from './fleet/safe-mode.ts';
import type { DocumentRef, DocumentValue } from './fleet/sources.ts';
import type { EngineInputs } from './inputs.ts';
import type { Collisions } from './output/decisions.ts';
import type { Barred } from './output/not-allowed.ts';
import type { Output } from './output/outputs.ts';
import type { Tries } from './output/tries.ts';
import type { Candidate, Want } from './placement/wants.ts';
import type { StatusPart } from './status/declared-status.ts';
import type { Progress } from './status/progress.ts';

/**
 * One concern of the fleet: its derived collections, its wants in clusters, and the status that it writes. The core knows no
 * domain by name; `graph.ts` lists them.
 *
 * A domain is declared in two phases. `derive` runs before placement: it derives from declarations and live state what clusters
 * shall have. Its `report` runs after progress: it tells how far the clusters got, and what people can ask about.
 *
 * @example A domain of one kind: each Banner becomes a ConfigMap in all clusters, and its status counts them.
 *
 *     const banners: Domain = {
 *       name: 'banners',
 *       readsLive: {},
 *       derive: (graph, { declarations, clusters }) => {
 *         const wants = graph.derive<Declared<'Banner'>, Want>({
 *           name: 'bannerWants',
 *           from: declarations.of('Banner'),
 *           reads: [clusters],
 *           compute: ({ key, value }, read, emit) => {
 *             for (const cluster of read.keys(clusters, '')) emit(cluster, key, bannerIn(cluster, value));
 *           },
 *         });
 *         return {
 *           collections: { bySource: [wants], anywhere: [] },
 *           makes: { wants: [wants] },
 *           report: ({ progressBySubject }) => ({
 *             statuses: deriveBannerStatuses(graph, declarations, progressBySubject),
 *             shows: { views: { banners: () => bannerRows(wants) } },
 *           }),
 *         };
 *       },
 *     };
 */
export interface Domain<Parts extends DomainParts = DomainParts> {
  readonly name: string;
  /**
   * The live kinds (`group/Kind`) that each kind of wanted object is computed from. While one of them cannot be read in a
   * cluster, objects that can depend on that cluster stay as they are. Empty: the domain makes no object of live state.
   */
  readonly readsLive: LiveKinds;
  /** What it makes of its section of the policy, besides its own settings. */
  readonly section?: PolicySection;
  /** The part of the policy that the domain reads; a change of other parts does not wake it. */
  readonly settings?: (policy: FleetPolicy) => JsonValue;
  /** What declarations of its kinds must be within, if their source is not the first one. */
  readonly judges?: DeclarationJudges;
  /** Can refuse a change of a declaration of one of its kinds, which then holds as last known good. */
  readonly accepts?: Accepts;
  /** Declares the domain's collections. Runs once, before placement. */
  readonly derive: (graph: Graph, core: DomainCore) => Parts;
}

/** What a domain can read. */
export interface DomainCore {
  readonly inputs: EngineInputs;
  /** The rights of the sources that have some. Partition empty, key the source. */
  readonly rights: Derived<SourceRights>;
  /** The documents of all readable files. */
  readonly documents: Derived<DocumentValue>;
  readonly declarations: Declarations;
  readonly clusters: Derived<ClusterValue>;
  readonly clusterIndex: Index<ClusterValue>;
  /** The objects that documents declare, with their clusters. */
  readonly documentWants: Derived<Want>;
  /** {@link Domain.settings} of the policy in force or of the default policy. One entry, key and partition empty. */
  readonly settings: Derived<JsonValue>;
  /** What a domain that is listed earlier has derived. Throws if it is not. */
  readonly earlier: <Parts extends DomainParts>(domain: Domain<Parts>) => Parts;
}

/** Inputs of a domain, by name. */
export type DomainInputs = Readonly<Record<string, Input<JsonValue>>>;

/** What a domain adds to the graph before placement. */
export interface DomainParts {
  /**
   * All collections. Failures of `bySource` make their partition, a source, partial. Failures of `anywhere` can concern any source
   * and make all of them partial. Failures of `shown` are only reported: these collections can change wanted objects and never
   * remove one.
   */
  readonly collections: {
    readonly bySource: readonly Derived<unknown>[];
    readonly anywhere: readonly Derived<unknown>[];
    readonly shown?: readonly Derived<unknown>[];
  };
  /** State that comes neither from sources nor from agents. The shell stages it through `Engine.domainInputs`. */
  readonly inputs?: DomainInputs;
  readonly makes?: DomainMakes;
  readonly agents?: DomainAgents;
  /** Partition: the domain's name, or `OF_PROCESS`. */
  readonly deadlines?: readonly Derived<Deadline>[];
  /** Runs once, after progress. */
  readonly report?: (after: AfterProgress) => DomainReport;
}

/** The objects that a domain makes in clusters. */
export interface DomainMakes {
  readonly wants?: readonly Derived<Want>[];
  /** Required with `readsLive`. */
  readonly reading?: {
    /** Grouped by the cluster that is read. */
    readonly clusters: Index<unknown>;
    /** Advice for a cluster that cannot be read: "leave the cluster out of ..." */
    readonly wayOut: string;
  };
  /** What the rights of sources keep declarations of the domain from making. Key: the document's. */
  readonly barred?: readonly Derived<Barred>[];
  /** Messages for two wants of the domain with one key. */
  readonly collisions?: Collisions;
  /** How agents try objects, by cluster and key; and why they do not try those that are stopped and what to do, as a clause. */
  readonly tries?: { readonly of: Derived<Tries>; readonly whyStopped: string };
}

/** What a domain knows about the agents of clusters. */
export interface DomainAgents {
  /** What they do for the domain besides the usual. Partition empty, key the cluster. */
  readonly needs?: Derived<AgentNeeds>;
  /** The clusters whose agents are not expected to answer. Partition empty, key the cluster, value: what sleeps in it. */
  readonly asleep?: Derived<string>;
}

/** What a domain tells about the state of the fleet. */
export interface DomainReport {
  /** The status of objects of the domain's kinds, by kind and key. */
  readonly statuses?: Derived<StatusPart>;
  /**
   * Files of the status branch about what no source declares. Their folder holds nothing else; the keys are their paths, the
   * partition is empty. After a restart, files without a document stay until every registered
   * cluster has sent a snapshot.
   */
  readonly documents?: { readonly folder: string; readonly of: Derived<JsonObject> };
  readonly shows?: DomainShows;
}

/** What people can ask about a domain. */
export interface DomainShows {
  /** The rows of `fleetrelay get NAME`, by name of the view. The keys of a row are the titles of the columns. */
  readonly views?: Readonly<Record<string, (filter?: ViewFilter) => readonly JsonObject[]>>;
  readonly diagnostics?: () => readonly EngineDiagnostic[];
  /** What people can have explained by name, besides objects and declarations. */
  readonly entities?: readonly EntityKind[];
  /** Why an object is as it is. `candidates`: what this domain has made. */
  readonly explains?: (candidates: readonly Contribution<Candidate>[], output: Output | undefined) => readonly Reason[];
  /** Why the domain does not make an object of this name in a cluster; empty: it makes none of such a name. */
  readonly explainsAbsence?: (cluster: string, name: ObjectName) => readonly WhyNotReason[];
}

/** What a report is derived from, besides the domain's own collections. */
export interface AfterProgress {
  readonly progress: Derived<Progress>;
  /** For `tallyOf`: the subject of a document is `documentSubject`. */
  readonly progressBySubject: Index<Progress>;
}

/** A value of a document. */
export interface ValueRef extends DocumentRef {
  /** Absent: the document itself. */
  readonly field?: WrittenPath;
}

/** A finding of the engine about the desired state. */
export interface EngineDiagnostic {
  readonly severity: 'error' | 'warning';
  readonly reason: FindingReason;
  readonly message: string;
  /** What to write instead. */
  readonly hint?: string;
  /** The wrong values, the main one first. Empty: the finding is about no document. */
  readonly at: readonly ValueRef[];
}

/** One cause of an output. */
export type Reason =
  | { readonly type: 'declares'; readonly at: DocumentRef; readonly counts: boolean }
  /** The file declared it when it was last accepted, and no file declares it now. */
  | { readonly type: 'declared'; readonly at: Origin }
  | { readonly type: 'folder'; readonly cluster: string }
  /** A declaration of an engine kind that selects, translates or registers something; `part`: its effect. */
  | {
      readonly type: 'rule';
      readonly kind: string;
      readonly name: string;
      readonly at: DocumentRef;
      readonly part: string;
    }
  /** A live object that a domain computed the output from; `part`: its effect. */
  | { readonly type: 'live'; readonly cluster: string; readonly key: ObjectKey; readonly part: string }
  /** An object of a cluster that is not applied. */
  | { readonly type: 'object'; readonly cluster: string; readonly key: ObjectKey; readonly progress: Progress }
  /** The output can depend on live state of this cluster that is not visible any more. */
  | { readonly type: 'scope'; readonly cluster: string };

/** A reason why an object is not in a cluster. */
export interface WhyNotReason {
  /** UpperCamelCase constant. */
  readonly reason: string;
  /** A sentence. */
  readonly message: string;
  /** Absent: no file says it. */
  readonly at?: ValueRef;
  /** What a person can do; empty: nothing is needed. */
  readonly todo: string;
}

/** A kind of what a domain derives and people know by name; no object and no declaration. */
export interface EntityKind {
  /** In lower case: as people are told, then other words for it. */
  readonly words: readonly [string, ...string[]];
  /** What contains them, in one word, if their names are unique in it only: `mesh`. */
  readonly parent?: string;
  /** Their names are `NAMESPACE/NAME`, and they are also found by `NAME`. */
  readonly isNamespaced?: true;
  /** Names may repeat. */
  readonly names: () => Iterable<string>;
  /** The entities of a name, in canonical order. */
  readonly named: (name: string) => readonly Entity[];
}

/** One of an {@link EntityKind}. */
export interface Entity {
  readonly name: string;
  /** The name of its {@link EntityKind.parent}. */
  readonly parent?: string;
  /** Absent: it belongs to no one cluster. */
  readonly cluster?: string;
  /** Absent: it has none, and so neither fields nor conditions. */
  readonly declaration?: { readonly kind: EngineKind; readonly key: string };
  /** Its conditions, which people can ask for by type; absent: its declaration's conditions. */
  readonly conditions?: () => readonly EntityCondition[];
  readonly explain: () => EntityReasons;
}

/** A condition of an {@link Entity}. */
export interface EntityCondition {
  readonly condition: ConditionValue;
  /** RFC 3339; absent: its status is new, and not written yet. */
  readonly since?: string;
  /** When it turns False unless it recovers before, RFC 3339; absent: not by time alone. */
  readonly turnsFalseAt?: string;
  /** The live object that it follows from. */
  readonly cause?: { readonly cluster: string; readonly key: ObjectKey };
  readonly facts: readonly Fact[];
}

/** Why an entity is as it is. */
interface EntityReasons {
  /** Its row in the view of its kind. */
  readonly row: JsonObject;
  /** A clause after the state; may be empty. */
  readonly message: string;
  /** Of bounded length. */
  readonly reasons: readonly (Reason | Fact)[];
}

/** What is known about a part of an entity. */
export interface Fact {
  readonly type: 'fact';
  /** Number of parts that it lies in. */
  readonly depth: number;
  readonly kind: string;
  /** May be empty. */
  readonly name: string;
  /** What says so; absent: fleetrelay itself. */
  readonly at?: ValueRef | { readonly cluster: string };
  readonly note: string;
}
