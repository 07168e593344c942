import { describe, expect, it } from 'vitest';
import { STORE_FORMAT } from '../../../src/runtime/ledger/records.ts';
import { createConditionedStore, openStoreFormat } from '../../../src/runtime/replica/conditioned-store.ts';
import { configMapYaml } from '../../support/manifests.ts';
import { type FakeReplica, heldAt, startedReplicas } from '../../support/replica-world.ts';
import { createSharedMemory, type SharedMemory } from '../../support/shared-memory-store.ts';
import { abc } from '../../support/started-world.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** A process of the version that has this format, as it begins to use the store. */
async function upgrade(memory: SharedMemory, format = STORE_FORMAT + 1) {
  const store = memory.open();
  const condition = await openStoreFormat(store, () => undefined, format);
  return createConditionedStore(store, [condition]);
}

/** Everything but its turn as leader that a replica has written, from now on. */
function writesOf({ store }: FakeReplica): readonly string[] {
  const { write } = store;
  const written: string[] = [];
  store.write = async (batch) => {
    const outcome = await write(batch);
    const keys = batch.flatMap(({ key, value }) => (value === undefined ? [] : [key]));
    if (outcome === 'written') written.push(...keys.filter((key) => !key.startsWith('leader')));
    return outcome;
  };
  return written;
}

describe('a store that a newer version has begun to use', () => {
  it.each(['observes', 'has not observed'])(
    'is not written by a replica that %s that; the replica leads no more, and ends',
    async (observes) => {
      const world = await startedReplicas();
      const leader = world.leader();
      leader.agent('east').connect({ instance: 'east' });
      await world.pass();
      let reason: string | undefined;
      void leader.world.server.over.then((why) => {
        reason = why;
      });
      if (observes === 'has not observed') leader.deafen();
      const newer = await upgrade(world.memory);
      expect(await newer.write([{ key: 'new', value: bytes('new') }])).toBe('written');
      const written = writesOf(leader);
      world.push({ 'apps/c.yaml': null, 'apps/a.yaml': configMapYaml('a', '2') });
      await world.pass(4_000);
      expect(leader.leads()).toBe(false);
      expect(reason).toMatch(/written by a newer version \(format \d+, known is \d+\)/);
      expect(written).toEqual([]);
      expect(heldAt(leader, 'east')).toEqual(abc);
      // Something waits to be written. No time passes any more: it is not waited for.
      leader.agent('east').disconnect();
      await leader.world.server.stop();
      expect(written).toEqual([]);
      expect(JSON.parse(new TextDecoder().decode((await newer.get('format'))?.value))).toEqual({
        format: STORE_FORMAT + 1,
      });
    },
  );

  it('refuses an older one that starts', async () => {
    const memory = createSharedMemory();
    await (await upgrade(memory)).write([{ key: 'new', value: bytes('new') }]);
    await expect(upgrade(memory, STORE_FORMAT)).rejects.toThrow(/written by a newer version/);
  });

  it('is marked in the same step as the first record of the newer one is written', async () => {
    const memory = createSharedMemory();
    const older = await upgrade(memory, STORE_FORMAT);
    await older.write([{ key: 'a', value: bytes('old') }]);
    const newer = await upgrade(memory);
    await older.write([{ key: 'a', value: bytes('older') }]);
    // Two at once: the mark of one is no conflict of the other.
    const both = [newer.write([{ key: 'b', value: bytes('b') }]), newer.write([{ key: 'c', value: bytes('c') }])];
    expect(await Promise.all(both)).toEqual(['written', 'written']);
    await expect(older.write([{ key: 'a', value: bytes('old again') }])).rejects.toThrow(/newer version/);
    await expect(older.get('b')).rejects.toThrow(/newer version/);
    expect(new TextDecoder().decode((await newer.get('a'))?.value)).toBe('older');
  });

  it('is marked again by the next batch when it was emptied, and a conflict stays a conflict', async () => {
    const memory = createSharedMemory();
    const store = await upgrade(memory, STORE_FORMAT);
    await store.write([{ key: 'a', value: bytes('a') }]);
    memory.lose();
    expect(await store.write([{ key: 'a', value: bytes('a'), ifVersion: 'of before' }])).toBe('conflict');
    expect(await store.write([{ key: 'a', value: bytes('a'), ifVersion: null }])).toBe('written');
    expect(memory.keys()).toEqual(['a', 'format']);
    memory.evict('format');
    expect(await store.write([{ key: 'a', value: bytes('b') }])).toBe('written');
    expect(memory.keys()).toEqual(['a', 'format']);
  });
});
