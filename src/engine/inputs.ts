import type { KindState, LiveObject, ObjectResult } from '../model/agent/agent.ts';
import type { AgentRefusal } from '../model/agent/agent-refusal.ts';
import type { ObservedStatus } from '../model/fleet/conditions.ts';
import type { DocumentContent } from '../model/fleet/desired.ts';
import type { FileSignatures } from '../model/fleet/file-signature.ts';
import type { ApprovalOutcome, Contenders, Hold, LastKnownGood, LedgerEntry } from '../model/fleet/ledger.ts';
import type { PolicyBounds } from '../model/fleet/relay-config.ts';
import type { SourceRights } from '../model/fleet/source-rights.ts';
import type { Excess } from '../model/limits/quotas.ts';
import type { Graph } from './collections/types.ts';

/** A file without its provenance (its blob, the indexes of its documents). */
export type FileValue = {
  /** Findings for people, as sentences. */
  readonly findings: readonly string[];
  /** See `FileReading`: the absence of a document proves nothing. */
  readonly notRead?: string;
} & (
  | {
      readonly readable: true;
      readonly documents: readonly { readonly identity: string; readonly content: DocumentContent }[];
    }
  | { readonly readable: false }
);

/** The provenance of a {@link FileValue}, by which lines are found. */
export interface FileProvenance {
  readonly blob: string;
}

/** A configured source. A source without an entry is not configured, and counts as read and empty. */
export interface SourceValue {
  /** Position in the configuration: earlier sources win conflicts. */
  readonly order: number;
  /** A revision has entered in this process. */
  readonly read: boolean;
  /** What its documents may say; absent: everything. */
  readonly rights?: SourceRights;
  /** The verdicts on its files with a RemovalApproval; absent: it has none that can be signed. */
  readonly signatures?: FileSignatures;
}

/** A removal that was sent and may have arrived, or that has passed the guards and may be sent at any moment. */
export interface Departure {
  /** The agent's ledger entry is proven. */
  readonly isProven: boolean;
  /** Since it passed it was held, or its object was declared again. It counts only if the ledger shows it as sent. */
  readonly hasStopped?: true;
}

/** The state of a cluster's agent. */
export interface AgentValue {
  readonly connected: boolean;
  /** When `connected` last changed, in milliseconds since 1970; 0: the agent has never connected. */
  readonly since: number;
  /** Why the last delta was refused; empty: it was not. */
  readonly problem: string;
  /** The first complete input snapshot has been received; never reset. */
  readonly warm: boolean;
  /**
   * An inventory from before the loss of the store names the cluster, so it may have been warm. Objects that are in an
   * inventory and can depend on it wait for its snapshot.
   */
  readonly assumedWarm: boolean;
  /** The cluster id that its agent has reported; absent: it has never connected, or is recorded without one. */
  readonly id?: string;
  /** The cluster takes kinds as written (a directory): an object without namespace is cluster-scoped. */
  readonly kindsAsWritten: boolean;
  /** The last step of its input snapshot was refused for this; absent: it was taken. */
  readonly excess?: Excess;
  /** The namespace of the agent, which refuses objects in it; absent: it refuses none, or has no namespace. */
  readonly ownNamespace?: string;
  /** The largest object in bytes that the agent takes; absent: as large as the relay carries. */
  readonly objectBytes?: number;
  /** The agent sends no requests for objects that are stopped; absent: it does not know such objects. */
  readonly takesStopped?: true;
  /** The agent tries an object at once that has another attempt; absent: it does not. */
  readonly takesAttempts?: true;
  /** An output of the agent can be the status of an object; absent: it does not know such outputs, or its cluster has none. */
  readonly takesStatuses?: true;
  /** Objects of the agent may have a mode of drift of their own; absent: it does not know it. */
  readonly takesDriftMode?: true;
}

/** A refusal that the status of a cluster shows, unless it is over: the agent has connected since. */
export type StagedRefusal = AgentRefusal & { readonly isOver: boolean };

/** Settings of the server that outputs depend on. */
export interface FleetSettings {
  /** How far a repository can loosen guards and safe mode. */
  readonly bounds: PolicyBounds;
  /** The `leader` judges removals. On a `follower` a removal waits for the leader's permit. */
  readonly role: 'leader' | 'follower';
  /** The name of the fleet; absent: an evaluation without a server, which belongs to none. */
  readonly fleet?: string;
  /** Of the program; absent: not known. */
  readonly version?: string;
}

/** The input snapshot of a cluster. */
export interface SnapshotValue {
  /** When it was complete last, in milliseconds since 1970. */
  readonly since: number;
  /** A part of the next one is here, so an absent object proves nothing. */
  readonly isArriving?: true;
}

/** When a person has asked for another attempt, in milliseconds since 1970. */
export type AttemptRequest = {
  /** Of everything that is not applied or removed; absent: never. */
  readonly all?: number;
  /** Of single objects, by key. */
  readonly objects: Readonly<Record<string, number>>;
};

/** All inputs of the core: sources, agents, settings and the ledger. */
export type EngineInputs = ReturnType<typeof declareInputs>;

/** Declares the inputs. */
export function declareInputs(graph: Graph) {
  return {
    /** By source and path. */
    files: graph.input<FileValue>('files'),
    /** By source name, in the empty partition. */
    sources: graph.input<SourceValue>('sources'),
    /** One entry, key and partition empty. */
    fleet: graph.input<FleetSettings>('fleet'),
    /**
     * When the safe start window of this process began, in whole seconds since 1970. One entry, key and partition empty; no
     * entry: the server does not accept agents yet.
     */
    safeStart: graph.input<number>('safeStart'),
    /** Ledger: the latest moment of each deadline that has passed, by the deadline's address; whole seconds since 1970. */
    elapsed: graph.input<number>('elapsed'),
    /** By cluster name, in the empty partition. */
    agents: graph.input<AgentValue>('agents'),
    /** The last refusal of a caller who gave the name of a cluster, by that name in the empty partition. */
    refusals: graph.input<StagedRefusal>('refusals'),
    /** The clusters' input snapshots, by cluster and object key. */
    live: graph.input<LiveObject>('live', { live: true, equals: (a, b) => a.digest === b.digest && a.key === b.key }),
    /** By cluster name, in the empty partition: a cluster without an entry is unknown, never empty. */
    snapshots: graph.input<SnapshotValue>('snapshots'),
    /** By cluster and `group/Kind`. */
    kinds: graph.input<KindState>('kinds'),
    /** By cluster and object key. */
    results: graph.input<ObjectResult>('results'),
    /** Ledger: attempts that people have asked for, by cluster in the empty partition. */
    attempts: graph.input<AttemptRequest>('attempts'),
    /** Which clusters are suspended, and how that ends, for people; by cluster in the empty partition. */
    suspended: graph.input<string>('suspended'),
    /** Ledger: by cluster and object key. */
    ledger: graph.input<LedgerEntry>('ledger'),
    /** Ledger: by cluster and object key. */
    contenders: graph.input<Contenders>('contenders'),
    /** Ledger: declarations, by id of the kind and key. */
    lastKnownGood: graph.input<LastKnownGood>('lastKnownGood'),
    /** The statuses written last, by id of the kind and key. */
    observed: graph.input<ObservedStatus>('observed'),
    /** Ledger: removals that were held at the last commit, and why; by cluster and object key. */
    heldRemovals: graph.input<Hold>('heldRemovals'),
    /** Ledger: removals that a person has approved, by cluster and object key. */
    approvals: graph.input<true>('approvals'),
    /** Ledger: the outcomes of RemovalApprovals, by name in the empty partition. */
    approvalOutcomes: graph.input<ApprovalOutcome>('approvalOutcomes'),
    /** Removals that the leader permits, by cluster and object key; a follower removes nothing else. */
    removalPermits: graph.input<true>('removalPermits'),
    /**
     * Ledger: the number of objects removed from a cluster within the guards' window, by cluster in the empty partition.
     * Unproven entries are counted in the partition `unproven`.
     */
    recentRemovals: graph.input<number>('recentRemovals'),
    /** Ledger: removals that this or another replica has sent or may send, and that may have arrived; by cluster and object key. */
    departures: graph.input<Departure>('departures'),
  };
}
