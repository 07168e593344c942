import { describe, expect, it } from 'vitest';
import { createMemoryStore } from '../../../src/adapters/stores/memory.ts';
import { sealAnew, sealStore } from '../../../src/adapters/stores/sealed.ts';
import type { SnapshotStore } from '../../../src/ports/snapshot-store.ts';
import { sealing } from '../../support/sealing.ts';
import { createSharedMemory } from '../../support/shared-memory-store.ts';
import { silentLog } from '../../support/silent-log.ts';
import { sharedStoreContract } from './shared-suite.ts';
import { storeContract } from './suite.ts';

const [ours, older, theirs] = [1, 2, 3].map((byte) => new Uint8Array(32).fill(byte)) as [
  Uint8Array,
  Uint8Array,
  Uint8Array,
];
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const textAt = async (store: SnapshotStore, key: string): Promise<string | undefined> => {
  const record = await store.get(key);
  return record === undefined ? undefined : Buffer.from(record.value).toString('latin1');
};
const listed = async (store: SnapshotStore): Promise<readonly string[]> => {
  const found: string[] = [];
  for await (const { key, value } of store.list('')) found.push(`${key}=${Buffer.from(value).toString('latin1')}`);
  return found;
};

storeContract('sealed', async () => sealStore(createMemoryStore(), [ours], sealing));

sharedStoreContract('sealed', async () => {
  const memory = createSharedMemory();
  return {
    process: async () => {
      const inner = memory.open();
      return {
        store: sealStore(inner, [ours], sealing),
        swallowReply: () => memory.swallowReplies(),
        cut: () => inner.cut(),
        mend: () => inner.mend(),
      };
    },
    lose: async () => memory.lose(),
    evict: async (key) => memory.evict(key),
    full: async (isFull) => {
      memory.refusing = isFull ? 'OOM: the memory is full' : undefined;
    },
  };
});

describe('a sealed store', () => {
  it('reveals neither a value nor that two keys have equal values', async () => {
    const inner = createMemoryStore();
    const store = sealStore(inner, [ours], sealing);
    await store.write([
      { key: 'a', value: bytes('password') },
      { key: 'b', value: bytes('password') },
    ]);
    const [a, b] = [await textAt(inner, 'a'), await textAt(inner, 'b')];
    expect(a).not.toContain('password');
    expect(a?.slice(5)).not.toBe(b?.slice(5));
    expect(await listed(store)).toEqual(['a=password', 'b=password']);
  });

  it('writes and opens the same bytes in each version', async () => {
    const inner = createMemoryStore();
    const values = { 'registrations/east': '{"id":"é"}', empty: '' };
    const seven = new Uint8Array(32).fill(7);
    const at = { clock: { now: () => 1_780_272_000_000 }, log: silentLog };
    const store = sealStore(inner, [seven], at);
    await store.write(Object.entries(values).map(([key, value]) => ({ key, value: bytes(value) })));
    const hex = async (key: string) => Buffer.from((await inner.get(key))?.value ?? '').toString('hex');
    expect(await hex('registrations/east')).toBe(
      '030926b94a24ee4b997137b8007d54406875054cd4947c126a3367fdb6eefea28e29043caa80bb716bb5b5660e700082154e53d5',
    );
    expect(await hex('empty')).toBe(
      '030926b94a3143b4ae6183b29c1006cd1a3f655fbaf485880cc7a82b6c42c798c16daacf5d32f58bb6',
    );
    const record = await sealStore(inner, [ours, seven], sealing).get('registrations/east');
    expect(Buffer.from(record?.value ?? '').toString()).toBe('{"id":"é"}');
  });

  it.each([
    ['that was spoiled', (value: Uint8Array) => value.with(20, (value[20] ?? 0) ^ 1)],
    ['that was cut short', (value: Uint8Array) => value.subarray(0, 25)],
    ['that was never sealed', () => bytes('{"epoch":1}')],
    ['that is empty', () => bytes('')],
  ])('reads a value %s as an empty one, and can replace it', async (_, spoil) => {
    const inner = createMemoryStore();
    const store = sealStore(inner, [ours], sealing);
    await store.write([{ key: 'a', value: bytes('one') }]);
    const record = await inner.get('a');
    await inner.write([{ key: 'a', value: spoil(record?.value ?? bytes('')) }]);
    expect(await textAt(store, 'a')).toBe('');
    const version = (await store.get('a'))?.version ?? null;
    expect(await store.write([{ key: 'a', value: bytes('two'), ifVersion: version }])).toBe('written');
    expect(await textAt(store, 'a')).toBe('two');
  });

  it('treats a value that was moved from another key as damaged', async () => {
    const inner = createMemoryStore();
    const store = sealStore(inner, [ours], sealing);
    await store.write([{ key: 'a', value: bytes('one') }]);
    await inner.write([{ key: 'b', value: (await inner.get('a'))?.value ?? null }]);
    expect(await textAt(store, 'b')).toBe('');
  });

  it('rejects a value of an unknown secret with advice', async () => {
    const inner = createMemoryStore();
    await sealStore(inner, [theirs], sealing).write([{ key: 'a', value: bytes('one') }]);
    const store = sealStore(inner, [ours], sealing);
    await expect(store.get('a')).rejects.toThrow('record a of the store was sealed with another relay secret');
    await expect(listed(store)).rejects.toThrow('another relay secret');
  });

  it('opens values of either of two secrets; after sealing anew, the older one can be removed', async () => {
    const inner = createMemoryStore();
    await sealStore(inner, [older], sealing).write([{ key: 'a', value: bytes('one') }]);
    const both = sealStore(inner, [ours, older], sealing);
    await both.write([{ key: 'b', value: bytes('two') }]);
    await inner.write([{ key: 'trust/ca', value: bytes('something else') }]);
    expect(await listed(both)).toEqual(['a=one', 'b=two', 'trust/ca=']);
    await expect(listed(sealStore(inner, [ours], sealing))).rejects.toThrow('another relay secret');
    await sealAnew(inner, [ours, older]);
    expect(await listed(sealStore(inner, [ours], sealing))).toEqual(['a=one', 'b=two', 'trust/ca=']);
    expect(await textAt(inner, 'trust/ca')).toBe('something else');
  });
});
