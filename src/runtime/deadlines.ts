import type { Collection, Graph, Input } from '../engine/collections/types.ts';
import type { Deadline } from '../engine/deadlines.ts';
import type { Clock } from '../ports/clock.ts';
import { createDueQueue, type DueQueue } from './due-queue.ts';
import { createDueTimer } from './due-timer.ts';
import { type LedgerRecords, recordKey } from './ledger/records.ts';
import type { Loop } from './loop.ts';
import type { Replica } from './replica/replica.ts';
import type { RecordWriter } from './stored/group.ts';

export interface DeadlinesDeps {
  readonly graph: Pick<Graph, 'watch'>;
  readonly deadlines: Collection<Deadline>;
  readonly elapsed: Input<number>;
  /** This process alone uses the owner's deadlines: it judges them also as a follower, and writes no records. */
  readonly isOfProcess: (owner: string) => boolean;
  /** The records of the store when this process started. */
  readonly records: Pick<LedgerRecords, 'elapsed'>;
  readonly journal: RecordWriter;
  readonly role: Pick<Replica, 'leads' | 'knowsAll'>;
  readonly loop: Pick<Loop, 'transact' | 'addRecorder' | 'addSink'>;
  readonly clock: Clock;
}

/**
 * Rounds of one settled commit. A passed moment may set another deadline that has passed too, which takes another round. The rest
 * follows in the next commit, because the loop limits its rounds.
 */
const ROUNDS = 4;

export type Deadlines = ReturnType<typeof createDeadlines>;

/**
 * Stages which deadlines of the engine have passed. The leader judges by its clock, and writes each passed moment to the store;
 * other replicas take over its records, and the next leader continues from them. A passed moment stays passed, even if the clock
 * is set back, until its deadline is gone. Adds a recorder and a sink to the loop.
 */
export function createDeadlines(deps: DeadlinesDeps) {
  const { deadlines, isOfProcess, journal, role, loop, clock } = deps;
  const changes = deps.graph.watch(deadlines);
  const passed = createPassed(deps);
  const open = createOpen(deadlines, passed);
  const timer = createDueTimer(clock, () => loop.transact(() => undefined));
  const gone: Address[] = [];
  let hasForgottenOld = false;
  let rounds = 0;

  const judges = (owner: string): boolean => isOfProcess(owner) || role.leads();
  const stagePassed = (): boolean => {
    for (const { partition: owner, key, after } of changes.take()) {
      if (after === undefined) gone.push({ owner, key });
      open.place(owner, key);
    }
    if (rounds === ROUNDS) return false;
    const due = open.takeDue(Math.floor(clock.now() / 1000), judges);
    for (const { owner, key, at } of due) {
      passed.note(owner, key, at);
      passed.write(owner, key);
    }
    if (due.length > 0) rounds += 1;
    return due.length > 0;
  };
  /** Runs after settled commits: a deadline may be absent in one round of bookkeeping and present in the next. */
  const forgetGone = (): void => {
    if (!hasForgottenOld && role.leads() && role.knowsAll()) {
      hasForgottenOld = true;
      // Their deadlines may have ended while no leader ran.
      gone.push(...passed.all());
    }
    const over = gone.splice(0).filter(({ owner, key }) => judges(owner) && deadlines.get(owner, key) === undefined);
    const known = over.filter(({ owner, key }) => passed.forget(owner, key));
    for (const { owner, key } of known) passed.write(owner, key);
    if (known.length > 0) loop.transact(() => undefined);
  };
  /** A turn as leader begins: stages the records of the store, and writes those that the store lacks. */
  const load = (records: LedgerRecords['elapsed']): void => {
    hasForgottenOld = false;
    for (const [owner, keys] of records) {
      for (const [key, record] of keys) {
        journal.noted(recordKey.elapsed(owner, key), record);
        passed.note(owner, key, record.at);
        open.place(owner, key);
      }
    }
    for (const { owner, key, at } of passed.all()) {
      if (records.get(owner)?.get(key)?.at !== at) passed.write(owner, key);
    }
  };
  load(deps.records.elapsed);
  loop.addRecorder('judgements', stagePassed);
  loop.addSink('readers', () => {
    rounds = 0;
    forgetGone();
    timer.set(open.next(judges) * 1000);
  });

  return {
    load,
    /**
     * The leader's record of this deadline has changed; undefined: the store has no record. Ignored while this replica leads.
     */
    replicate: (owner: string, key: string, at: number | undefined): void => {
      if (judges(owner)) return;
      loop.transact(() => {
        if (at !== undefined) passed.note(owner, key, at);
        // The store may have lost the record alone: then the leader writes it again.
        else if (deadlines.get(owner, key) === undefined) passed.forget(owner, key);
        open.place(owner, key);
      });
    },
    stop: timer.stop,
  };
}

interface Address {
  readonly owner: string;
  readonly key: string;
}

/** The latest passed moment of each deadline, as staged. */
function createPassed({ elapsed, journal, isOfProcess }: DeadlinesDeps) {
  const moments = new Map<string, Address & Deadline>();
  const idOf = (owner: string, key: string): string => `${owner}\u0000${key}`;
  const has = (owner: string, key: string, at: number): boolean =>
    (moments.get(idOf(owner, key))?.at ?? Number.NEGATIVE_INFINITY) >= at;
  return {
    has,
    all: () => [...moments.values()],
    note: (owner: string, key: string, at: number): void => {
      if (has(owner, key, at)) return;
      moments.set(idOf(owner, key), { owner, key, at });
      elapsed.set(owner, key, at);
    },
    /** False: the moment was not known. */
    forget: (owner: string, key: string): boolean => {
      if (!moments.delete(idOf(owner, key))) return false;
      elapsed.delete(owner, key);
      return true;
    },
    /** Writes or deletes the record, unless the deadline concerns this process alone. */
    write: (owner: string, key: string): void => {
      const at = moments.get(idOf(owner, key))?.at;
      if (!isOfProcess(owner)) journal.put(recordKey.elapsed(owner, key), at === undefined ? null : { at });
    },
  };
}

/** The deadlines that have not passed, in the order of their moments. */
function createOpen(deadlines: Collection<Deadline>, passed: Pick<ReturnType<typeof createPassed>, 'has'>) {
  const queues = new Map<string, DueQueue>();
  const judged = (judges: (owner: string) => boolean) => [...queues].filter(([owner]) => judges(owner));
  return {
    /** The deadline may have changed, or its moment may have passed. */
    place: (owner: string, key: string): void => {
      const at = deadlines.get(owner, key)?.at;
      const queue = queues.get(owner) ?? createDueQueue();
      queues.set(owner, queue);
      if (at === undefined || passed.has(owner, key, at)) queue.delete(key);
      else queue.set(key, at);
    },
    takeDue: (now: number, judges: (owner: string) => boolean): readonly (Address & Deadline)[] => {
      const taken: (Address & Deadline)[] = [];
      for (const [owner, queue] of judged(judges)) {
        for (let first = queue.first(); first !== undefined && first.at <= now; first = queue.first()) {
          queue.delete(first.key);
          taken.push({ owner, key: first.key, at: first.at });
        }
      }
      return taken;
    },
    /** The earliest moment, in seconds since 1970; Infinity if there is none. */
    next: (judges: (owner: string) => boolean): number =>
      Math.min(...judged(judges).map(([, queue]) => queue.first()?.at ?? Number.POSITIVE_INFINITY)),
  };
}
