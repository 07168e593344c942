import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../../../src/model/text/json.ts';
import type { SnapshotStore, StoreWrite } from '../../../../src/ports/snapshot-store.ts';
import { createSharedMemory, type MemoryCopy } from '../../../support/shared-memory-store.ts';
import { codec, contentOf, journalOn, keysOf, read } from '../../../support/stored-maps.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';

async function ownedMap() {
  const [memory, clock] = [createSharedMemory(), createVirtualClock()];
  const store = memory.open();
  const journal = journalOn(store, clock);
  const group = journal.group();
  const writer = group.map('m', codec, { type: 'missing', version: null, orphans: [] });
  group.put('record', { is: 'here' });
  writer.replaceAll(Array.from({ length: 300 }, (_, number) => [`k${number}`, number]));
  await clock.advance(200);
  const reader = memory.open();
  const complete = await contentOf(reader, 'm');
  expect(Object.keys(complete ?? {})).toHaveLength(300);
  return { memory, clock, journal, group, writer, reader, complete };
}

describe('records that a shared store loses are written again', () => {
  it('when it is emptied', async () => {
    const { memory, clock, journal, reader, complete } = await ownedMap();
    expect(journal.refilled()).toBe(0);
    const records = memory.keys().length;
    memory.lose();
    await clock.advance(200);
    expect(await contentOf(reader, 'm')).toEqual(complete);
    expect(await reader.get('record')).toBeDefined();
    expect(journal.refilled()).toBe(records);
  });

  it('when an older copy takes over, whose content is replaced', async () => {
    const { memory, clock, writer, reader } = await ownedMap();
    const copy = memory.copy();
    const before = await read(reader, 'm');
    writer.replaceAll([['only', 1]]);
    await clock.advance(200);
    memory.fallBack(copy);
    await clock.advance(200);
    expect(await contentOf(reader, 'm')).toEqual({ only: 1 });
    const after = await read(reader, 'm');
    expect(after.type === 'complete' && before.type === 'complete' && after.map.sequence > before.map.sequence).toBe(
      true,
    );
  });

  it('when an older copy takes over: records deleted since are deleted again', async () => {
    const { memory, clock, group, reader } = await ownedMap();
    const copy = memory.copy();
    group.put('record', null);
    await clock.advance(200);
    memory.fallBack(copy);
    await clock.advance(200);
    expect(await reader.get('record')).toBeUndefined();
  });

  it.each(['the manifest', 'a bucket', 'a record'])('when %s is evicted without a notification', async (what) => {
    const { memory, clock, journal, reader, complete } = await ownedMap();
    const key =
      what === 'the manifest' ? 'm' : what === 'a record' ? 'record' : memory.keys().find((k) => /^m\//.test(k));
    memory.evict(key ?? '');
    if (what !== 'a record') expect(await contentOf(reader, 'm')).toBeNull();
    await clock.advance(31_000);
    expect(await contentOf(reader, 'm')).toEqual(complete);
    expect(await reader.get('record')).toBeDefined();
    expect(journal.refilled()).toBe(what === 'a record' ? 1 : memory.keys().length - 1);
  });

  it('also if the loss happens during an outage and during a write', async () => {
    const { memory, clock, journal, writer, reader } = await ownedMap();
    memory.down('gone');
    writer.set('k1', 'changed while it was down');
    await clock.advance(5_000);
    expect(journal.failure()).toBe('gone');
    memory.lose();
    memory.up();
    await clock.advance(100);
    expect(journal.failure()).toBeUndefined();
    const found = await contentOf(reader, 'm');
    expect([found?.k1, Object.keys(found ?? {}).length]).toEqual(['changed while it was down', 300]);
  });
});

it('a record that is lost between a write and its answer is written again', async () => {
  const [memory, clock] = [createSharedMemory(), createVirtualClock()];
  const store = memory.open();
  const slow: SnapshotStore = {
    ...store,
    write: async (writes) => {
      const outcome = await store.write(writes);
      await clock.sleep(100);
      return outcome;
    },
  };
  const group = journalOn(slow, clock).group();
  group.put('record', 1);
  group.map('m', codec).set('a', 1);
  await clock.advance(60);
  expect(await contentOf(store, 'm')).toEqual({ a: 1 });
  memory.lose();
  await clock.advance(500);
  expect(await contentOf(store, 'm')).toEqual({ a: 1 });
  expect(await store.get('record')).toBeDefined();
});

describe('a store that cannot be written', () => {
  it('with a full memory is logged, retried with back-off, and written when there is memory', async () => {
    const { memory, clock, journal, writer, reader } = await ownedMap();
    memory.refusing = 'OOM command not allowed when used memory > maxmemory';
    writer.set('k1', 'new');
    await clock.advance(20_000);
    expect(journal.failure()).toContain('OOM');
    memory.refusing = undefined;
    await clock.advance(16_000);
    expect(journal.failure()).toBeUndefined();
    expect((await contentOf(reader, 'm'))?.k1).toBe('new');
  });

  it('does not delay a flush beyond its deadline', async () => {
    const { memory, clock, journal, writer } = await ownedMap();
    memory.down();
    writer.set('k1', 'new');
    let flushed: boolean | undefined;
    void journal.flush(5_000).then((done) => {
      flushed = done;
    });
    await clock.advance(5_100);
    expect(flushed).toBe(false);
    memory.up();
    void journal.flush(5_000).then((done) => {
      flushed = done;
    });
    await clock.advance(100);
    expect(flushed).toBe(true);
  });
});

describe('a guarded group', () => {
  const claim = (value: string): StoreWrite => ({ key: 'claim', value: new TextEncoder().encode(value) });

  it('writes nothing without a check, and stops when another process has taken its lease', async () => {
    const [memory, clock] = [createSharedMemory(), createVirtualClock()];
    const store = memory.open();
    const other = memory.open();
    let check: StoreWrite | undefined;
    let refusals = 0;
    const group = journalOn(store, clock).group({ check: () => check, refused: () => void refusals++ });
    const writer = group.map('m', codec);
    writer.set('a', 1);
    await clock.advance(1_000);
    expect(memory.keys()).toEqual([]);
    await store.write([claim('mine')]);
    check = { key: 'claim', ifVersion: (await store.get('claim'))?.version ?? null };
    group.resume();
    await clock.advance(100);
    expect(await contentOf(other, 'm')).toEqual({ a: 1 });
    await other.write([claim('theirs')]);
    writer.set('a', 2);
    await clock.advance(100);
    writer.set('a', 3);
    await clock.advance(60_000);
    expect([refusals, await contentOf(other, 'm')]).toEqual([1, { a: 1 }]);
    check = { key: 'claim', ifVersion: (await store.get('claim'))?.version ?? null };
    group.resume();
    await clock.advance(100);
    expect(await contentOf(other, 'm')).toEqual({ a: 3 });
  });

  it('does not stop other groups when its check fails', async () => {
    const [memory, clock] = [createSharedMemory(), createVirtualClock()];
    const store = memory.open();
    const journal = journalOn(store, clock);
    const refused = journal.group({ check: () => ({ key: 'claim', ifVersion: 'wrong' }), refused: () => undefined });
    const fine = journal.group();
    for (const [group, name] of [
      [refused, 'refused'],
      [fine, 'fine'],
    ] as const)
      group.map(name, codec).set('a', 1);
    journal.put('record', 1);
    await clock.advance(500);
    expect(memory.keys().filter((key) => !key.includes('/'))).toEqual(['fine', 'record']);
  });
});

describe('a new writer of a map', () => {
  it('that starts from an outdated reading brings the store to the state of its memory', async () => {
    const { memory, clock, group, writer, reader } = await ownedMap();
    const early = await read(reader, 'm');
    writer.replaceAll([['k1', 'later']]);
    await clock.advance(200);
    group.close();
    const guard = {
      check: (): StoreWrite => ({ key: 'claim', ifVersion: null }),
      refused: () => expect.fail('refused'),
    };
    const next = journalOn(reader, clock).group(guard).map('m', codec, early);
    next.set('k2', 'mine');
    next.set('k3', null);
    await clock.advance(200);
    const found = await contentOf(memory.open(), 'm');
    expect([found?.k1, found?.k2, found?.k3, Object.keys(found ?? {}).length]).toEqual([1, 'mine', undefined, 299]);
  });

  it('detects that a write with a lost answer took effect', async () => {
    const { memory, clock, group, reader } = await ownedMap();
    group.close();
    const next = journalOn(reader, clock)
      .group()
      .map('m', codec, await read(reader, 'm'));
    memory.swallowReplies();
    next.set('k2', 'mine');
    await clock.advance(60);
    next.set('k2', 'mine again');
    await clock.advance(5_000);
    expect((await contentOf(memory.open(), 'm'))?.k2).toBe('mine again');
  });
});

type Step =
  | { readonly type: 'set'; readonly key: number; readonly value: number | null }
  | { readonly type: 'wait'; readonly milliseconds: number }
  | { readonly type: 'lose' | 'down' | 'up' | 'cut' | 'mend' | 'copy' | 'fallBack' | 'swallow' | 'fill' | 'drop' };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constant('set' as const),
      key: fc.nat(5),
      value: fc.option(fc.nat(1), { nil: null }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('wait' as const),
      milliseconds: fc.constantFrom(1, 49, 61, 81, 1_100, 31_000),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constantFrom(
        ...(['lose', 'down', 'up', 'cut', 'mend', 'copy', 'fallBack', 'swallow', 'fill', 'drop'] as const),
      ),
    }),
  },
);

describe('random histories of losses', () => {
  it('end with the store equal to memory, without other records; a reader never sees a state that never existed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30, size: 'max' }), async (steps) => {
        const [memory, clock] = [createSharedMemory(), createVirtualClock()];
        const store = memory.open();
        const slow: SnapshotStore = {
          ...store,
          write: async (writes) => {
            await clock.sleep(20);
            const outcome = await store.write(writes);
            await clock.sleep(20);
            return outcome;
          },
        };
        const writer = journalOn(slow, clock).group().map('m', codec, { type: 'missing', version: null, orphans: [] });
        const model = new Map<string, JsonValue>();
        const moments = new Set<string>(['null']);
        const spell = (value: unknown): string => JSON.stringify(value);
        let copy: MemoryCopy = memory.copy();
        let present = false;
        for (const next of steps) {
          switch (next.type) {
            case 'set':
              if (next.value !== null) model.set(`k${next.key}`, next.value);
              else model.delete(`k${next.key}`);
              present ||= next.value !== null;
              writer.set(`k${next.key}`, next.value);
              moments.add(spell(Object.fromEntries([...model].sort())));
              break;
            case 'drop':
              model.clear();
              present = false;
              writer.drop();
              break;
            case 'wait':
              await clock.advance(next.milliseconds);
              break;
            case 'copy':
              copy = memory.copy();
              break;
            case 'fallBack':
              memory.fallBack(copy);
              break;
            case 'swallow':
              memory.swallowReplies();
              break;
            case 'fill':
              memory.refusing = memory.refusing === undefined ? 'OOM' : undefined;
              break;
            case 'cut':
              store.cut();
              break;
            case 'mend':
              store.mend();
              break;
            case 'lose':
            case 'down':
            case 'up':
              memory[next.type]();
              break;
          }
          const found = [...memory.copy().values()];
          expect(found.length).toBeLessThan(100);
        }
        memory.refusing = undefined;
        memory.up();
        store.mend();
        const reader = memory.open();
        expect(moments).toContain(spell(await contentOf(reader, 'm')));
        await clock.advance(62_000);
        expect(await contentOf(reader, 'm')).toEqual(present ? Object.fromEntries([...model].sort()) : null);
        writer.replaceAll([['last', 1]]);
        await clock.advance(1_000);
        expect(await contentOf(reader, 'm')).toEqual({ last: 1 });
        // The next complete read of the map finds the records that an older copy has restored.
        if (!steps.some(({ type }) => type === 'fallBack')) expect(await keysOf(reader, 'm/')).toHaveLength(1);
      }),
      { numRuns: 300 },
    );
  }, 120_000);

  it('leave only records that the next writer of the map deletes', async () => {
    const { memory, clock, writer } = await ownedMap();
    const copy = memory.copy();
    for (let turn = 0; turn < 5; turn++) {
      writer.set(`k${turn}`, `turn ${turn}`);
      memory.swallowReplies();
      await clock.advance(2_000);
    }
    memory.fallBack(copy);
    await clock.advance(2_000);
    const store = memory.open();
    const next = journalOn(store, clock)
      .group()
      .map('m', codec, await read(store, 'm'));
    next.replaceAll([['only', 1]]);
    await clock.advance(200);
    expect(await keysOf(store, 'm/')).toHaveLength(1);
  });
});
