import { describe, expect, it } from 'vitest';
import { LEASE_DURATION_MS } from '../../../src/adapters/lease/observed-lease.ts';
import { createStoreLease } from '../../../src/adapters/stores/store-lease.ts';
import { lockStore, type StoreLock } from '../../../src/runtime/replica/store-lock.ts';
import { createFleetWorld, type FakeAgents, type FleetWorld } from '../../support/fleet-world.ts';
import { configMapYaml } from '../../support/manifests.ts';
import { createReplicaWorld } from '../../support/replica-world.ts';
import { createSharedMemory, type SharedMemory, type SharedMemoryStore } from '../../support/shared-memory-store.ts';
import { silentLog } from '../../support/silent-log.ts';
import { base } from '../../support/started-world.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';

interface Place {
  readonly clock: VirtualClock;
  readonly memory: SharedMemory;
  readonly agents: FakeAgents;
}

interface Sole {
  readonly world: FleetWorld;
  readonly store: SharedMemoryStore;
  readonly lock: StoreLock;
  /** Why it had to end; undefined: it need not. */
  over(): string | undefined;
}

function newPlace(): Place {
  return {
    clock: createVirtualClock(),
    memory: createSharedMemory(),
    agents: { listener: undefined, known: new Map() },
  };
}

function lockOf({ clock }: Place, store: SharedMemoryStore, id: string): Promise<StoreLock> {
  const lease = createStoreLease({ store, clock }, { key: 'leader', identity: id });
  return lockStore({ lease, clock, log: silentLog }, { key: 'leader', durationMs: LEASE_DURATION_MS });
}

/** A server with `--replicas one`. */
async function startSole(place: Place, id: string): Promise<Sole> {
  const store = place.memory.open();
  const lock = await within(place, lockOf(place, store, id));
  const world = await createFleetWorld({ ...place, store, lock });
  let reason: string | undefined;
  void world.server.over.then((why) => {
    reason = why;
  });
  return { world, store, lock, over: () => reason };
}

/** Lets time pass until it is settled, half a minute at most. */
async function within<Value>({ clock }: Place, promise: Promise<Value>): Promise<Value> {
  let isSettled = false;
  const settled = promise.finally(() => {
    isSettled = true;
  });
  settled.catch(() => undefined);
  for (let passed = 0; !isSettled && passed < 30_000; passed += 200) await clock.advance(200);
  if (!isSettled) throw new Error('nothing has come of it');
  return settled;
}

async function pass({ clock }: Place, milliseconds: number): Promise<void> {
  for (let passed = 0; passed < milliseconds; passed += 200) await clock.advance(200);
}

describe('a single server on a store that others can use', () => {
  it('reports that it locks an emptied store anew', async () => {
    const place = newPlace();
    const { store, lock } = await startSole(place, 'only');
    place.memory.lose();
    const asked = Promise.withResolvers<void>();
    const { get } = store;
    store.get = async (key) => {
      await asked.promise;
      return get(key);
    };
    await pass(place, 2_000);
    expect(lock.problem()).toBe('the store is being locked anew');
    asked.resolve();
    await pass(place, 2_000);
    expect(lock.problem()).toBeUndefined();
  });

  it('refuses to be the second one, and names the first', async () => {
    const place = newPlace();
    const first = await startSole(place, 'first');
    await expect(startSole(place, 'second')).rejects.toThrow(
      /server first uses the store, and lives.*--replicas several/,
    );
    first.world.source.push(base);
    await pass(place, 5_000);
    expect(first.over()).toBeUndefined();
  });

  it('is refused by several that elect a leader there', async () => {
    const several = await createReplicaWorld(['a']);
    await several.pass();
    const place = { ...newPlace(), clock: several.clock, memory: several.memory };
    await expect(startSole(place, 'second')).rejects.toThrow(/server a uses the store/);
  });

  it('waits no longer for one that was killed than its lease lasts, and not at all for one that was stopped', async () => {
    const place = newPlace();
    const first = await startSole(place, 'first');
    await pass(place, 3_000);
    first.store.cut('killed');
    const killedAt = place.clock.monotonic();
    const second = await startSole(place, 'second');
    expect(place.clock.monotonic() - killedAt).toBeLessThan(LEASE_DURATION_MS + 1_000);
    await within(place, second.world.server.stop());
    await second.lock.stop();
    const stoppedAt = place.clock.monotonic();
    await startSole(place, 'third');
    expect(place.clock.monotonic() - stoppedAt).toBeLessThan(500);
  });

  it('continues while the store is away, and when it returns empty or as an older copy', async () => {
    const place = newPlace();
    await startSole(place, 'before').then(({ lock }) => lock.stop());
    const older = place.memory.copy();
    const only = await startSole(place, 'only');
    only.world.source.push(base);
    only.world.agent('east').connect();
    await pass(place, 5_000);
    const values = (): unknown =>
      only.world
        .agent('east')
        .deltas.flatMap(({ upserts }) => upserts.map(({ value }) => value.data))
        .at(-1);
    const change = async (value: string): Promise<void> => {
      only.world.source.push({ 'apps/a.yaml': configMapYaml('a', value) });
      await pass(place, 3_000);
    };
    place.memory.down();
    await pass(place, 60_000);
    await change('2');
    expect(values()).toEqual({ value: '2' });
    place.memory.up();
    place.memory.lose();
    await change('3');
    expect(values()).toEqual({ value: '3' });
    place.memory.fallBack(older);
    await pass(place, LEASE_DURATION_MS + 2_000);
    await change('4');
    expect(values()).toEqual({ value: '4' });
    expect(only.over()).toBeUndefined();
    expect(place.memory.keys()).toContain('clusters/east/entries');
  });

  it('writes and sends nothing more when another one has taken the store while it was cut off, and ends', async () => {
    const place = newPlace();
    const first = await startSole(place, 'first');
    first.world.source.push(base);
    first.world.agent('east').connect();
    await pass(place, 5_000);
    first.store.cut();
    const second = await startSole({ ...place, agents: { listener: undefined, known: new Map() } }, 'second');
    second.world.source.push(base);
    await pass(place, 2_000);
    const { write } = first.store;
    const written: string[] = [];
    first.store.write = async (batch) => {
      const outcome = await write(batch);
      if (outcome === 'written') written.push(...batch.flatMap(({ key, value }) => (value === undefined ? [] : [key])));
      return outcome;
    };
    first.store.mend();
    await pass(place, 400);
    first.world.source.push({ 'apps/a.yaml': configMapYaml('a', '2') });
    await pass(place, 4_000);
    expect(first.world.agent('east').deltas).toHaveLength(1);
    expect(first.world.server.api.clusters().find(({ name }) => name === 'east')?.problem).toMatch(/^StoreTaken/);
    await pass(place, LEASE_DURATION_MS);
    expect(first.over()).toMatch(/server second uses the store, and lives/);
    await within(place, first.world.server.stop());
    expect(written).toEqual([]);
    expect(second.over()).toBeUndefined();
  });
});
