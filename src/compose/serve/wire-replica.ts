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
import { type AdmissionCounter, createAdmissionCounter } from '../../runtime/replica/admission-counter.ts';
import { type Candidacy, createCandidacy } from '../../runtime/replica/candidacy.ts';
import { createConditionedStore } from '../../runtime/replica/conditioned-store.ts';
import { ensureEpoch } from '../../runtime/replica/epoch.ts';
import { ENGINE_GENERATION } from '../../runtime/replica/generation.ts';
import type { Intake } from '../../runtime/replica/intake.ts';
import { ADMISSION_KEY, readAdmission, readJson } from '../../runtime/replica/records.ts';
import type { Replica } from '../../runtime/replica/replica.ts';
import { createSharedSources, type Judgement } from '../../runtime/replica/replica-parts.ts';
import { createSharedReplica } from '../../runtime/replica/shared-replica.ts';
import { createSoleIntake, createSoleReplica } from '../../runtime/replica/sole-replica.ts';
import { openStoreFormat } from '../../runtime/replica/store-format.ts';
import type { StoreLock } from '../../runtime/replica/store-lock.ts';
import { readVerdicts } from '../../runtime/replica/verdicts.ts';
import type { Sessions } from '../../runtime/sessions.ts';
import type { SourceTable } from '../../runtime/source-table.ts';
import { createObservedStatuses, type ObservedStatuses } from '../../runtime/status/observed-statuses.ts';
import type { RecordWriter } from '../../runtime/stored/group.ts';
import { createJournal, type Journal } from '../../runtime/stored/journal.ts';
import { createSuspendableIntake, type Suspensions } from '../../runtime/suspensions.ts';

/** What makes a server one of several that share a store. */
export interface ReplicaSetup {
  /** Of this very process; no other one ever has it. */
  readonly id: string;
  /** Of the fleet's leader, held under that id. */
  readonly lease: FencedLease;
  /** The lease is in the store: without the store nothing new is admitted. */
  readonly needsStore: boolean;
  /** HOST:PORT or URL of this replica's HTTP, for the clients of the others; empty: it says none. */
  readonly advertise: string;
  /** What the engine of this version is to be told from; for tests. */
  readonly engine?: number;
}

/** What everything in a server stands on. */
export interface Foundation {
  readonly engine: Engine;
  readonly loop: Loop;
  readonly store: SnapshotStore;
  readonly journal: Journal;
  /** Writes what belongs to the fleet; of several replicas the leader's words reach the store. */
  readonly fleet: RecordWriter;
  readonly records: LedgerRecords;
  readonly ledger: Ledger;
  readonly approvals: Approvals;
  readonly windows: Windows;
  readonly deadlines: Deadlines;
  readonly observed: ObservedStatuses;
  readonly counter: AdmissionCounter;
  /** Undefined: it is the only server of its fleet. */
  readonly candidacy: Candidacy | undefined;
  /** Of the only server, where others could use its store as well. */
  readonly claim: StoreLock | undefined;
  /** Resolves when this process may use the store no more, and so must end: why, for people. */
  readonly over: Promise<string>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Reads the store. Rejects if that cannot be done. */
export async function layFoundation(
  given: Pick<Foundation, 'engine' | 'loop' | 'store' | 'clock' | 'log' | 'claim'>,
  setup: ReplicaSetup | undefined,
): Promise<Foundation> {
  const over = Promise.withResolvers<string>();
  const { claim, clock, engine, log } = given;
  void claim?.over.then(over.resolve);
  const format = await openStoreFormat(given.store, over.resolve);
  const store = createConditionedStore(given.store, claim === undefined ? [format] : [format, claim]);
  const deps = { ...given, store };
  if (setup !== undefined) await ensureEpoch(store, clock);
  const read = await readRecords(store, log);
  // Of several replicas only the one that judges removals knows what was held and approved.
  const unjudged = { held: new Map(), approvals: new Map(), windows: new Map(), approvalOutcomes: new Map() };
  const records = setup === undefined ? read : { ...read, ...unjudged };
  const journal = createJournal(deps);
  const candidacy = setup === undefined ? undefined : createCandidacy({ ...deps, ...setup, journal }, setup.id);
  void over.promise.then(() => {
    journal.stop();
    // The lease is given back at once: another one leads before this one has ended.
    return candidacy?.stop();
  });
  const fleet = candidacy?.fleet ?? journal;
  const core = { ...deps, journal, fleet, records };
  const ledger = createLedger(core, { ownsAll: setup === undefined });
  if (ledger.wasLost) log.info('the store is new', { epoch: ledger.epoch() });
  const stored = setup === undefined ? readAdmission((await readJson(store, ADMISSION_KEY)).value) : undefined;
  return {
    ...core,
    ...{ ledger, candidacy, over: over.promise },
    approvals: createApprovals(core),
    windows: createWindows({ ...core, ledger }),
    observed: createObservedStatuses({ ...deps, journal: fleet, records }),
    deadlines: createDeadlines({
      ...{ ...deps, graph: engine.graph, deadlines: engine.deadlines, elapsed: engine.inputs.elapsed },
      ...{ journal: fleet, records, isOfProcess: (owner) => owner === SAFE_START },
    }),
    counter: createAdmissionCounter(ledger.epoch(), stored),
  };
}

/** What this process is among the servers of its fleet, in two steps: where its sources lead, then all else. */
export interface ReplicaParts {
  readonly intake: Intake;
  /** `changed`: it leads now, or no more. */
  create(sources: SourceTable, sessions: Sessions, changed: (leads: boolean) => void): Replica;
}

/** `table`: what becomes of the sources; it is asked later only. */
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
        return createSoleReplica({ ...foundation, sources: made, sessions });
      },
    };
  }
  const isSuspended = (source: string): boolean => suspensions.get('source', source) !== undefined;
  const deps = { ...foundation, candidacy, isSuspended };
  const shared = createSharedSources(deps, sources, table);
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

/** What the ledger has staged of the clusters' maps. */
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
    load: async () => {
      // What this replica has judged in its last turn may be missing from a store that was lost since.
      if (!(await journal.flush(FLUSH_MS))) throw new Error('the store cannot be written');
      const records = await readLeaderRecords(store, log);
      const passed = await readVerdicts(store);
      return () => {
        approvals.load(records.approvals);
        windows.load(records.windows);
        deadlines.load(records.elapsed);
        observed.load(records.observed);
        // An earlier leader may not have lived to count what left at its word; what it has counted is not in its verdicts.
        for (const [cluster, keys] of passed) windows.mayLeave(cluster, keys);
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
