import { OF_PROCESS } from '../../engine/deadlines.ts';
import type { FencedLease } from '../../ports/lease.ts';
import type { Source } from '../../ports/source.ts';
import { attemptRecords } from '../../runtime/attempts.ts';
import { createBus } from '../../runtime/bus.ts';
import type { ServerCore } from '../../runtime/core.ts';
import { createDeadlines } from '../../runtime/deadlines.ts';
import type { ServerEvents } from '../../runtime/events.ts';
import { createHistory } from '../../runtime/history/history.ts';
import { createLedger } from '../../runtime/ledger/ledger.ts';
import { readRecords } from '../../runtime/ledger/records.ts';
import { refusalRecords } from '../../runtime/refused-agents.ts';
import { createApprovalOutcomes } from '../../runtime/removals/approval-files.ts';
import { createApprovals } from '../../runtime/removals/approvals.ts';
import { createWindows } from '../../runtime/removals/windows.ts';
import { ADMISSION_KEY, createAdmissionCounter, parsePosition } from '../../runtime/replica/admission.ts';
import { createCandidacy } from '../../runtime/replica/candidacy.ts';
import { createConditionedStore, openStoreFormat } from '../../runtime/replica/conditioned-store.ts';
import { agreeOnEpoch } from '../../runtime/replica/epoch.ts';
import { createOwnTurn } from '../../runtime/replica/own-turn.ts';
import type { StoreLock } from '../../runtime/replica/store-lock.ts';
import { createObservedStatuses, type StatusBranch } from '../../runtime/status/observed-statuses.ts';
import { createJournal } from '../../runtime/stored/journal.ts';
import { readJson } from '../../runtime/stored/json-record.ts';
import { createSuspensions } from '../../runtime/suspensions.ts';
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

interface Ground extends Pick<ServerCore, 'engine' | 'loop' | 'store' | 'clock' | 'log'> {
  /** Set for the only server if others could use its store. */
  readonly lock: StoreLock | undefined;
  readonly domains: readonly ServedDomain[];
  /** As configured. */
  readonly sources: readonly Source[];
}

/**
 * Reads the store, and makes the parts of a server that all others use. Rejects if the store does not answer, or a newer
 * version has written it.
 */
export async function layFoundation(ground: Ground, setup: ReplicaSetup | undefined, branch: StatusBranch | undefined) {
  const { engine, loop, clock, log, lock, sources } = ground;
  const { records: ofDomains, rules } = declaredByDomains(ground.domains);
  const { store, over } = await openConditionedStore(ground);
  const deps = { engine, loop, store, clock, log, events: createBus<ServerEvents>({ log }) };
  if (setup !== undefined) await agreeOnEpoch(store, clock.now());
  const read = await readRecords(store, log, [attemptRecords, refusalRecords, ...ofDomains]);
  // A follower does not judge removals: it loads these records when it begins to.
  const unjudged = { held: new Map(), approvals: new Map(), windows: new Map(), approvalOutcomes: undefined };
  const records = setup === undefined ? read : { ...read, ...unjudged };
  const stored = setup === undefined ? parsePosition((await readJson(store, ADMISSION_KEY)).value) : undefined;
  const journal = createJournal(deps);
  const several = setup && openCandidacy({ ...deps, journal }, setup);
  void over.then(() => {
    journal.stop();
    // The lease is released at once: another replica leads before this one has ended.
    return several?.candidacy.stop();
  });
  const fleet = several?.candidacy.fleet ?? journal;
  const role = {
    leads: several?.ownTurn.leads ?? (() => true),
    knowsAll: () => sources.every(({ name }) => engine.sourceProofs.get('', name) === 'complete'),
  };
  const core = { ...deps, journal, fleet, records, role };
  const ledger = createLedger(core, { ownsAll: setup === undefined });
  if (ledger.wasLost) log.info('the store is new', { epoch: ledger.epoch() });
  const foundation = {
    ...core,
    ledger,
    lock,
    several,
    rules,
    /** Resolves, with a text for people, when this process may not use the store any more and must end. */
    over,
    approvals: createApprovals(core),
    outcomes: createApprovalOutcomes(core),
    windows: createWindows({ ...core, ledger }),
    history: createHistory({ ...core, ledger }),
    observed: createObservedStatuses({ ...core, branch, rules }),
    deadlines: createDeadlines({
      ...core,
      graph: engine.graph,
      deadlines: engine.deadlines,
      elapsed: engine.inputs.elapsed,
      journal: fleet,
      isOfProcess: (owner) => owner === OF_PROCESS,
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

/** The store as this process may use it. `over` resolves when it may not use it any more. */
async function openConditionedStore({ store, lock }: Pick<Ground, 'store' | 'lock'>) {
  const over = Promise.withResolvers<string>();
  void lock?.over.then(over.resolve);
  const format = await openStoreFormat(store, over.resolve);
  return { store: createConditionedStore(store, lock === undefined ? [format] : [format, lock]), over: over.promise };
}

/** What one of several replicas has of the election of their leader. */
function openCandidacy(deps: Omit<Parameters<typeof createCandidacy>[0], 'lease'>, setup: ReplicaSetup) {
  const candidacy = createCandidacy({ ...deps, lease: setup.lease }, setup.id);
  return { setup, candidacy, ownTurn: createOwnTurn(candidacy) };
}
