import { expect, it } from 'vitest';
import { createGraph } from '../../../src/engine/collections/graph.ts';
import type { Graph, Input } from '../../../src/engine/collections/types.ts';
import type { Deadline } from '../../../src/engine/deadlines.ts';
import { createDeadlines, type DeadlinesDeps } from '../../../src/runtime/deadlines.ts';
import type { ElapsedRecord } from '../../../src/runtime/ledger/records.ts';
import { createLoop, type Loop } from '../../../src/runtime/loop.ts';
import { silentLog } from '../../support/silent-log.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const START = 1_000;

interface Given {
  readonly stored?: Readonly<Record<string, number>>;
  readonly wrap?: (deps: DeadlinesDeps) => DeadlinesDeps;
  /** A collection with deadlines, from the subjects (moments by key) and the passed moments. */
  readonly derive?: (graph: Graph, subjects: Input<number>, elapsed: Input<number>) => DeadlinesDeps['deadlines'];
}

/** Deadlines of one process that leads, at second {@link START}, over records that a test sees. */
function createScene({ stored = {}, wrap = (deps) => deps, derive = asTheyAre }: Given = {}) {
  const clock = createVirtualClock(START * 1000);
  const graph = createGraph();
  const subjects = graph.input<number>('subjects');
  const elapsed = graph.input<number>('elapsed');
  const deadlines = derive(graph, subjects, elapsed);
  let commits = 0;
  const committed = (): void => {
    commits += 1;
  };
  const loop: Loop = createLoop({ engine: { advance: graph.advance, graph }, clock, log: silentLog, committed });
  const records = new Map(Object.entries(stored).map(([key, at]) => [`elapsed/${key}`, at]));
  const puts: (readonly [string, number | null])[] = [];
  const journal: DeadlinesDeps['journal'] = {
    put: (key, value) => void puts.push([key, value === null ? null : (value as ElapsedRecord).at]),
    noted: () => undefined,
  };
  const nested = new Map<string, Map<string, ElapsedRecord>>();
  for (const [record, at] of records) {
    const [, owner = '', key = ''] = record.split('/');
    nested.set(owner, (nested.get(owner) ?? new Map()).set(key, { at }));
  }
  const role = { leads: true, knowsAll: true };
  const made = createDeadlines(
    wrap({
      ...{ graph, deadlines, elapsed, journal, loop, clock },
      ...{ isOfProcess: (owner) => owner === 'process', records: { elapsed: nested } },
      role: { leads: () => role.leads, knowsAll: () => role.knowsAll },
    }),
  );
  loop.begin();
  const set = (owner: string, key: string, at: number | null): void => {
    loop.transact(() => (at === null ? subjects.delete(owner, key) : subjects.set(owner, key, at)));
    loop.settle();
  };
  return { clock, loop, elapsed, deadlines: made, role, puts, set, commits: () => commits };
}

function asTheyAre(graph: Graph, subjects: Input<number>): DeadlinesDeps['deadlines'] {
  return graph.derive<number, Deadline>({
    name: 'deadlines',
    from: subjects,
    compute: ({ partition, key, value: at }, _read, emit) => emit(partition, key, { at }),
  });
}

it('a moment passes at its second, and is written', async () => {
  const { clock, set, elapsed, puts } = createScene();
  set('owner', 'x', START + 10);
  await clock.advance(9_999);
  expect(elapsed.get('owner', 'x')).toBeUndefined();
  await clock.advance(1);
  expect(elapsed.get('owner', 'x')).toBe(START + 10);
  expect(puts).toEqual([['elapsed/owner/x', START + 10]]);
});

it('a moment that lies behind has passed in the settled commit that brings it', () => {
  const { set, elapsed } = createScene();
  set('owner', 'x', START);
  expect(elapsed.get('owner', 'x')).toBe(START);
});

it('one timer waits for the earliest moment, and for none that has passed', async () => {
  const { clock, set, elapsed } = createScene();
  for (let index = 0; index < 50; index += 1) set('owner', `x${index}`, START + 20 + index);
  set('other', 'y', START + 30);
  await clock.advance(0);
  expect(clock.waiting()).toBe(1);
  set('owner', 'earlier', START + 5);
  await clock.advance(0);
  expect(clock.waiting()).toBe(1);
  await clock.advance(5_000);
  expect(elapsed.size()).toBe(1);
  expect(clock.waiting()).toBe(1);
  await clock.advance(100_000);
  expect(elapsed.size()).toBe(52);
  expect(clock.waiting()).toBe(0);
});

it('a clock that is put forward while the timer runs is noticed within a minute, without commits until then', async () => {
  let ahead = 0;
  const { clock, set, elapsed, commits } = createScene({
    wrap: (deps) => ({ ...deps, clock: { ...deps.clock, now: () => deps.clock.now() + ahead } }),
  });
  set('owner', 'x', START + 86_400);
  const before = commits();
  await clock.advance(120_000);
  expect(commits()).toBe(before);
  ahead = 86_400_000;
  await clock.advance(60_000);
  expect(elapsed.get('owner', 'x')).toBe(START + 86_400);
});

it('a passed deadline stays passed when the clock is put back, and after a restart then', () => {
  const { set, elapsed, puts } = createScene({ stored: { 'owner/x': START + 500 } });
  set('owner', 'x', START + 500);
  expect(elapsed.get('owner', 'x')).toBe(START + 500);
  set('owner', 'x', START + 501);
  expect(elapsed.get('owner', 'x')).toBe(START + 500);
  expect(puts).toEqual([]);
});

it('a passed deadline is forgotten with its subject', async () => {
  const { clock, set, elapsed, puts } = createScene();
  set('owner', 'x', START);
  set('owner', 'x', null);
  await clock.settle();
  await clock.advance(0);
  expect(elapsed.size()).toBe(0);
  expect(puts.at(-1)).toEqual(['elapsed/owner/x', null]);
});

it('a deadline that is gone for some rounds of a commit alone is not forgotten', async () => {
  const scene = createScene();
  // A recorder brings the deadline back before the commit is settled.
  let bringsBack = false;
  scene.loop.addRecorder('judgements', () => {
    if (!bringsBack) return false;
    bringsBack = false;
    scene.set('owner', 'x', START);
    return true;
  });
  scene.set('owner', 'x', START);
  bringsBack = true;
  scene.set('owner', 'x', null);
  await scene.clock.advance(0);
  expect(scene.elapsed.get('owner', 'x')).toBe(START);
  expect(scene.puts).toEqual([['elapsed/owner/x', START]]);
});

it('deadlines that went while no server was there are forgotten once every source is read, and not before', async () => {
  const { clock, set, role, elapsed, puts } = createScene({ stored: { 'owner/x': START - 5, 'owner/y': START - 4 } });
  role.knowsAll = false;
  set('owner', 'z', START + 100);
  expect(elapsed.size()).toBe(2);
  role.knowsAll = true;
  set('owner', 'y', START - 4);
  await clock.advance(0);
  expect([...elapsed.entries('owner')].map(({ key }) => key)).toEqual(['y']);
  expect(puts).toEqual([['elapsed/owner/x', null]]);
});

it('a follower judges nothing, writes nothing and sets no timer', async () => {
  const { clock, set, role, elapsed, deadlines, puts } = createScene();
  role.leads = false;
  set('owner', 'x', START);
  await clock.advance(1_000);
  expect(elapsed.size()).toBe(0);
  expect(clock.waiting()).toBe(0);
  deadlines.replicate('owner', 'x', START);
  await clock.advance(0);
  expect(elapsed.get('owner', 'x')).toBe(START);
  // An older copy of the store has taken over.
  deadlines.replicate('owner', 'x', START - 1);
  await clock.advance(0);
  expect(elapsed.get('owner', 'x')).toBe(START);
  // The record is missing, the deadline is not: the store may have lost the record.
  deadlines.replicate('owner', 'x', undefined);
  await clock.advance(0);
  expect(elapsed.get('owner', 'x')).toBe(START);
  set('owner', 'x', null);
  deadlines.replicate('owner', 'x', undefined);
  await clock.advance(0);
  expect(elapsed.size()).toBe(0);
  expect(puts).toEqual([]);
});

it('a new leader stages the records of the store, writes the ones that the store lacks, and judges', () => {
  const { set, role, elapsed, deadlines, puts, loop } = createScene();
  set('owner', 'mine', START);
  role.leads = false;
  set('owner', 'x', START - 1);
  set('owner', 'y', START + 100);
  loop.transact(() => deadlines.load(new Map([['owner', new Map([['y', { at: START + 100 }]])]])));
  role.leads = true;
  loop.settle();
  const passed = [...elapsed.entries('owner')].map(({ key, value }) => [key, value]);
  expect(Object.fromEntries(passed)).toEqual({ mine: START, x: START - 1, y: START + 100 });
  expect(puts).toEqual([
    ['elapsed/owner/mine', START],
    ['elapsed/owner/mine', START],
    ['elapsed/owner/x', START - 1],
  ]);
});

it('a follower judges a deadline of its own process, and never writes it', async () => {
  const { clock, set, role, elapsed, puts } = createScene();
  role.leads = false;
  set('process', '', START + 1);
  set('owner', 'x', START);
  await clock.advance(1_000);
  expect(elapsed.get('process', '')).toBe(START + 1);
  expect(elapsed.get('owner', 'x')).toBeUndefined();
  set('process', '', null);
  await clock.advance(0);
  expect(elapsed.size()).toBe(0);
  expect(puts).toEqual([]);
});

it('each moment that passes may set the next one: a hundred that lie behind come to rest', async () => {
  const { clock, set, elapsed } = createScene({
    derive: (graph, subjects, elapsed) =>
      graph.derive<number, Deadline>({
        name: 'deadlines',
        from: subjects,
        reads: [elapsed],
        compute: ({ partition, key, value: first }, read, emit) => {
          const last = read.get(elapsed, partition, key);
          emit(partition, key, { at: last === undefined ? first : last + 10 });
        },
      }),
  });
  set('owner', 'x', START - 990);
  await clock.advance(0);
  expect(elapsed.get('owner', 'x')).toBe(START);
  await clock.advance(9_999);
  expect(elapsed.get('owner', 'x')).toBe(START);
  await clock.advance(1);
  expect(elapsed.get('owner', 'x')).toBe(START + 10);
});

it('a change of one of 100,000 deadlines looks at that one alone', () => {
  const looked: string[] = [];
  let counts = false;
  const { set, elapsed } = createScene({
    wrap: (deps) => {
      const noted = <Result>(what: string, look: () => Result): Result => {
        if (counts) looked.push(what);
        return look();
      };
      const { deadlines, elapsed: passed } = deps;
      return {
        ...deps,
        graph: { watch: () => deps.graph.watch(deadlines) as never },
        deadlines: {
          ...deadlines,
          get: (owner, key) => noted(key, () => deadlines.get(owner, key)),
          entries: (owner) => noted('all', () => deadlines.entries(owner)),
          partitions: () => noted('all', () => deadlines.partitions()),
        },
        elapsed: { ...passed, entries: (owner) => noted('all', () => passed.entries(owner)) },
      };
    },
    derive: (graph, subjects) =>
      graph.derive<number, Deadline>({
        name: 'deadlines',
        from: subjects,
        compute: ({ partition, key, value: at }, _read, emit) => {
          if (key !== 'many') return emit(partition, key, { at });
          for (let index = 0; index < 100_000; index += 1) emit(partition, `x${index}`, { at: at + (index % 1_000) });
        },
      }),
  });
  set('owner', 'many', START - 499);
  expect(elapsed.size()).toBe(50_000);
  counts = true;
  set('owner', 'one', START + 10);
  set('owner', 'one', START);
  expect(new Set(looked)).toEqual(new Set(['one']));
  expect(looked.length).toBeLessThan(10);
});
