import { SAFE_START } from '../../engine/fleet/safe-mode.ts';
import type { Engine } from '../../engine/graph.ts';
import type { Clock } from '../../ports/clock.ts';
import type { FencedLease } from '../../ports/lease.ts';
import type { Log } from '../../ports/log.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';
import type { Source } from '../../ports/source.ts';
import { createDeadlines, type Deadlines } from '../../runtime/deadlines.ts';
import { type ClusterReadings, validReadings } from '../../runtime/ledger/cluster-state.ts';
import { createLedger, type Ledger, loadHolds } from '../../runtime/ledger/ledger.ts';
import { joinContenders } from '../../runtime/ledger/recorders.ts';
import {
  type LedgerRecords,
  readDeclarations,
  readLeaderRecords,
  readRecords,
  recordedInputs,
} from '../../runtime/ledger/records.ts';
import type { Loop } from '../../runtime/loop.ts';
import { type Approvals, createApprovals } from '../../runtime/removals/approvals.ts';
import { createWindows, type Windows } from '../../runtime/removals/windows.ts';
import {
  ADMISSION_KEY,
  type AdmissionCounter,
  createAdmissionCounter,
  ENGINE_GENERATION,
  parsePosition,
} from '../../runtime/replica/admission.ts';
import { type Candidacy, createCandidacy } from '../../runtime/replica/candidacy.ts';
import { createConditionedStore, openStoreFormat } from '../../runtime/replica/conditioned-store.ts';
import { ensureEpoch } from '../../runtime/replica/epoch.ts';
import { readJson } from '../../runtime/replica/records.ts';
import { readRemovalPermits } from '../../runtime/replica/removal-permits.ts';
import type { Replica } from '../../runtime/replica/replica.ts';
import { createSharedReplica, type Judgement } from '../../runtime/replica/shared-replica.ts';
import { createSoleIntake, createSoleReplica } from '../../runtime/replica/sole-replica.ts';
import { createSharedSources, type Intake } from '../../runtime/replica/sources.ts';
import type { StoreLock } from '../../runtime/replica/store-lock.ts';
import type { Sessions } from '../../runtime/sessions.ts';
import type { SourceTable } from '../../runtime/source-table.ts';
import {
  createObservedStatuses,
  type ObservedStatuses,
  type StatusBranch,
} from '../../runtime/status/observed-statuses.ts';
import type { RecordWriter } from '../../runtime/stored/group.ts';
import { createJournal, type Journal } from '../../runtime/stored/journal.ts';
import { createSuspendableIntake, type Suspensions } from '../../runtime/suspensions.ts';

/** Set for one of several servers that share a store. */
export interface ReplicaSetup {
  /** Identity of this process; never used by another process. */
  readonly id: string;
  /** The lease of the fleet's leader, for this identity. */
  readonly lease: FencedLease;
  /** The lease is in the store: without the store nothing new is admitted. */
  readonly needsStore: boolean;
  /** HOST:PORT or URL of this replica's HTTP, for the clients of the others; empty: it advertises none. */
  readonly advertise: string;
  /** Generation of the engine; default: that of this version. For tests. */
  readonly engine?: number;
}

/** The parts of a server that all others use. */
export interface Foundation {
  readonly engine: Engine;
  readonly loop: Loop;
  readonly store: SnapshotStore;
  readonly journal: Journal;
  /** Writes the records of the fleet; of several replicas only the leader's are written. */
  readonly fleet: RecordWriter;
  readonly records: LedgerRecords;
  readonly ledger: Ledger;
  readonly approvals: Approvals;
  readonly windows: Windows;
  readonly deadlines: Deadlines;
  readonly observed: ObservedStatuses;
  readonly counter: AdmissionCounter;
  /** Undefined: this is the only server of its fleet. */
  readonly candidacy: Candidacy | undefined;
  /** Set for the only server if others could use its store. */
  readonly lock: StoreLock | undefined;
  /** Resolves, with a text for people, when this process may not use the store any more and must end. */
  readonly over: Promise<string>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Reads the store. Rejects if it does not answer, or a newer version has written it. */
export async function layFoundation(
  given: Pick<Foundation, 'engine' | 'loop' | 'store' | 'clock' | 'log' | 'lock'>,
  setup: ReplicaSetup | undefined,
  branch: StatusBranch | undefined,
): Promise<Foundation> {
  const over = Promise.withResolvers<string>();
  const { lock, clock, engine, log } = given;
  void lock?.over.then(over.resolve);
  const format = await openStoreFormat(given.store, over.resolve);
  const store = createConditionedStore(given.store, lock === undefined ? [format] : [format, lock]);
  const deps = { ...given, store };
  if (setup !== undefined) await ensureEpoch(store, clock);
  const read = await readRecords(store, log);
  // A follower does not judge removals: it loads these records when it begins to.
  const unjudged = { held: new Map(), approvals: new Map(), windows: new Map(), approvalOutcomes: new Map() };
  const records = setup === undefined ? read : { ...read, ...unjudged };
  const journal = createJournal(deps);
  const candidacy = setup === undefined ? undefined : createCandidacy({ ...deps, ...setup, journal }, setup.id);
  void over.promise.then(() => {
    journal.stop();
    // The lease is released at once: another replica leads before this one has ended.
    return candidacy?.stop();
  });
  const fleet = candidacy?.fleet ?? journal;
  const core = { ...deps, journal, fleet, records };
  const ledger = createLedger(core, { ownsAll: setup === undefined });
  if (ledger.wasLost) log.info('the store is new', { epoch: ledger.epoch() });
  const stored = setup === undefined ? parsePosition((await readJson(store, ADMISSION_KEY)).value) : undefined;
  return {
    ...core,
    ...{ ledger, candidacy, over: over.promise },
    approvals: createApprovals(core),
    windows: createWindows({ ...core, ledger }),
    observed: createObservedStatuses({ ...core, branch }),
    deadlines: createDeadlines({
      ...{ ...deps, graph: engine.graph, deadlines: engine.deadlines, elapsed: engine.inputs.elapsed },
      ...{ journal: fleet, records, isOfProcess: (owner) => owner === SAFE_START },
    }),
    counter: createAdmissionCounter(ledger.epoch(), stored),
  };
}

/** Made in two steps: the table of sources needs the intake, and the replica needs the table. */
export interface ReplicaParts {
  readonly intake: Intake;
  /** `changed`: this server leads now, or does not any more. */
  create(sources: SourceTable, sessions: Sessions, changed: (leads: boolean) => void): Replica;
}

/** `table` is called later only: it is made from the intake. */
export function createReplicaParts(
  foundation: Foundation,
  suspensions: Suspensions,
  sources: readonly Source[],
  table: () => SourceTable,
  setup: ReplicaSetup | undefined,
  version: string,
): ReplicaParts {
  const { candidacy } = foundation;
  if (candidacy === undefined || setup === undefined) {
    return {
      intake: createSuspendableIntake(createSoleIntake(foundation, sources), suspensions),
      create: (made, sessions, changed) => {
        changed(true);
        return createSoleReplica({ ...foundation, sources: made, sessions, prepare: foundation.observed.readBranch });
      },
    };
  }
  const isSuspended = (source: string): boolean => suspensions.get('source', source) !== undefined;
  const deps = { ...foundation, candidacy, isSuspended };
  const shared = createSharedSources(deps, sources, (name) => table().get(name)?.condition.state === 'synced');
  suspensions.onChange(shared.changed);
  return {
    intake: shared.own,
    create: (made, sessions, changed) =>
      createSharedReplica(
        {
          ...deps,
          ...{ sources: made, sessions, shared, judgement: createJudgement(foundation, changed) },
          staged: stagedReadings(foundation.records),
        },
        { ...setup, version, engine: setup.engine ?? ENGINE_GENERATION },
      ),
  };
}

/** The maps of the clusters that the ledger has staged. */
function stagedReadings({ readings, registrations }: LedgerRecords): ReadonlyMap<string, ClusterReadings> {
  return new Map([...readings].map(([cluster, read]) => [cluster, validReadings(read, registrations.has(cluster))]));
}

const FLUSH_MS = 2_000;

function createJudgement(
  { engine, store, journal, fleet, approvals, windows, deadlines, observed, log }: Foundation,
  changed: (leads: boolean) => void,
): Judgement {
  const { heldRemovals, approvalOutcomes, ledger } = engine.inputs;
  const recorded = recordedInputs(engine, fleet);
  return {
    changed,
    mayLeave: windows.mayLeave,
    prepare: observed.readBranch,
    load: async () => {
      // The store may have been lost since the last turn, and lack what this replica has judged in it.
      if (!(await journal.flush(FLUSH_MS))) throw new Error('the store cannot be written');
      const records = await readLeaderRecords(store, log);
      const permitted = await readRemovalPermits(store);
      return () => {
        approvals.load(records.approvals);
        windows.load(records.windows);
        deadlines.load(records.elapsed);
        observed.load(records.observed);
        // Removals that an earlier leader has permitted and may not have counted: a counted one is not in the record.
        for (const [cluster, keys] of permitted) windows.mayLeave(cluster, keys);
        joinContenders(engine, fleet, records.contenders);
        recorded.approvalOutcomes.load(records.approvalOutcomes);
        loadHolds({ engine, fleet }, records.held, (cluster, key) => ledger.get(cluster, key) !== undefined);
      };
    },
    unload: () => {
      approvals.unload();
      windows.unload();
      approvalOutcomes.drop('');
      for (const cluster of [...heldRemovals.partitions()]) heldRemovals.drop(cluster);
    },
    declarations: async () => {
      const declared = await readDeclarations(store, log);
      // The record is newer than what this replica had noted; if it is not, the recorder writes it again.
      return () => recorded.lastKnownGood.load(declared);
    },
  };
}
