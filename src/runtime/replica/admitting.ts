import type { FleetSettings } from '../../engine/inputs.ts';
import { comparePositions } from '../../model/fleet/output.ts';
import type { ServerCore } from '../core.ts';
import type { Deadlines } from '../deadlines.ts';
import type { ServerBus } from '../events.ts';
import { loadHolds } from '../ledger/ledger.ts';
import { joinContenders } from '../ledger/recorders.ts';
import { isLeaderRecord, readDeclarations, readLeaderRecords, recordedInputs } from '../ledger/records.ts';
import type { ApprovalOutcomes } from '../removals/approval-files.ts';
import type { Approvals } from '../removals/approvals.ts';
import type { Windows } from '../removals/windows.ts';
import { createSingleFlight } from '../single-flight.ts';
import type { ObservedStatuses } from '../status/observed-statuses.ts';
import type { AdmissionCounter, AdmissionRecord } from './admission.ts';
import type { Candidacy } from './candidacy.ts';
import type { OwnTurn } from './own-turn.ts';
import type { Publisher } from './publisher.ts';
import { type RemovalPermits, readRemovalPermits } from './removal-permits.ts';
import type { FollowedTrees, OwnSources, StagedSources } from './sources.ts';

interface AdmittingDeps extends Pick<ServerCore, 'engine' | 'loop' | 'clock' | 'log'> {
  readonly staged: StagedSources;
  readonly own: OwnSources;
  readonly followed: FollowedTrees;
  readonly publisher: Publisher;
  readonly counter: AdmissionCounter;
  readonly candidacy: Pick<Candidacy, 'turn' | 'guard'>;
  readonly ownTurn: OwnTurn;
  readonly judgement: Judgement;
  readonly events: ServerBus;
  readonly permits: RemovalPermits;
  /** Tells the counter what other replicas have admitted and what their agents state. */
  readonly noteOthers: () => void;
}

/** Follows the admissions of the leader; admits while this replica leads itself. */
export function createAdmitting(deps: AdmittingDeps, options: { readonly needsStore: boolean }) {
  const { loop, staged, own, followed, publisher, counter, candidacy, ownTurn, judgement, permits, events } = deps;
  const { turn } = candidacy;
  const { begun } = ownTurn;
  const judging = createJudging(deps);

  const end = (): void => {
    if (begun() !== undefined) publisher.end();
    ownTurn.begin(undefined);
    judging.end();
  };
  /** Commits the admission in the store. True: files of it are missing at the moment. Rejects if the store does not answer. */
  const follow = async (): Promise<boolean> => {
    const record = await followed.peek();
    const current = staged.record();
    if (record === undefined) return false;
    const isStaged = current !== undefined && comparePositions(record.position, current.position) <= 0;
    // Another call may have staged it just now.
    if (isStaged) return loop.settled().then(() => false);
    const changes = await followed.read(record);
    if (changes === undefined) return true;
    const stageDeclarations = await judgement.declarations();
    // Another call was quicker: these changes do not start from what is staged now.
    if (staged.record() !== current) return follow();
    await staged.enter(record, changes, () => {
      stageDeclarations();
      permits.stageNone();
    });
    events.emit('admitted');
    return false;
  };
  const begin = async (now: number): Promise<boolean> => {
    const prepared = judgement.prepare();
    try {
      await follow();
      noteStored(deps, await followed.peek());
      await followed.reread(own.all().map(({ source }) => source.name));
    } catch (error) {
      if (options.needsStore) throw error;
    }
    await prepared;
    if (turn() !== now) return false;
    // The store may be an older copy, or earlier leaders may have admitted without it.
    counter.planEpoch(deps.clock.now());
    publisher.begin(candidacy.guard);
    ownTurn.begin(now);
    return true;
  };
  const task = createSingleFlight(deps, 'admitting what the sources have read', async () => {
    const now = turn();
    if (now !== begun()) end();
    if (now === undefined) return follow();
    if (begun() === undefined && !(await begin(now))) return true;
    // Also during the turn.
    deps.noteOthers();
    const before = counter.current();
    const again = await publisher.run();
    if (comparePositions(before, counter.current()) !== 0) events.emit('admitted');
    if (begun() === now && !ownTurn.judges()) await judging.begin(() => begun() === now && turn() === now);
    return again;
  });

  return {
    follow,
    /** The store, a source or the leader may have changed. */
    wake: (): void => {
      // The turn ends at once: the task may be waiting for a store that does not answer.
      if (ownTurn.isOver()) end();
      else publisher.reconsider();
      task.wake();
    },
    stop: async (): Promise<void> => {
      await task.stop();
      end();
    },
  };
}

/** The part of a turn in which this replica judges removals. */
function createJudging({ engine, loop, ownTurn, judgement, permits, events }: AdmittingDeps) {
  /**
   * Stages whether this process judges removals. Commits at once: a turn can end at any moment, and no event may come between
   * the role and what is judged by it.
   */
  const setRole = (role: FleetSettings['role']): void => {
    loop.settle();
    const settings = engine.inputs.fleet.get('', '');
    if (settings !== undefined && settings.role !== role) {
      loop.transact(() => engine.inputs.fleet.set('', '', { ...settings, role }));
    }
    loop.settle();
  };
  let isUnloading = false;
  /** If a commit fails, the turn still ends: nothing is sent before a later call has succeeded. */
  const unload = (): void => {
    isUnloading = true;
    // Becoming a follower commits what is staged: that was judged in the turn that is over.
    ownTurn.set('ends');
    try {
      // First: a judge without the held removals and the windows would let them pass.
      setRole('follower');
      loop.transact(judgement.unload);
      ownTurn.set('follows');
    } finally {
      isUnloading = false;
    }
  };
  return {
    begin: async (hasTurn: () => boolean): Promise<void> => {
      await permits.begin();
      const stage = await judgement.load();
      if (!hasTurn()) return unload();
      loop.transact(() => {
        stage();
        permits.stageNone();
      });
      setRole('leader');
      if (!hasTurn()) return unload();
      ownTurn.set('judges');
      events.emit('turn', true);
      // Writes the permits that the followers wait for, also if nothing else changes.
      loop.transact(() => undefined);
    },
    end: (): void => {
      if (isUnloading || !(ownTurn.judges() || ownTurn.isOver())) return;
      unload();
      events.emit('turn', false);
    },
  };
}

/** The admissions of the turn come after the one in the store, and after one that the store has lost. */
function noteStored({ counter, staged }: AdmittingDeps, stored: AdmissionRecord | undefined): void {
  const own = staged.record()?.position;
  if (stored !== undefined) counter.seen(stored.position);
  if (own === undefined) return;
  // The store was lost, and other replicas may have admitted more than this one knows.
  if (stored === undefined) counter.seen({ epoch: counter.current().epoch + 1, sequence: 0 });
  // It was admitted without the store, or the turn ended before it was written: the other replicas wait for it.
  else if (comparePositions(stored.position, own) < 0) counter.seen(counter.next());
}

interface JudgementDeps extends ServerCore {
  readonly approvals: Approvals;
  readonly outcomes: ApprovalOutcomes;
  readonly windows: Windows;
  readonly deadlines: Deadlines;
  readonly observed: ObservedStatuses;
  readonly candidacy: Pick<Candidacy, 'fleet'>;
}

const FLUSH_MS = 2_000;

export type Judgement = ReturnType<typeof createJudgement>;

/** The records that only the judge of removals knows. */
export function createJudgement(deps: JudgementDeps) {
  const { engine, store, journal, candidacy, approvals, outcomes, windows, deadlines, observed, log } = deps;
  const { heldRemovals, ledger } = engine.inputs;
  const { fleet } = candidacy;
  const recorded = recordedInputs(engine, fleet);
  const flush = async (): Promise<void> => {
    if (!(await journal.flush(FLUSH_MS))) throw new Error('the store cannot be written');
  };
  /** Reads what this replica has judged in its last turn as well, unless another one has led since. */
  const read = async () => {
    // The store may have been lost since then, and lack it.
    await flush();
    const records = await readLeaderRecords(store, log);
    // It may also have lost single records, of which no process is notified.
    if (!fleet.rewriteMissing(records.keys, isLeaderRecord)) return records;
    await flush();
    return readLeaderRecords(store, log);
  };
  return {
    mayLeave: windows.mayLeave,
    /** A turn begins: reads from the status branch what the store may lack. Takes some seconds at most, and never rejects. */
    prepare: observed.readBranch,
    /** Reads what was held and approved; the result stages it. Rejects if the store does not answer. */
    load: async (): Promise<() => void> => {
      const records = await read();
      const permitted = await readRemovalPermits(store);
      return () => {
        approvals.load(records.approvals);
        windows.load(records.windows);
        deadlines.load(records.elapsed);
        observed.load(records.observed);
        // Removals that an earlier leader has permitted and may not have counted: a counted one is not in the record.
        for (const [cluster, { removals, withdrawn }] of permitted) windows.mayLeave(cluster, removals, withdrawn);
        joinContenders(engine, fleet, records.contenders);
        outcomes.load(records.approvalOutcomes);
        loadHolds({ engine, fleet }, records.held, (cluster, key) => ledger.get(cluster, key) !== undefined);
      };
    },
    /** Stages that nothing is held or approved. */
    unload: (): void => {
      approvals.unload();
      windows.unload();
      for (const cluster of [...heldRemovals.partitions()]) heldRemovals.drop(cluster);
    },
    /** Reads the declarations as last known good; the result stages them. */
    declarations: async (): Promise<() => void> => {
      const declared = await readDeclarations(store, log);
      // If a record is older than what this replica had noted, the recorder writes it again.
      return () => recorded.lastKnownGood.load(declared);
    },
  };
}
