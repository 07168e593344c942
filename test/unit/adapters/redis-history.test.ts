import { describe, expect, test } from 'vitest';
import { lossOf, parseChange } from '../../../src/adapters/stores/redis/link.ts';
import { REMEMBERED } from '../../../src/adapters/stores/redis/scripts.ts';
import { createOpenBatches } from '../../../src/adapters/stores/redis/write-batch.ts';

describe('the check whether a store in Redis has lost batches', () => {
  const known = { marker: 'm', count: 7, batch: 'b7' };
  const found = { ...known, newest: 'b7' };

  test('finds no loss if the store has the last known batch', () => {
    expect(lossOf(known, found)).toBeUndefined();
    expect(lossOf(known, { ...found, count: 9, newest: 'b9' })).toBeUndefined();
    expect(lossOf({ marker: 'm', count: 0, batch: '' }, { ...found, batch: 'b4096' })).toBeUndefined();
  });

  test('finds another store, an older copy, and an older copy with as many other batches', () => {
    expect(lossOf(known, { ...found, marker: 'n' })).toMatch(/emptied/);
    expect(lossOf(known, { ...found, count: 6, newest: 'b6' })).toMatch(/older copy/);
    expect(lossOf(known, { ...found, batch: 'x7', count: 9, newest: 'x9' })).toMatch(/older copy.*written to/);
  });

  test('reports a loss if the store no longer remembers the id of the last known batch', () => {
    const later = { ...found, count: 7 + REMEMBERED, newest: 'new' };
    expect(lossOf(known, later)).toMatch(/more was written/);
    expect(lossOf(known, { ...later, count: 6 + REMEMBERED })).toBeUndefined();
  });

  test('ignores messages of other programs on the channel', () => {
    expect(parseChange('m 7 b7 ["a b","c"]')).toEqual({ ...known, keys: ['a b', 'c'] });
    for (const message of ['', 'hello', 'm x b []', 'm 7 b7 {}', 'm 7 b7 [', 'm 7 b7']) {
      expect(parseChange(message)).toBeUndefined();
    }
  });
});

describe('batches without an answer', () => {
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

  test('equal contents get the same id until the batch is settled; other contents get another id', () => {
    let ids = 0;
    const open = createOpenBatches(() => `id-${++ids}`);
    const value = bytes('1');
    const first = open.begin([{ key: 'k', value }]);
    expect(open.begin([{ key: 'k', value: bytes('1') }])).toEqual({ ...first, again: true });
    value.set(bytes('2'));
    const different = [
      [{ key: 'k', value }],
      [{ key: 'k', value: null }],
      [{ key: 'k' }],
      [{ key: 'k', value: bytes('1'), ifVersion: null }],
      [{ key: 'k', value: bytes('1'), ifVersion: '1' }],
      [{ key: 'k1', value: bytes('') }],
      [
        { key: 'k', value: bytes('') },
        { key: '1', value: bytes('') },
      ],
      [],
    ];
    expect(new Set(different.map((writes) => open.begin(writes).id)).size).toBe(different.length);
    open.settle(first);
    expect(open.begin([{ key: 'k', value: bytes('1') }]).again).toBe(false);
  });

  test('equal contents get another id after a batch that changes one of the records, and not after one that checks it', () => {
    let ids = 0;
    const open = createOpenBatches(() => `id-${++ids}`);
    const removal = [{ key: 'guard' }, { key: 'k', value: null }];
    const first = open.begin(removal);
    open.begin([{ key: 'k' }, { key: 'guard', value: bytes('1') }, { key: 'other', value: null }]);
    expect(open.begin(removal)).toEqual({ ...first, again: true });
    open.settle(open.begin([{ key: 'k', value: bytes('1') }]));
    expect(open.begin(removal).again).toBe(false);
  });

  test('the number of remembered batches is bounded', () => {
    let ids = 0;
    const open = createOpenBatches(() => `id-${++ids}`);
    for (let index = 0; index < 300; index += 1) open.begin([{ key: `${index}`, value: null }]);
    expect(open.begin([{ key: '0', value: null }]).again).toBe(false);
    expect(open.begin([{ key: '299', value: null }]).again).toBe(true);
  });
});
