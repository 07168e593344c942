import { createGraph } from '../../../src/engine/collections/graph.ts';
import type { Input } from '../../../src/engine/collections/types.ts';
import { type Deadline, hasPassed, joinDeadlines } from '../../../src/engine/deadlines.ts';
import type { Clock } from '../../../src/ports/clock.ts';
import { createDeadlines, type Deadlines, type DeadlinesDeps } from '../../../src/runtime/deadlines.ts';
import { isLeaderRecord, readLeaderRecords } from '../../../src/runtime/ledger/records.ts';
import { createLoop } from '../../../src/runtime/loop.ts';
import { createReplicatedRecords, replicatedInputs } from '../../../src/runtime/replica/replicated-records.ts';
import { createJournal } from '../../../src/runtime/stored/journal.ts';
import { createSharedMemory, type SharedMemoryStore } from '../../support/shared-memory-store.ts';
import { silentLog } from '../../support/silent-log.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';

/** What happens to a small fleet of processes that judge deadlines over one store. */
export type Step =
  /** `crash`: this process is killed then, before it can write what it has just judged. */
  | { readonly type: 'wait'; readonly milliseconds: number; readonly crash?: number }
  | { readonly type: 'set'; readonly key: string; readonly inSeconds: number }
  | { readonly type: 'delete'; readonly key: string }
  /** The wall clock of all processes is put back. */
  | { readonly type: 'back'; readonly seconds: number }
  | { readonly type: 'lead'; readonly process: number };

/** A fault that a law must catch. */
export interface Fault {
  deps?(deps: DeadlinesDeps): DeadlinesDeps;
  deadlines?(deadlines: Deadlines): Deadlines;
}

export interface DeadlineFleet {
  play(step: Step): Promise<void>;
  /** Whole seconds since 1970. */
  now(): number;
  /** What each process has computed, and which moments are staged there. */
  states(): readonly FleetState[];
  /** The moments that are in the store. */
  stored(): Promise<FleetState['elapsed']>;
  /** Called after each settled commit of each process. */
  onSettled: (state: FleetState) => void;
}

export interface FleetState {
  /** `late KEY`: its moment has passed; `very late KEY`: five seconds more. The value is the moment. */
  readonly outputs: Readonly<Record<string, number>>;
  readonly elapsed: Readonly<Record<string, number>>;
}

/** How long after the first moment the second one is that follows from it. */
export const LATER_SECONDS = 5;
/** After each step; long enough to write to the store and to receive the notification. */
const SETTLE_MS = 200;

/** Two providers: the second one has a deadline as soon as the first one's has passed. */
function createLateness() {
  const graph = createGraph();
  const subjects = graph.input<number>('subjects');
  const elapsed = graph.input<number>('elapsed');
  const first = graph.derive<number, Deadline>({
    name: 'first',
    from: subjects,
    compute: ({ key, value: at }, _read, emit) => emit('first', key, { at }),
  });
  const second = graph.derive<number, Deadline>({
    name: 'second',
    from: subjects,
    reads: [elapsed],
    compute: ({ key, value: at }, read, emit) => {
      if (hasPassed(read, elapsed, 'first', key, at)) emit('second', key, { at: at + LATER_SECONDS });
    },
  });
  const outputs = graph.derive<number, number>({
    name: 'outputs',
    from: subjects,
    reads: [elapsed],
    compute: ({ key, value: at }, read, emit) => {
      if (!hasPassed(read, elapsed, 'first', key, at)) return;
      emit('', `late ${key}`, at);
      const later = at + LATER_SECONDS;
      if (hasPassed(read, elapsed, 'second', key, later)) emit('', `very late ${key}`, later);
    },
  });
  return { graph, subjects, elapsed, deadlines: joinDeadlines(graph, [first, second]), outputs };
}

export async function createDeadlineFleet(size: number, fault: Fault = {}): Promise<DeadlineFleet> {
  const time = createVirtualClock();
  const memory = createSharedMemory();
  const reader = memory.open();
  const subjects = new Map<string, number>();
  let offsetMs = 0;
  const clock: VirtualClock = { ...time, now: () => time.now() + offsetMs };
  const now = (): number => Math.floor(clock.now() / 1000);
  const settle = async (): Promise<void> => {
    await time.advance(SETTLE_MS);
    // What has passed at the last whole second may be on its way still.
    await time.advance(Math.max(0, SETTLE_MS - (clock.now() % 1000)));
  };
  const fleet: DeadlineFleet = {
    now,
    states: () => processes.map((process) => process.state()),
    stored: async () => {
      const { elapsed } = await readLeaderRecords(reader, silentLog);
      return allOf({
        partitions: () => elapsed.keys(),
        entries: (partition) =>
          [...(elapsed.get(partition) ?? [])].map(([key, { at: value }]) => ({ partition, key, value })),
      });
    },
    onSettled: () => undefined,
    play: async (step) => {
      switch (step.type) {
        case 'wait':
          await time.advance(step.milliseconds);
          if (step.crash !== undefined) await restart(step.crash % size);
          break;
        case 'set':
          subjects.set(step.key, now() + step.inSeconds);
          for (const process of processes) process.stage(step.key, subjects.get(step.key));
          break;
        case 'delete':
          subjects.delete(step.key);
          for (const process of processes) process.stage(step.key, undefined);
          break;
        case 'back':
          offsetMs -= step.seconds * 1000;
          break;
        case 'lead':
          await lead(step.process % size);
      }
      await settle();
    },
  };
  const start = (index: number): Promise<Process> => {
    const isLeader = (): boolean => leader === index;
    const settled = (state: FleetState): void => fleet.onSettled(state);
    return startProcess({ store: memory.open(), clock, subjects, fault, isLeader, settled });
  };
  const lead = async (index: number): Promise<void> => {
    const before = leader;
    if (before === index) return;
    leader = -1;
    await processes[index]?.beginLeading();
    leader = index;
    processes[index]?.wake();
  };
  const restart = async (index: number): Promise<void> => {
    processes[index]?.kill();
    if (leader === index && size > 1) await lead((index + 1) % size);
    processes[index] = await start(index);
  };
  // The only one leads from its start, and goes on from what it has read then.
  let leader = size === 1 ? 0 : -1;
  const processes: Process[] = [];
  for (let index = 0; index < size; index += 1) processes.push(await start(index));
  await lead(0);
  await settle();
  return fleet;
}

interface Process {
  stage(key: string, at: number | undefined): void;
  state(): FleetState;
  wake(): void;
  /** Reads what the leader before has written. */
  beginLeading(): Promise<void>;
  kill(): void;
}

/** A process with the real loop, journal, deadlines and follower copy. Its source is read a moment after its first commit. */
async function startProcess(given: {
  readonly store: SharedMemoryStore;
  readonly clock: VirtualClock;
  readonly subjects: ReadonlyMap<string, number>;
  readonly fault: Fault;
  readonly isLeader: () => boolean;
  readonly settled: (state: FleetState) => void;
}): Promise<Process> {
  const { store, subjects, fault } = given;
  const log = silentLog;
  const life = { isOver: false };
  const clock = mortal(given.clock, life);
  const lateness = createLateness();
  const { graph, elapsed } = lateness;
  const loop = createLoop({ engine: { advance: graph.advance, graph }, clock, log });
  const journal = createJournal({ store, clock, log });
  // Only the leader writes.
  const check = () => (given.isLeader() ? { key: 'leader' } : undefined);
  const fleet = journal.group({ check, refused: () => undefined });
  let hasRead = false;
  const deps: DeadlinesDeps = {
    ...{ graph, deadlines: lateness.deadlines, elapsed, loop, clock, journal: fleet },
    ...{ isOfProcess: () => false, records: await readLeaderRecords(store, log) },
    role: { leads: given.isLeader, knowsAll: () => hasRead },
  };
  const made = createDeadlines(fault.deps?.(deps) ?? deps);
  const deadlines = fault.deadlines?.(made) ?? made;
  const replicated = createReplicatedRecords({
    ...{ store, leads: given.isLeader, clock, log },
    inputs: replicatedInputs({
      engine: { inputs: { elapsed, observed: graph.input('observed') } },
      ...{ deadlines, observed: { replicate: () => undefined } },
      windows: { followed: { entries: () => [], replicate: () => undefined } },
      approvals: { followed: { replicate: () => undefined } },
      outcomes: { replicate: () => undefined },
    }),
  });
  store.watch((event) => {
    for (const key of event.type === 'changed' ? event.keys : [undefined]) replicated.wake(key);
  });
  const state = (): FleetState => ({ outputs: entriesOf(lateness.outputs, ''), elapsed: allOf(elapsed) });
  loop.addSink('readers', () => given.settled(state()));
  loop.begin();
  loop.transact(() => undefined);
  loop.settle();
  loop.transact(() => {
    for (const [key, at] of subjects) lateness.subjects.set('', key, at);
    hasRead = true;
  });
  loop.settle();
  return {
    state,
    stage: (key, at) =>
      loop.transact(() => {
        if (at === undefined) lateness.subjects.delete('', key);
        else lateness.subjects.set('', key, at);
      }),
    wake: () => {
      fleet.resume();
      loop.transact(() => undefined);
    },
    beginLeading: async () => {
      fleet.forget(isLeaderRecord);
      const { elapsed: records } = await readLeaderRecords(store, log);
      loop.transact(() => deadlines.load(records));
    },
    kill: () => {
      life.isOver = true;
      store.cut('killed');
      journal.stop();
    },
  };
}

/** The clock of a process: nothing happens there once it is over. */
function mortal(clock: Clock, life: { readonly isOver: boolean }): Clock {
  return {
    ...clock,
    sleep: (milliseconds, signal) =>
      new Promise(
        (resolve) => void clock.sleep(milliseconds, signal).then(() => (life.isOver ? undefined : resolve())),
      ),
    schedule: (milliseconds, callback) => clock.schedule(milliseconds, () => (life.isOver ? undefined : callback())),
  };
}

function entriesOf(collection: Pick<Input<number>, 'entries'>, partition: string): Readonly<Record<string, number>> {
  const entries = [...collection.entries(partition)].map(({ key, value }) => [key, value] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function allOf(collection: Pick<Input<number>, 'partitions' | 'entries'>): Readonly<Record<string, number>> {
  const all = [...collection.partitions()]
    .sort()
    .flatMap((partition) =>
      Object.entries(entriesOf(collection, partition)).map(([key, value]) => [`${partition}/${key}`, value] as const),
    );
  return Object.fromEntries(all);
}
