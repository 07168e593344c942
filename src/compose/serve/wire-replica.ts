import { OF_PROCESS } from '../../engine/deadlines.ts';
import type { FencedLease } from '../../ports/lease.ts';
import type { Source } from '../../ports/source.ts';
import { attemptRecords } from '../../runtime/attempts.ts';
import type { ServerCore } from '../../runtime/core.ts';
import { createDeadlines } from '../../runtime/deadlines.ts';
import { createHistory } from '../../runtime/history/history.ts';
import { type ClusterReadings, validReadings } from '../../runtime/ledger/cluster-state.ts';
import { createLedger } from '../../runtime/ledger/ledger.ts';
import { type LedgerRecords, readRecords } from '../../runtime/ledger/records.ts';
import { refusalRecords } from '../../runtime/refused-agents.ts';
import { createApprovalOutcomes } from '../../runtime/removals/approval-files.ts';
import { createApprovals } from '../../runtime/removals/approvals.ts';
import { createWindows } from '../../runtime/removals/windows.ts';
import {
  ADMISSION_KEY,
  createAdmissionCounter,
  ENGINE_GENERATION,
  parsePosition,
} from '../../runtime/replica/admission.ts';
import { createJudgement } from '../../runtime/replica/admitting.ts';
import { createCandidacy } from '../../runtime/replica/candidacy.ts';
import { createConditionedStore, openStoreFormat } from '../../runtime/replica/conditioned-store.ts';
import { agreeOnEpoch } from '../../runtime/replica/epoch.ts';
import type { Replica } from '../../runtime/replica/replica.ts';
import { createSharedReplica } from '../../runtime/replica/shared-replica.ts';
import { createSoleIntake, createSoleReplica } from '../../runtime/replica/sole-replica.ts';
import { createOwnSources, createStagedSources, type Intake } from '../../runtime/replica/sources.ts';
import type { StoreLock } from '../../runtime/replica/store-lock.ts';
import type { Sessions } from '../../runtime/sessions.ts';
import type { SourceTable } from '../../runtime/source-table.ts';
import { createObservedStatuses, type StatusBranch } from '../../runtime/status/observed-statuses.ts';
import { createJournal } from '../../runtime/stored/journal.ts';
import { readJson } from '../../runtime/stored/json-record.ts';
import { createSuspendableIntake, createSuspensions, type Suspensions } from '../../runtime/suspensions.ts';
import { declaredByDomains } from './domain-parts.ts';
import type { ServedDomain } from './server-part.ts';

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
  /** Generation of the engine; default: the generation of this version. For tests. */
  readonly engine?: number;
}

export type Foundation = Awaited<ReturnType<typeof layFoundation>>;

/**
 * Reads the store, and makes the parts of a server that all others use. Rejects if the store does not answer, or a newer
 * version has written it. `lock`: set for the only server if others could use its store.
 */
export async function layFoundation(
  given: Pick<ServerCore, 'engine' | 'loop' | 'store' | 'clock' | 'log'> & {
    readonly lock: StoreLock | undefined;
    readonly domains: readonly ServedDomain[];
  },
  setup: ReplicaSetup | undefined,
  branch: StatusBranch | undefined,
) {
  const over = Promise.withResolvers<string>();
  const { lock, domains, clock, engine, log } = given;
  const { records: ofDomains, rules } = declaredByDomains(domains);
  void lock?.over.then(over.resolve);
  const format = await openStoreFormat(given.store, over.resolve);
  const store = createConditionedStore(given.store, lock === undefined ? [format] : [format, lock]);
  const deps = { ...given, store };
  if (setup !== undefined) await agreeOnEpoch(store, clock.now());
  const read = await readRecords(store, log, [attemptRecords, refusalRecords, ...ofDomains]);
  // A follower does not judge removals: it loads these records when it begins to.
  const unjudged = { held: new Map(), approvals: new Map(), windows: new Map(), approvalOutcomes: undefined };
  const records = setup === undefined ? read : { ...read, ...unjudged };
  const stored = setup === undefined ? parsePosition((await readJson(store, ADMISSION_KEY)).value) : undefined;
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
  const foundation = {
    ...core,
    ...{ ledger, candidacy, rules },
    /** Resolves, with a text for people, when this process may not use the store any more and must end. */
    over: over.promise,
    approvals: createApprovals(core),
    outcomes: createApprovalOutcomes(core),
    windows: createWindows({ ...core, ledger }),
    history: createHistory({ ...core, ledger }),
    observed: createObservedStatuses({ ...core, branch, rules }),
    deadlines: createDeadlines({
      ...{ ...deps, graph: engine.graph, deadlines: engine.deadlines, elapsed: engine.inputs.elapsed },
      ...{ journal: fleet, records, isOfProcess: (owner) => owner === OF_PROCESS },
    }),
    counter: createAdmissionCounter(ledger.epoch(), stored),
  };
  try {
    return { ...foundation, suspensions: await createSuspensions(foundation) };
  } catch (error) {
    // It would try to write to a store that is closed.
    journal.stop();
    throw error;
  }
}

type CreateReplica = (sources: SourceTable, sessions: Sessions, changed: (leads: boolean) => void) => Replica;

/**
 * Makes the replica in two steps: the table of sources needs the intake, and the replica needs the table. `changed` is called
 * when this server begins or ends to lead.
 */
export function createReplicaParts(
  foundation: Foundation,
  suspensions: Suspensions,
  sources: readonly Source[],
  setup: ReplicaSetup | undefined,
  version: string,
): { readonly intake: Intake; readonly create: CreateReplica } {
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
  const staged = createStagedSources(deps);
  const own = createOwnSources(sources, staged);
  suspensions.onChange(own.changed);
  return {
    intake: own,
    create: (made, sessions, changed) =>
      createSharedReplica(
        {
          ...deps,
          ...{ sources: made, sessions, staged, own, judgement: createJudgement(deps, changed) },
          readings: stagedReadings(foundation.records),
        },
        { ...setup, version, engine: setup.engine ?? ENGINE_GENERATION },
      ),
  };
}

/** The maps of the clusters that the ledger has staged. */
function stagedReadings({ readings, registrations }: LedgerRecords): ReadonlyMap<string, ClusterReadings> {
  return new Map([...readings].map(([cluster, read]) => [cluster, validReadings(read, registrations.has(cluster))]));
}
