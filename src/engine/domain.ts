import type { FleetPolicy } from '../model/desired.ts';
import type { JsonObject, JsonValue } from '../model/json.ts';
import type { Collection, Contribution, Derived, Graph, Index } from './collections/types.ts';
import type { Deadline } from './deadlines.ts';
import type { Reason } from './explain/reason.ts';
import type { Accepts } from './fleet/accepts.ts';
import type { ClusterValue } from './fleet/clusters.ts';
import type { Declarations } from './fleet/declared.ts';
import type { LiveKinds } from './fleet/live-reads.ts';
import type { EngineInputs } from './inputs.ts';
import type { Collisions } from './output/collisions.ts';
import type { Output } from './output/outputs.ts';
import type { Candidate } from './placement/candidates.ts';
import type { Want } from './placement/want.ts';
import type { StatusPart } from './status/declared-status.ts';
import type { EngineDiagnostic } from './status/diagnostic.ts';
import type { Progress } from './status/progress.ts';

/**
 * One concern of the fleet: what it derives, what it wants in clusters, and the status that it writes. The core knows
 * no domain by name; `graph.ts` lists them.
 */
export interface Domain {
  readonly name: string;
  /**
   * The live kinds (`group/Kind`) that each kind of object it wants is computed from. While one of them cannot be read in
   * a cluster, what could have been computed from that cluster stays as it is. Empty: it reads no live state.
   */
  readonly readsLive: LiveKinds;
  /** The part of the policy that the domain reads; other changes of the policy do not wake it. */
  readonly settings?: (policy: FleetPolicy) => JsonValue;
  /** May refuse a change of a declaration of one of its kinds, which then holds as last known good. */
  readonly accepts?: Accepts;
  /** Declares the domain's collections. Runs once, before placement. */
  readonly derive: (graph: Graph, core: DomainCore) => DomainParts;
}

/** What a domain may read. */
export interface DomainCore {
  readonly inputs: EngineInputs;
  readonly declarations: Declarations;
  readonly clusters: Derived<ClusterValue>;
  readonly clusterIndex: Index<ClusterValue>;
  /** What {@link Domain.settings} takes from the policy in force, or from the default one. One entry, key and partition empty. */
  readonly settings: Derived<JsonValue>;
  /** Domains that are listed earlier, by name. */
  readonly earlier: ReadonlyMap<string, DomainParts>;
}

/** What a domain adds to the graph. What is absent it does not do. */
export interface DomainParts {
  /**
   * Collections whose failures make a source partial: `bySource` are partitioned by the source, a failure in `anywhere`
   * may have been any source's.
   */
  readonly collections: {
    readonly bySource: readonly Derived<unknown>[];
    readonly anywhere: readonly Derived<unknown>[];
  };
  /** What comes from elsewhere than sources and agents; the shell stages it. */
  readonly inputs?: Readonly<Record<string, Collection<unknown>>>;
  /** Finished objects for clusters. */
  readonly wants?: Derived<Want>;
  /** Who reads which clusters, and how a cluster that cannot be read is left out. Required with `readsLive`. */
  readonly reading?: {
    /** Grouped by the cluster that is read. */
    readonly clusters: Index<unknown>;
    /** "Leave the cluster out of ..." */
    readonly wayOut: string;
  };
  /** Kinds (`group/Kind`) that agents report for the domain beside the usual ones. Partition empty, key the cluster. */
  readonly discovers?: Derived<readonly string[]>;
  /** What people read where two wants of the domain have one key. */
  readonly collisions?: Collisions;
  /** Moments that the domain waits for. Partition: the domain's name. */
  readonly deadlines?: Derived<Deadline>;
  /** What is known of objects of the domain's kinds, by kind and key. Runs after progress. */
  readonly statuses?: (after: AfterProgress) => Derived<StatusPart>;
  /** Rows for people, by the name of the view: `fleetrelay get NAME`. The keys of a row are the titles of the columns. */
  readonly views?: Readonly<Record<string, () => readonly JsonObject[]>>;
  readonly diagnostics?: () => readonly EngineDiagnostic[];
  /** Why an object is as it is; `claims` are the candidates that come from this domain. */
  readonly explains?: (claims: readonly Contribution<Candidate>[], output: Output | undefined) => readonly Reason[];
}

/** What statuses are derived from, beside the domain's own collections. */
export interface AfterProgress {
  readonly progress: Derived<Progress>;
  /** Derived objects by origin, state and health: groups are {@link derivedGroup}. */
  readonly derivedProgress: Index<Progress>;
}
