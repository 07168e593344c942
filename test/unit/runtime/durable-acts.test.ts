import { describe, expect, it } from 'vitest';
import { createMemoryStore } from '../../../src/adapters/stores/memory.ts';
import type { SnapshotStore } from '../../../src/ports/snapshot-store.ts';
import { createFleetWorld, type FleetWorld } from '../../support/fleet-world.ts';
import { startedReplicas } from '../../support/replica-world.ts';
import { base } from '../../support/started-world.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

/** A store whose writes wait for a person, and can be made to fail. */
function watchedStore() {
  const store = createMemoryStore();
  let gate: PromiseWithResolvers<void> | undefined;
  let failure: string | undefined;
  const watched: SnapshotStore = {
    ...store,
    write: async (writes) => {
      await gate?.promise;
      if (failure !== undefined) throw new Error(failure);
      return store.write(writes);
    },
  };
  return {
    store: watched,
    memory: store,
    hold: (): void => {
      gate = Promise.withResolvers();
    },
    release: (): void => {
      gate?.resolve();
      gate = undefined;
    },
    fail: (why: string | undefined): void => {
      failure = why;
    },
  };
}

async function started(store: SnapshotStore, clock = createVirtualClock()): Promise<FleetWorld> {
  const world = await createFleetWorld({ store, clock });
  world.source.push(base);
  for (const name of ['east', 'west']) world.agent(name).connect();
  await world.settle();
  return world;
}

/** As it is when the event loop has turned some times; no time passes meanwhile. */
async function state(written: Promise<boolean>): Promise<boolean | 'open'> {
  for (let turns = 0; turns < 20; turns += 1) await new Promise(setImmediate);
  return Promise.race([written, Promise.resolve('open' as const)]);
}

describe('the receipt of an act', () => {
  it('says that it is written when the store has it, without the wait in which writes are gathered', async () => {
    const { store, memory, hold, release } = watchedStore();
    const world = await started(store);
    hold();
    const done = await world.server.api.suspendCluster('east', 'ann', '');
    if (!done.ok) expect.fail(done.message);
    expect(await state(done.receipt.written)).toBe('open');
    release();
    expect(await state(done.receipt.written)).toBe(true);
    expect(await memory.get('suspended/cluster/east')).toBeDefined();
  });

  it('has the reason while the store fails, and is written by the act that is done again', async () => {
    const { store, fail } = watchedStore();
    const clock = createVirtualClock();
    const world = await started(store, clock);
    await world.server.api.suspendCluster('east', 'ann', '');
    await world.settle();
    fail('the disk is full');
    const done = await world.server.api.resumeCluster('east', 'ann');
    if (!done.ok) expect.fail(done.message);
    expect(await state(done.receipt.written)).toBe('open');
    expect(done.receipt.problem()).toBe('the disk is full');
    fail(undefined);
    // It is not suspended any more, and still this waits for the record.
    const again = await world.server.api.resumeCluster('east', 'ann');
    if (!again.ok) expect.fail(again.message);
    await clock.advance(0);
    expect(await state(again.receipt.written)).toBe(true);
    expect(await state(done.receipt.written)).toBe(true);
    expect(await world.server.api.resumeCluster('east', 'ann')).toMatchObject({ ok: false, kind: 'conflict' });
  });

  it('of a released name: released again, and given back twice, it changes nothing more', async () => {
    const world = await started(createMemoryStore());
    const { api } = world.server;
    const released = () => world.server.api.clusters().find(({ name }) => name === 'east')?.released;
    for (const _ of [1, 2]) {
      expect(await api.replaceCluster('east', 'ann')).toMatchObject({ ok: true, value: { released: true } });
      expect(released()).toBe(true);
    }
    for (const _ of [1, 2]) {
      expect(await api.giveBackCluster('east', 'ann')).toMatchObject({ ok: true, value: { released: false } });
      expect(released()).toBe(false);
    }
  });

  it('of a leader that loses its turn stays open, until another process has written the same', async () => {
    const world = await startedReplicas();
    const leader = world.leader();
    const { write } = leader.store;
    leader.store.write = async (batch) => {
      if (batch.some(({ key }) => key.startsWith('suspended/') || key === 'leader')) throw new Error('not now');
      return write(batch);
    };
    const done = await leader.world.server.api.suspendCluster('east', 'ann', '');
    if (!done.ok) expect.fail(done.message);
    await world.pass(30_000);
    expect(leader.leads()).toBe(false);
    expect(await state(done.receipt.written)).toBe('open');
    leader.store.write = write;
    // It writes the command itself at the next notice of the store.
    await world.pass(60_000);
    expect(await state(done.receipt.written)).toBe(true);
    expect(world.memory.keys()).toContain('suspended/cluster/east');
  });
});
