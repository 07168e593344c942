import type { KindState, LiveObject, ObjectResult } from '../model/agent.ts';
import type { ObservedStatus } from '../model/conditions.ts';
import type { DocumentContent } from '../model/desired.ts';
import type { ApprovalOutcome, Contenders, LastKnownGood, LedgerEntry } from '../model/ledger.ts';
import type { PolicyBounds } from '../model/relay-config.ts';
import type { Graph, Input } from './collections/types.ts';
import type { Hold } from './output/decision.ts';

/** A file without what is provenance only (its blob, the documents' places in it). */
export type FileValue = {
  /** What a person should know about it, as sentences. */
  readonly findings: readonly string[];
} & (
  | {
      readonly readable: true;
      readonly documents: readonly { readonly identity: string; readonly content: DocumentContent }[];
    }
  | { readonly readable: false }
);

/** Staged beside a {@link FileValue}: finds the lines of its documents. */
export interface FileProvenance {
  readonly blob: string;
}

/** A configured source. One that is not in the collection is not configured, and counts as read and empty. */
export interface SourceValue {
  /** Position in the configuration: earlier sources win conflicts. */
  readonly order: number;
  /** A revision has entered in this process; until then the source is partial with nothing readable. */
  readonly read: boolean;
}

/** What is known of a cluster's agent. */
export interface AgentValue {
  readonly connected: boolean;
  /** When `connected` last changed, milliseconds since 1970; 0: never seen. */
  readonly since: number;
  /** Why nothing moves: the last refusal of a hello or of a delta; empty if there is nothing to say. */
  readonly trouble: string;
  /** The first complete input snapshot has arrived, ever. */
  readonly warm: boolean;
  /**
   * It may have been warm before the store was lost: an inventory of that time names it. What is in an inventory and could
   * have read it waits for its snapshot; anything else does not.
   */
  readonly assumedWarm: boolean;
  /** The cluster takes kinds as they are written (a directory): an object without namespace is cluster-scoped there. */
  readonly kindsAsWritten: boolean;
}

/** Settings of the server itself that outputs depend on. */
export interface FleetSettings {
  /** How far a repository may loosen what protects the fleet. */
  readonly bounds: PolicyBounds;
  /**
   * Who judges removals: this process does (`leader`), or another replica does, and a removal waits for its permit
   * (`follower`).
   */
  readonly role: 'leader' | 'follower';
}

/** A cluster's input snapshot is here, whole as it was at `since` (milliseconds since 1970). */
export interface SnapshotValue {
  readonly since: number;
}

/** Everything the engine computes from: the inputs proper, and the ledger's parts. */
export interface EngineInputs {
  /** By source and path. */
  readonly files: Input<FileValue>;
  /** By source name, in the empty partition. */
  readonly sources: Input<SourceValue>;
  /** One entry, key and partition empty. */
  readonly fleet: Input<FleetSettings>;
  /**
   * When the safe start window of this process began: whole seconds since 1970. One entry, key and partition empty; none:
   * agents are not let in yet.
   */
  readonly safeStart: Input<number>;
  /** Ledger: the latest moment of each deadline that has passed, by the deadline's address; whole seconds since 1970. */
  readonly elapsed: Input<number>;
  /** By cluster name, in the empty partition. */
  readonly agents: Input<AgentValue>;
  /** By cluster and object key: the clusters' input snapshots. */
  readonly live: Input<LiveObject>;
  /** By cluster name, in the empty partition: a cluster without an entry is unknown, never empty. */
  readonly snapshots: Input<SnapshotValue>;
  /** By cluster and `group/Kind`: could all objects of the kind be listed? */
  readonly kinds: Input<KindState>;
  /** By cluster and object key. */
  readonly results: Input<ObjectResult>;
  /** Ledger: by cluster and object key. */
  readonly ledger: Input<LedgerEntry>;
  /** Ledger: by cluster and object key. */
  readonly contenders: Input<Contenders>;
  /** Ledger: declarations, by id of the kind and key. */
  readonly lastKnownGood: Input<LastKnownGood>;
  /** The statuses written last, by id of the kind and key. */
  readonly observed: Input<ObservedStatus>;
  /** Ledger: removals that were held at the last commit, by cluster and object key, and why. */
  readonly heldRemovals: Input<Hold>;
  /** Ledger: removals that a person has approved, by cluster and object key. */
  readonly approvals: Input<true>;
  /** Ledger: what became of RemovalApprovals, by name in the empty partition. */
  readonly approvalOutcomes: Input<ApprovalOutcome>;
  /** Removals that the leader permits, by cluster and object key; a follower removes nothing else. */
  readonly removalPermits: Input<true>;
  /** Ledger: how many objects were removed from a cluster within the guards' window; by cluster in the empty partition. */
  readonly recentRemovals: Input<number>;
  /**
   * Ledger: removals that were sent, or that another replica may have sent, and of which it is not known whether they have
   * arrived; by cluster and object key.
   */
  readonly departures: Input<true>;
}

/** Declares the inputs. */
export function declareInputs(graph: Graph): EngineInputs {
  return {
    files: graph.input<FileValue>('files'),
    sources: graph.input<SourceValue>('sources'),
    fleet: graph.input<FleetSettings>('fleet'),
    safeStart: graph.input<number>('safeStart'),
    elapsed: graph.input<number>('elapsed'),
    agents: graph.input<AgentValue>('agents'),
    live: graph.input<LiveObject>('live', { live: true, equals: (a, b) => a.digest === b.digest && a.key === b.key }),
    snapshots: graph.input<SnapshotValue>('snapshots'),
    kinds: graph.input<KindState>('kinds'),
    results: graph.input<ObjectResult>('results'),
    ledger: graph.input<LedgerEntry>('ledger'),
    contenders: graph.input<Contenders>('contenders'),
    lastKnownGood: graph.input<LastKnownGood>('lastKnownGood'),
    observed: graph.input<ObservedStatus>('observed'),
    heldRemovals: graph.input<Hold>('heldRemovals'),
    approvals: graph.input<true>('approvals'),
    approvalOutcomes: graph.input<ApprovalOutcome>('approvalOutcomes'),
    removalPermits: graph.input<true>('removalPermits'),
    recentRemovals: graph.input<number>('recentRemovals'),
    departures: graph.input<true>('departures'),
  };
}
