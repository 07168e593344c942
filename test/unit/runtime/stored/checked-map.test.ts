import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createMemoryStore } from '../../../../src/adapters/stores/memory.ts';
import { createSqliteStore } from '../../../../src/adapters/stores/sqlite.ts';
import type { JsonValue } from '../../../../src/model/text/json.ts';
import type { SnapshotStore, StoredRecord } from '../../../../src/ports/snapshot-store.ts';
import { createMapState, type MapWriter } from '../../../../src/runtime/stored/map-writer.ts';
import { atOneMoment, readMap } from '../../../../src/runtime/stored/read-map.ts';
import { changesBetween, type StoredMap } from '../../../../src/runtime/stored/stored-map.ts';
import { isLong } from '../../../support/long.ts';
import { codec, contentOf, dyingStore, journalOn, keysOf, read } from '../../../support/stored-maps.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';

const big = (seed: string): JsonValue => seed.repeat(1) + randomBytes(400 * 1024).toString('base64');
const many = (count: number, text: string | (() => string)): [string, JsonValue][] =>
  Array.from({ length: count }, (_, number) => [
    `key-${number}`,
    { number, text: typeof text === 'string' ? text : text() },
  ]);

const stores: Record<string, () => Promise<SnapshotStore>> = {
  memory: async () => createMemoryStore(),
  sqlite: () => createSqliteStore(join(mkdtempSync(join(tmpdir(), 'stored-')), 'store.db')),
};

describe.each(Object.entries(stores))('a checked map in a store of %s', (_name, make) => {
  it('is read as written, also if it is empty, and is missing before the write and after the drop', async () => {
    const [store, clock] = [await make(), createVirtualClock()];
    const writer = journalOn(store, clock).group().map('m', codec);
    expect((await read(store, 'm')).type).toBe('missing');
    writer.setMeta({ since: 1 });
    await clock.advance(100);
    const empty = await read(store, 'm');
    expect(empty.type === 'complete' && [empty.map.values.size, empty.map.meta]).toEqual([0, { since: 1 }]);
    writer.set('a', { x: [1, null, 'é\u{1f600}'] });
    writer.set('__proto__', 'odd');
    writer.set('b', big('b'));
    await clock.advance(100);
    const full = await read(store, 'm');
    expect(full.type === 'complete' && full.map.values.get('a')).toEqual({ x: [1, null, 'é\u{1f600}'] });
    expect(full.type === 'complete' && full.map.values.get('__proto__')).toBe('odd');
    expect(full.type === 'complete' && full.map.values.size).toBe(3);
    writer.drop();
    await clock.advance(100);
    expect(await keysOf(store)).toEqual([]);
    await store.close();
  });

  it('leaves no record behind of a change that is undone before its manifest is written', async () => {
    const [store, clock] = [await make(), createVirtualClock()];
    const group = journalOn(store, clock).group();
    const [writer, other] = [group.map('m', codec), group.map('other', codec)];
    writer.set('a', 'one');
    await clock.advance(100);
    const before = await keysOf(store);
    // The manifests of a group are written when all of its buckets are, and the other map has many.
    writer.set('a', 'two');
    other.replaceAll(many(40, () => randomBytes(100 * 1024).toString('base64')));
    const { write } = store;
    store.write = (writes) => {
      store.write = write;
      writer.set('a', 'one');
      return write(writes);
    };
    await clock.advance(1_000);
    expect((await keysOf(store)).filter((key) => key.startsWith('m'))).toEqual(before);
    await store.close();
  });

  it('of ten thousand values is written in bounded batches, the manifest last; later writes cost what changes', async () => {
    const [store, clock] = [await make(), createVirtualClock()];
    const watched = dyingStore(store, Number.MAX_SAFE_INTEGER, 'after');
    const writer = journalOn(watched, clock).group().map('m', codec);
    const values = many(10_000, () => randomBytes(300).toString('base64'));
    writer.replaceAll(values);
    await clock.advance(1_000);
    expect(watched.batches.flatMap((batch, index) => (batch.some(({ key }) => key === 'm') ? [index] : []))).toEqual([
      watched.batches.length - 1,
    ]);
    expect(Math.max(...watched.batches.map((batch) => batch.length))).toBeLessThanOrEqual(1_100);
    expect(watched.batches.length).toBeGreaterThan(1);
    const before = watched.writes();
    writer.replaceAll(values);
    for (const [key, value] of values) writer.set(key, structuredClone(value));
    await clock.advance(1_000);
    expect(watched.writes()).toBe(before);
    writer.set('key-77', 'new');
    await clock.advance(1_000);
    expect(watched.batches.at(-1)?.length).toBe(3);
    expect((await contentOf(store, 'm'))?.['key-77']).toBe('new');
    await store.close();
  });
});

describe('reading again', () => {
  it('reads changed buckets only, and returns the changes', async () => {
    const [store, clock] = [createMemoryStore(), createVirtualClock()];
    const writer = journalOn(store, clock).group().map('m', codec);
    writer.replaceAll(many(1_000, 'x'));
    await clock.advance(100);
    const first = await read(store, 'm');
    if (first.type !== 'complete') throw new Error(first.type);
    writer.set('key-5', 'changed');
    writer.set('key-6', null);
    await clock.advance(100);
    const asked: string[] = [];
    const counting: SnapshotStore = {
      ...store,
      get: (key) => {
        asked.push(key);
        return store.get(key);
      },
      list: () => {
        throw new Error('everything was listed');
      },
    };
    const second = await readMap(counting, 'm', codec, first.map);
    expect(asked.length).toBeLessThanOrEqual(3);
    if (second.type !== 'complete') throw new Error(second.type);
    const changes = changesBetween(first.map, second.map);
    expect(Object.fromEntries(changes)).toEqual({ 'key-5': 'changed', 'key-6': null });
    expect(second.map.values.size).toBe(999);
    expect(second.map.sequence).toBeGreaterThan(first.map.sequence);
  });

  it('has as many buckets as suit the length of the values, and returns the changes also when their number changes', async () => {
    const [store, clock] = [createMemoryStore(), createVirtualClock()];
    const writer = journalOn(store, clock).group().map('m', codec);
    const readAfter = async (before?: StoredMap, change?: () => void) => {
      change?.();
      await clock.advance(1_000);
      const reading = await readMap(store, 'm', codec, before);
      if (reading.type !== 'complete') throw new Error(reading.type);
      return reading.map;
    };
    const few = await readAfter(undefined, () => writer.set('key-1', 'first'));
    expect(few.width).toBe(1);
    const values = many(2_000, 'x'.repeat(100));
    const more = await readAfter(few, () => {
      for (const [key, value] of values) writer.set(key, value);
    });
    expect([more.width, more.buckets.size]).toEqual([16, 16]);
    expect(changesBetween(few, more).size).toBe(2_000);
    expect(Object.fromEntries(more.values)).toEqual(Object.fromEntries(values));
    const big = await readAfter(more, () => writer.set('big', 'y'.repeat(400 * 1024)));
    expect(big.width).toBe(64);
    expect([...changesBetween(more, big).keys()]).toEqual(['big']);
    const last = await readAfter(big, () => writer.replaceAll([['key-7', 'last']]));
    expect([last.width, (await keysOf(store, 'm/')).length]).toEqual([1, 1]);
    expect(changesBetween(big, last).size).toBe(2_001);
    expect(changesBetween(big, last).get('key-7')).toBe('last');
  });

  it('returns a complete map although it changes meanwhile', async () => {
    const [store, clock] = [createMemoryStore(), createVirtualClock()];
    const writer = journalOn(store, clock).group().map('m', codec);
    writer.replaceAll(many(50, 'x'));
    await clock.advance(100);
    let turn = 0;
    const moving: SnapshotStore = {
      ...store,
      list: async function* (prefix) {
        if (turn++ < 3) {
          writer.replaceAll(many(50, `turn ${turn}`));
          await clock.advance(100);
        }
        yield* store.list(prefix);
      },
    };
    const reading = await read(moving, 'm');
    expect(reading.type === 'complete' && reading.map.values.get('key-1')).toEqual({ number: 1, text: 'turn 3' });
  });
});

it('maps of one group that are read together are consistent although they change meanwhile', async () => {
  const [store, clock] = [createMemoryStore(), createVirtualClock()];
  const group = journalOn(store, clock).group();
  const writers = ['a', 'b'].map((name) => group.map(name, codec));
  const setBoth = async (value: number): Promise<void> => {
    for (const writer of writers) writer.set('value', value);
    await clock.advance(100);
  };
  await setBoth(0);
  let changes = 0;
  const readBoth = async () => {
    const a = await contentOf(store, 'a');
    if (changes < 3) await setBoth(++changes);
    return [a, await contentOf(store, 'b')];
  };
  expect(await atOneMoment(store, ['a', 'b'], readBoth)).toEqual([{ value: 3 }, { value: 3 }]);
  changes = -1_000;
  await expect(atOneMoment(store, ['a', 'b'], readBoth)).rejects.toThrow('faster');
});

describe('damage', () => {
  it('of any byte of any record, or a missing record, is detected', async () => {
    const [store, clock] = [createMemoryStore(), createVirtualClock()];
    const writer = journalOn(store, clock).group().map('m', codec);
    writer.replaceAll([...many(40, 'some text that repeats, some text that repeats'), ['big', big('')]]);
    await clock.advance(500);
    const complete = await contentOf(store, 'm');
    const records: StoredRecord[] = [];
    for await (const record of store.list('')) records.push(record);
    expect(records.length).toBeGreaterThan(30);
    await fc.assert(
      fc.asyncProperty(fc.nat(records.length - 1), fc.nat(), fc.nat(8), async (index, place, bit) => {
        const record = records[index];
        if (record === undefined) return;
        const { key, value } = record;
        const damaged = Uint8Array.from(value);
        const at = place % damaged.length;
        damaged[at] = (damaged[at] ?? 0) ^ (1 << bit);
        await store.write([{ key, value: bit === 8 ? null : damaged }]);
        const reading = await read(store, 'm');
        // A manifest may be spelled otherwise in white space only: then it says the same.
        if (reading.type === 'complete') expect(Object.fromEntries([...reading.map.values].sort())).toEqual(complete);
        else if (bit === 8) expect(reading.type).toBe(key === 'm' ? 'missing' : 'damaged');
        await store.write([{ key, value }]);
      }),
      { numRuns: 300 },
    );
  });

  it('is detected in a record that was copied from another cluster, or from another state', async () => {
    const [store, clock] = [createMemoryStore(), createVirtualClock()];
    const group = journalOn(store, clock).group();
    group.map('m', codec).set('a', 1);
    await clock.advance(100);
    const manifest = await store.get('m');
    await store.write([{ key: 'n', value: manifest?.value ?? null }]);
    expect((await read(store, 'n')).type).toBe('damaged');
    const text = new TextDecoder().decode(manifest?.value).replace('"sequence":1', '"sequence":9');
    await store.write([{ key: 'm', value: new TextEncoder().encode(text) }]);
    expect((await read(store, 'm')).type).toBe('damaged');
  });
});

type Step =
  | { readonly type: 'set'; readonly map: 0 | 1; readonly key: number; readonly value: number | null }
  | { readonly type: 'big'; readonly map: 0 | 1 }
  | { readonly type: 'replace'; readonly map: 0 | 1; readonly count: number; readonly value: number }
  | { readonly type: 'drop'; readonly map: 0 | 1 }
  | { readonly type: 'wait'; readonly milliseconds: number };

const map = fc.constantFrom<0 | 1>(0, 1);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('set' as const),
      map,
      key: fc.nat(6),
      value: fc.option(fc.nat(2), { nil: null }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('big' as const), map }) },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('replace' as const), map, count: fc.nat(400), value: fc.nat(2) }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('drop' as const), map }) },
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constant('wait' as const), milliseconds: fc.constantFrom(1, 60, 2_000) }),
  },
);

const bigValue = big('of one history');

/** Plays a step on the writers and on the model of them. */
function play(writers: readonly MapWriter<JsonValue>[], model: (Map<string, JsonValue> | null)[], next: Step): void {
  if (next.type === 'wait') return;
  const writer = writers[next.map];
  const held = new Map(model[next.map]);
  if (next.type === 'drop') {
    writer?.drop();
    model[next.map] = null;
    return;
  }
  if (next.type === 'set') {
    const key = `k${next.key}`;
    if (next.value === null && !held.has(key)) return;
    writer?.set(key, next.value);
    if (next.value === null) held.delete(key);
    else held.set(key, next.value);
  } else if (next.type === 'big') {
    // Together more than one batch holds.
    for (const name of ['big 1', 'big 2', 'big 3']) {
      writer?.set(name, bigValue);
      held.set(name, bigValue);
    }
  } else {
    const values = Array.from({ length: next.count }, (_, key): [string, JsonValue] => [`k${key}`, next.value]);
    writer?.replaceAll(values);
    held.clear();
    for (const [key, value] of values) held.set(key, value);
  }
  model[next.map] = held;
}

const spell = (model: readonly (ReadonlyMap<string, JsonValue> | null)[]): string =>
  JSON.stringify(model.map((each) => (each === null ? null : [...each].sort())));

describe('a process that dies between any two writes', () => {
  it('leaves both maps of a group consistent and not older than the last confirmed write; the next process continues', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 20, size: 'max' }),
        fc.integer({ min: 1, max: 12 }),
        fc.constantFrom('before' as const, 'after' as const),
        async (steps, at, when) => {
          const [store, clock] = [createMemoryStore(), createVirtualClock()];
          const dying = dyingStore(store, at, when);
          const journal = journalOn(dying, clock);
          const group = journal.group();
          const writers = [group.map('m/0', codec), group.map('m/1', codec)];
          const model: (Map<string, JsonValue> | null)[] = [null, null];
          const moments = [spell(model)];
          let confirmed = 0;
          for (const next of steps) {
            if (next.type === 'wait') {
              const before = moments.length - 1;
              await clock.advance(next.milliseconds);
              // All that was put before a wait of two seconds is durable after it, unless the process has died.
              if (next.milliseconds === 2_000 && dying.writes() < at) confirmed = before;
            } else {
              play(writers, model, next);
              group.put('moment', moments.length);
              moments.push(spell(model));
            }
          }
          await clock.advance(100);
          const found = await Promise.all(['m/0', 'm/1'].map((name) => read(store, name)));
          expect(found.map(({ type }) => type)).not.toContain('damaged');
          const state = spell(
            found.map((reading) => (reading.type === 'complete' ? new Map(reading.map.values) : null)),
          );
          expect(moments.slice(confirmed)).toContain(state);
          const record = await store.get('moment');
          const moment = record === undefined ? 0 : Number(new TextDecoder().decode(record.value));
          expect(state).toBe(moments[moment]);

          const next = journalOn(store, clock).group();
          const goingOn = found.map((reading, index) => next.map(`m/${index}`, codec, reading));
          for (const writer of goingOn) writer.replaceAll([['only', 1]]);
          await clock.advance(100);
          expect(await contentOf(store, 'm/0')).toEqual({ only: 1 });
          expect((await keysOf(store, 'm/')).length).toBe(4);
        },
      ),
      { numRuns: isLong ? 1_500 : 50 },
    );
  });
});

describe('a bucket that is larger than a batch', () => {
  const bytes = 10 * 256 * 1024;
  const stateWith = (text: string) => {
    const state = createMapState('m', codec, { type: 'missing', version: null, orphans: [] }, () => undefined);
    state.set('a', text);
    return state;
  };
  /** Stages in batches of three records, and commits; a batch fails if `fails` says so. */
  async function writeAll(
    store: SnapshotStore,
    state: ReturnType<typeof stateWith>,
    before: (batch: number) => 'written' | 'failed' = () => 'written',
  ): Promise<number> {
    let batches = 0;
    for (; state.hasUnstaged() && batches < 100; batches += 1) {
      const part = state.stage({ bytes: 1024 * 1024, records: 3 });
      expect(part.writes.length).toBeLessThanOrEqual(3);
      const outcome = before(batches);
      if (outcome === 'written') await store.write(part.writes);
      part[outcome]();
      if (state.hasUnstaged()) expect(state.expected()).toBeUndefined();
    }
    const part = state.commit();
    await store.write(part?.writes ?? []);
    part?.written();
    return batches;
  }
  const random = randomBytes(bytes).toString('base64');

  it.each<readonly [string, (state: ReturnType<typeof stateWith>, batch: number) => 'written' | 'failed']>([
    ['', () => 'written'],
    [', also if one of them fails', (_, batch) => (batch === 2 ? 'failed' : 'written')],
    [
      ', also if it changes meanwhile, and back again',
      (state, batch) => {
        if (batch === 1) state.set('a', 'b');
        if (batch === 1) state.set('a', random);
        return 'written';
      },
    ],
  ])('is written in several batches%s', async (_, act) => {
    const store = createMemoryStore();
    const state = stateWith(random);
    expect(await writeAll(store, state, (batch) => act(state, batch))).toBeGreaterThan(3);
    const found = await read(store, 'm');
    expect(found.type === 'complete' && found.map.values.get('a')).toBe(random);
    expect(found.orphans).toEqual([]);
    await store.close();
  });
});
