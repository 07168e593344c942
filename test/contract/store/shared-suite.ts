import { afterEach, describe, expect, test } from 'vitest';
import type { SnapshotStore, StoreEvent } from '../../../src/ports/snapshot-store.ts';
import { until } from '../../support/fleet-processes.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const textAt = async (store: SnapshotStore, key: string): Promise<string | undefined> => {
  const record = await store.get(key);
  return record === undefined ? undefined : new TextDecoder().decode(record.value);
};
const keysOf = async (store: SnapshotStore): Promise<readonly string[]> => {
  const keys: string[] = [];
  for await (const { key } of store.list('')) keys.push(key);
  return keys;
};

/** The store of one process, and what can happen between that process and the store. */
export interface SharedProcess {
  readonly store: SnapshotStore;
  /** The answer to its next write is lost; the write takes effect. */
  swallowReply(): void;
  cut(): void;
  mend(): void;
}

/** One store, fresh and empty, that several processes share, and what can happen to it. */
export interface SharedHome {
  process(): Promise<SharedProcess>;
  lose(): Promise<void>;
  /** One record vanishes, as if evicted. */
  evict(key: string): Promise<void>;
  /** Its memory is full, or not any more. */
  full(isFull: boolean): Promise<void>;
}

/** What every store must do that several processes share, beside what every store must do. */
export function sharedStoreContract(name: string, make: () => Promise<SharedHome>): void {
  describe(`${name}: contract of a shared store`, () => {
    const stores: SnapshotStore[] = [];
    afterEach(async () => {
      await Promise.all(stores.splice(0).map((store) => store.close()));
    });
    const open = async (home: SharedHome): Promise<SharedProcess & { readonly events: StoreEvent[] }> => {
      const process = await home.process();
      stores.push(process.store);
      const events: StoreEvent[] = [];
      process.store.watch((event) => events.push(event));
      return { ...process, events };
    };
    const told = (events: readonly StoreEvent[], type: StoreEvent['type']): Promise<boolean> =>
      until(`${type} is told`, () => events.some((event) => event.type === type));

    test('the other processes read a write of one process, and receive its keys', async () => {
      const home = await make();
      const [a, b, c] = [await open(home), await open(home), await open(home)];
      expect(a.store.shared).toBe(true);
      await a.store.write([
        { key: 'x/1', value: bytes('1') },
        { key: 'x/\u{1f600} "', value: bytes('2') },
        { key: 'gone', value: null },
      ]);
      expect(await textAt(b.store, 'x/1')).toBe('1');
      for (const { events } of [b, c]) {
        await told(events, 'changed');
        expect(events).toEqual([{ type: 'changed', keys: ['x/1', 'x/\u{1f600} "', 'gone'] }]);
      }
      expect(a.events).toEqual([]);
    });

    test('once a process is notified, it has received every earlier write of the others', async () => {
      const home = await make();
      const [a, b] = [await open(home), await open(home)];
      const keys = Array.from({ length: 20 }, (_, index) => `k/${index}`);
      for (const [index, key] of keys.entries()) {
        await b.store.write([{ key, value: bytes(key) }]);
        await a.store.notified();
        expect(a.events).toEqual(keys.slice(0, index + 1).map((written) => ({ type: 'changed', keys: [written] })));
      }
      a.cut();
      await told(a.events, 'down');
      await expect(a.store.notified()).rejects.toThrow();
    });

    test('of two processes that write with the same version exactly one succeeds', async () => {
      const home = await make();
      const [a, b] = [await open(home), await open(home)];
      await a.store.write([{ key: 'k', value: bytes('0') }]);
      const ifVersion = (await b.store.get('k'))!.version;
      const outcomes = await Promise.all(
        [a, b, a, b].map(({ store }, index) => store.write([{ key: 'k', value: bytes(`${index}`), ifVersion }])),
      );
      expect([...outcomes].sort()).toEqual(['conflict', 'conflict', 'conflict', 'written']);
      const checks = await Promise.all([a, b].map(({ store }) => store.write([{ key: 'k', ifVersion }])));
      expect(checks).toEqual(['conflict', 'conflict']);
    });

    test('a lost answer: a retry returns written, and nothing is written twice', async () => {
      const home = await make();
      const [a, b] = [await open(home), await open(home)];
      const batch = [
        { key: 'k', value: bytes('a'), ifVersion: null },
        { key: 'other', value: bytes('a') },
      ];
      a.swallowReply();
      await expect(a.store.write(batch)).rejects.toThrow();
      expect(await textAt(b.store, 'k')).toBe('a');
      await b.store.write([{ key: 'other', value: bytes('b') }]);
      const again = batch.map((write) => ({ ...write, value: Uint8Array.from(write.value) }));
      expect(await until('it answers', () => a.store.write(again).catch(() => undefined))).toBe('written');
      expect(await textAt(b.store, 'other')).toBe('b');
      // The same once more is a batch of its own.
      expect(await a.store.write(batch)).toBe('conflict');
    });

    test('after a lost answer and another write of the record, the same contents are written anew', async () => {
      const home = await make();
      const a = await open(home);
      await a.store.write([{ key: 'k', value: bytes('1') }]);
      a.swallowReply();
      await expect(a.store.write([{ key: 'k', value: null }])).rejects.toThrow();
      const recreate = (): Promise<string | undefined> =>
        a.store.write([{ key: 'k', value: bytes('2') }]).catch(() => undefined);
      expect(await until('it answers', recreate)).toBe('written');
      expect(await a.store.write([{ key: 'k', value: null }])).toBe('written');
      expect(await a.store.get('k')).toBeUndefined();
    });

    test('a lost answer to a deletion and to a large batch, likewise', async () => {
      const home = await make();
      const a = await open(home);
      await a.store.write([{ key: 'k', value: bytes('1') }]);
      const ifVersion = (await a.store.get('k'))!.version;
      a.swallowReply();
      await expect(a.store.write([{ key: 'k', value: null, ifVersion }])).rejects.toThrow();
      const outcome = await until('it answers', () =>
        a.store.write([{ key: 'k', value: null, ifVersion }]).catch(() => undefined),
      );
      expect(outcome).toBe('written');
      const large = Array.from({ length: 40 }, (_, index) => ({
        key: `large/${index}`,
        value: new Uint8Array(100_000).fill(index),
        ifVersion: null,
      }));
      a.swallowReply();
      await expect(a.store.write(large)).rejects.toThrow();
      expect(await until('it answers', () => a.store.write(large).catch(() => undefined))).toBe('written');
      expect(await keysOf(a.store)).toHaveLength(40);
    });

    test('during an outage every call rejects; down and up are emitted; writes of others are readable afterwards', async () => {
      const home = await make();
      const [a, b] = [await open(home), await open(home)];
      await a.store.write([{ key: 'k', value: bytes('1') }]);
      a.cut();
      await told(a.events, 'down');
      await expect(a.store.get('k')).rejects.toThrow();
      await expect(a.store.write([{ key: 'k', value: bytes('2') }])).rejects.toThrow();
      await expect(keysOf(a.store)).rejects.toThrow();
      await b.store.write([{ key: 'k', value: bytes('3') }]);
      a.mend();
      await told(a.events, 'up');
      expect(await textAt(a.store, 'k')).toBe('3');
      expect(a.events.filter(({ type }) => type === 'lost')).toEqual([]);
      await b.store.write([{ key: 'after', value: bytes('1') }]);
      await told(a.events, 'changed');
    });

    test('a store that was emptied: every process receives lost, the store is empty and can be written again', async () => {
      const home = await make();
      const [a, b] = [await open(home), await open(home)];
      await a.store.write([{ key: 'k', value: bytes('1') }]);
      await home.lose();
      await Promise.all([told(a.events, 'lost'), told(b.events, 'lost')]);
      expect(await a.store.get('k')).toBeUndefined();
      expect(await keysOf(b.store)).toEqual([]);
      expect(await a.store.write([{ key: 'k', value: bytes('2'), ifVersion: null }])).toBe('written');
      expect(await textAt(b.store, 'k')).toBe('2');
    });

    test('a process that was disconnected when the store was emptied receives lost at its return, even if others have refilled the store', async () => {
      const home = await make();
      const [a, b] = [await open(home), await open(home)];
      for (const value of ['1', '2', '3']) await a.store.write([{ key: 'k', value: bytes(value) }]);
      a.cut();
      await told(a.events, 'down');
      await home.lose();
      await told(b.events, 'lost');
      for (const value of ['1', '2', '3', '4', '5']) await b.store.write([{ key: 'k', value: bytes(value) }]);
      a.mend();
      await told(a.events, 'lost');
      expect(await textAt(a.store, 'k')).toBe('5');
    });

    test('a single evicted record is missing for every process, and no other record is', async () => {
      const home = await make();
      const a = await open(home);
      await a.store.write(['x/1', 'x/2', 'x/3'].map((key) => ({ key, value: bytes(key) })));
      const ifVersion = (await a.store.get('x/2'))!.version;
      await home.evict('x/2');
      expect(await a.store.get('x/2')).toBeUndefined();
      expect(await keysOf(a.store)).toEqual(['x/1', 'x/3']);
      expect(await a.store.write([{ key: 'x/2', value: bytes('new'), ifVersion }])).toBe('conflict');
      expect(await a.store.write([{ key: 'x/2', value: bytes('new'), ifVersion: null }])).toBe('written');
      expect(await keysOf(a.store)).toEqual(['x/1', 'x/2', 'x/3']);
    });

    test('a full memory: a write is refused completely, with the reason; reads and deletions work; nothing is left behind', async () => {
      const home = await make();
      const a = await open(home);
      await a.store.write(['a', 'b'].map((key) => ({ key, value: bytes('old') })));
      await home.full(true);
      const batch = [
        { key: 'a', value: null },
        { key: 'b', value: bytes('new') },
        { key: 'c', value: bytes('new') },
      ];
      await expect(a.store.write(batch)).rejects.toThrow(/OOM|full/);
      const large = [{ key: 'large', value: new Uint8Array(2_000_000) }];
      await expect(a.store.write(large)).rejects.toThrow(/OOM|full/);
      expect(await keysOf(a.store)).toEqual(['a', 'b']);
      expect(await textAt(a.store, 'b')).toBe('old');
      expect(
        await a.store.write([
          { key: 'b', ifVersion: null },
          { key: 'a', value: null },
        ]),
      ).toBe('conflict');
      expect(
        await a.store.write([
          { key: 'a', value: null },
          { key: 'c', ifVersion: null },
        ]),
      ).toBe('written');
      await home.full(false);
      expect(await a.store.write(batch)).toBe('written');
      expect(await keysOf(a.store)).toEqual(['b', 'c']);
      expect(a.events).toEqual([]);
    });

    test('a process that has closed or stopped watching receives nothing; the others continue', async () => {
      const home = await make();
      const [a, b, c] = [await open(home), await open(home), await open(home)];
      const later: StoreEvent[] = [];
      b.store.watch((event) => later.push(event))();
      await c.store.close();
      await a.store.write([{ key: 'k', value: bytes('1') }]);
      await told(b.events, 'changed');
      expect(later).toEqual([]);
      expect(c.events).toEqual([]);
      await expect(c.store.get('k')).rejects.toThrow('closed');
      expect(await textAt(b.store, 'k')).toBe('1');
    });
  });
}
