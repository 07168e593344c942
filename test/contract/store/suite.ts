import { describe, expect, test } from 'vitest';
import type { SnapshotStore, StoredRecord } from '../../../src/ports/snapshot-store.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (record: StoredRecord | undefined): string | undefined =>
  record === undefined ? undefined : new TextDecoder().decode(record.value);

async function all(store: SnapshotStore, prefix: string): Promise<readonly StoredRecord[]> {
  const records: StoredRecord[] = [];
  for await (const record of store.list(prefix)) records.push(record);
  return records;
}

/** What every store must do. `make` gives a fresh, empty store each time. */
export function storeContract(name: string, make: () => Promise<SnapshotStore>): void {
  describe(`${name}: contract of a store`, () => {
    test('a written record is read back; a deleted record is absent', async () => {
      const store = await make();
      expect(await store.get('a')).toBeUndefined();
      expect(await store.write([{ key: 'a', value: bytes('1') }])).toBe('written');
      expect(text(await store.get('a'))).toBe('1');
      expect(await store.write([{ key: 'a', value: null }])).toBe('written');
      expect(await store.get('a')).toBeUndefined();
      expect(await store.write([{ key: 'never-there', value: null }])).toBe('written');
      await store.close();
    });

    test('a version changes with each write, even of the same bytes, and after a deletion', async () => {
      const store = await make();
      const versions = new Set<string | undefined>();
      for (const value of ['same', 'same', null, 'same']) {
        await store.write([{ key: 'k', value: value === null ? null : bytes(value) }]);
        versions.add((await store.get('k'))?.version);
      }
      expect(versions.size).toBe(4);
      await store.close();
    });

    test('compare-and-set: the current version succeeds; a wrong version and a wrong absence are conflicts', async () => {
      const store = await make();
      expect(await store.write([{ key: 'k', value: bytes('1'), ifVersion: null }])).toBe('written');
      expect(await store.write([{ key: 'k', value: bytes('2'), ifVersion: null }])).toBe('conflict');
      const first = (await store.get('k'))?.version ?? '';
      expect(await store.write([{ key: 'k', value: bytes('2'), ifVersion: first }])).toBe('written');
      expect(await store.write([{ key: 'k', value: bytes('3'), ifVersion: first }])).toBe('conflict');
      expect(await store.write([{ key: 'k', value: null, ifVersion: first }])).toBe('conflict');
      expect(await store.write([{ key: 'absent', value: null, ifVersion: first }])).toBe('conflict');
      expect(text(await store.get('k'))).toBe('2');
      await store.close();
    });

    test('a batch is applied completely or not at all', async () => {
      const store = await make();
      await store.write([{ key: 'b', value: bytes('old') }]);
      const outcome = await store.write([
        { key: 'a', value: bytes('new') },
        { key: 'b', value: null },
        { key: 'c', value: bytes('new'), ifVersion: 'wrong' },
      ]);
      expect(outcome).toBe('conflict');
      expect((await all(store, '')).map((record) => [record.key, text(record)])).toEqual([['b', 'old']]);
      await store.close();
    });

    test('a check without a value can fail the batch and writes nothing', async () => {
      const store = await make();
      await store.write([{ key: 'claim', value: bytes('mine') }]);
      const claim = (await store.get('claim'))?.version ?? '';
      expect(
        await store.write([
          { key: 'claim', ifVersion: claim },
          { key: 'a', value: bytes('1') },
        ]),
      ).toBe('written');
      expect((await store.get('claim'))?.version).toBe(claim);
      expect(
        await store.write([
          { key: 'b', ifVersion: null },
          { key: 'a', value: null },
        ]),
      ).toBe('written');
      expect(await all(store, '')).toHaveLength(1);
      await store.write([{ key: 'claim', value: bytes('theirs') }]);
      expect(
        await store.write([
          { key: 'claim', ifVersion: claim },
          { key: 'a', value: bytes('2') },
        ]),
      ).toBe('conflict');
      expect(
        await store.write([
          { key: 'a', value: bytes('2') },
          { key: 'claim', ifVersion: null },
        ]),
      ).toBe('conflict');
      expect(await store.get('a')).toBeUndefined();
      expect(await store.write([{ key: 'claim', ifVersion: claim }])).toBe('conflict');
      expect(await store.write([{ key: 'claim' }, { key: 'absent', ifVersion: null }])).toBe('written');
      expect(await store.write([])).toBe('written');
      await store.close();
    });

    test('a list holds exactly the prefix, in key order', async () => {
      const store = await make();
      const keys = ['x/b', 'x/a', 'x/', 'x', 'y/a', 'x0', 'x/\u{ffff}', 'x/\u{1f600}', 'X/a', 'x/%', 'x/_'];
      await store.write(keys.map((key) => ({ key, value: bytes(key) })));
      const expected = keys.filter((key) => key.startsWith('x/')).sort((a, b) => (a < b ? -1 : 1));
      const listed = await all(store, 'x/');
      expect(listed.map((record) => record.key)).toEqual(expected);
      expect(listed.map(text)).toEqual(expected);
      expect(await all(store, '')).toHaveLength(keys.length);
      expect(await all(store, 'z')).toEqual([]);
      await store.close();
    });

    test('values are opaque bytes: empty ones, all byte values, several megabytes', async () => {
      const store = await make();
      const every = Uint8Array.from({ length: 256 }, (_, index) => index);
      const big = new Uint8Array(6 * 1024 * 1024).fill(0xa5);
      await store.write([
        { key: 'empty', value: new Uint8Array() },
        { key: 'every', value: every },
        { key: 'big', value: big },
      ]);
      expect((await store.get('empty'))?.value.byteLength).toBe(0);
      expect(Buffer.compare((await store.get('every'))?.value ?? new Uint8Array(), every)).toBe(0);
      expect(Buffer.compare((await store.get('big'))?.value ?? new Uint8Array(), big)).toBe(0);
      await store.close();
    });

    test('a large batch of large values is applied completely or not at all', async () => {
      const store = await make();
      const batch = Array.from({ length: 150 }, (_, index) => ({
        key: `large/${String(index).padStart(4, '0')}`,
        value: new Uint8Array(index % 3 === 0 ? 10 : 200 * 1024).fill(index),
      }));
      expect(await store.write([...batch, { key: 'large/0007', ifVersion: 'wrong' }])).toBe('conflict');
      expect(await all(store, '')).toEqual([]);
      expect(await store.write(batch)).toBe('written');
      const listed = await all(store, 'large/');
      expect(listed.map(({ key }) => key)).toEqual(batch.map(({ key }) => key));
      for (const [index, { value }] of listed.entries()) {
        expect(Buffer.compare(value, batch[index]?.value ?? new Uint8Array())).toBe(0);
      }
      await store.close();
    });

    test('thousands of records are listed completely, in order, by prefix', async () => {
      const store = await make();
      const keys = Array.from({ length: 3_500 }, (_, index) => `many/${index % 7}/${index}`);
      for (let at = 0; at < keys.length; at += 500) {
        await store.write(keys.slice(at, at + 500).map((key) => ({ key, value: bytes(key) })));
      }
      const listed = await all(store, 'many/');
      expect(listed.map(({ key }) => key)).toEqual(keys.toSorted());
      expect(listed.every((record) => text(record) === record.key)).toBe(true);
      expect(await all(store, 'many/3/')).toHaveLength(500);
      await store.write(keys.slice(0, 1_000).map((key) => ({ key, value: null })));
      expect(await all(store, '')).toHaveLength(2_500);
      await store.close();
    });

    test('neither the writer nor a reader can change a stored record through its bytes', async () => {
      const store = await make();
      const value = bytes('abc');
      await store.write([{ key: 'k', value }]);
      value.fill(0);
      (await store.get('k'))?.value.fill(0);
      expect(text(await store.get('k'))).toBe('abc');
      await store.close();
    });

    test('of two writers of the same version exactly one succeeds', async () => {
      const store = await make();
      const outcomes = await Promise.all(
        ['1', '2', '3'].map((value) => store.write([{ key: 'k', value: bytes(value), ifVersion: null }])),
      );
      expect([...outcomes].sort()).toEqual(['conflict', 'conflict', 'written']);
      await store.close();
    });

    test('a closed store rejects instead of calling a record absent', async () => {
      const store = await make();
      await store.close();
      await expect(store.get('k')).rejects.toThrow();
      await expect(store.write([{ key: 'k', value: bytes('1') }])).rejects.toThrow();
    });
  });
}
