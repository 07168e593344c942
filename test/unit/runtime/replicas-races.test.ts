import { describe, expect, it } from 'vitest';
import type { Lease } from '../../../src/ports/lease.ts';
import { createBus } from '../../../src/runtime/bus.ts';
import type { ServerEvents } from '../../../src/runtime/events.ts';
import { recordKey } from '../../../src/runtime/ledger/records.ts';
import { createCandidacy, withFence } from '../../../src/runtime/replica/candidacy.ts';
import { createProbes } from '../../../src/runtime/replica/peers.ts';
import type { Sessions } from '../../../src/runtime/sessions.ts';
import { createJournal } from '../../../src/runtime/stored/journal.ts';
import { configMapYaml, placementYaml, policyYaml } from '../../support/manifests.ts';
import { createMemoryLease } from '../../support/memory-lease.ts';
import { discoverOne } from '../../support/mirrors.ts';
import {
  createReplicaWorld,
  type FakeReplica,
  heldAt,
  type ReplicaWorld,
  startedReplicas,
} from '../../support/replica-world.ts';
import { createSharedMemory, type SharedMemoryStore } from '../../support/shared-memory-store.ts';
import { silentLog } from '../../support/silent-log.ts';
import { abc, base } from '../../support/started-world.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const [, , KEY_C] = abc as [string, string, string];

function followerOf(world: ReplicaWorld): FakeReplica {
  const [follower] = world.followers();
  if (follower === undefined) throw new Error('there is no follower');
  return follower;
}

/** What is asked for with such a key is not answered, until it is let go. */
function holdReads(store: SharedMemoryStore, isHeld: (key: string) => boolean): () => void {
  const { get, list } = store;
  const gate = Promise.withResolvers<void>();
  let isOpen = false;
  store.get = async (key) => {
    if (!isOpen && isHeld(key)) await gate.promise;
    return get(key);
  };
  store.list = async function* (prefix) {
    if (!isOpen && isHeld(prefix)) await gate.promise;
    yield* list(prefix);
  };
  return () => {
    isOpen = true;
    gate.resolve();
  };
}

/** Batches with such a key fail, until they are let through again. */
function failWrites({ store }: FakeReplica, fails: (key: string) => boolean): () => void {
  const { write } = store;
  let isOver = false;
  store.write = async (batch) => {
    if (!isOver && batch.some(({ key }) => fails(key))) throw new Error('not now');
    return write(batch);
  };
  return () => {
    isOver = true;
  };
}

/** What is written with such a key is lost, and its writer does not know. */
function loseWrites({ store }: FakeReplica, isLost: (key: string) => boolean): void {
  const { write } = store;
  store.write = (batch) => write(batch.filter(({ key }) => !isLost(key)));
}

const removalsAt = (replica: FakeReplica, cluster: string): readonly string[] =>
  replica.agent(cluster).deltas.flatMap(({ removals }) => removals);

describe('a removal permit', () => {
  it('ends with its admission, also while the permits of the next admission are not read yet', async () => {
    const world = await startedReplicas();
    const follower = followerOf(world);
    const west = follower.agent('west');
    west.connect({ instance: 'west' });
    await world.pass();
    west.pause();
    world.push({ 'apps/a.yaml': configMapYaml('a', '2') });
    await world.pass();
    world.push({ 'apps/c.yaml': null });
    await world.pass();
    // It has leave, and waits for the slot.
    expect(follower.world.server.engine.outputs.get('west', KEY_C)).toMatchObject({ type: 'remove' });
    holdReads(follower.store, (key) => key === 'removal-permits/west');
    world.push({ 'apps/c.yaml': base['apps/c.yaml'] });
    await world.pass();
    world.push({ 'apps/c.yaml': null, 'apps/b.yaml': null, 'policy.yaml': policyYaml(1) });
    await world.pass();
    west.release('accepted');
    await world.pass();
    expect(removalsAt(follower, 'west')).toEqual([]);
    expect(heldAt(follower, 'west')).toEqual(abc);
  });

  it('is not written by a replica that lost its turn while it was reading the holds', async () => {
    const world = await startedReplicas();
    const first = world.leader();
    const second = followerOf(world);
    second.agent('west').connect({ instance: 'west' });
    await world.pass();
    loseWrites(first, (key) => key.startsWith('removal-permits/'));
    world.push({ 'apps/c.yaml': null });
    await world.pass(2_000);
    expect(second.world.server.engine.outputs.get('west', KEY_C)).toMatchObject({ reason: 'WaitsForLeader' });
    const read = holdReads(second.store, (key) => key.startsWith('held/'));
    const wake = first.freeze();
    await world.pass(12_000);
    expect(second.world.server.replica.view().leader?.id).toBe(second.id);
    expect(second.leads()).toBe(false);
    failWrites(second, (key) => key.startsWith('leader'));
    wake();
    await world.pass(30_000);
    expect(first.leads()).toBe(true);
    read();
    await world.pass();
    expect(removalsAt(second, 'west')).toEqual([]);
  });
});

describe('a store that was emptied', () => {
  it('ends no replica: a source that only another replica has configured stays', async () => {
    const world = await createReplicaWorld([]);
    const first = await world.add('a', { sources: ['main', 'other'] });
    first.world.sourceNamed('main').push(base);
    first.world
      .sourceNamed('other')
      .push({ 'other/x.yaml': configMapYaml('x', '1'), 'p.yaml': placementYaml('x', 'other/**') });
    await world.pass();
    const second = await world.add('b', { sources: ['main'] });
    second.world.source.push(base);
    second.agent('east').connect({ instance: 'east' });
    await world.pass();
    first.kill();
    const third = await world.add('c', { sources: ['main', 'other'] });
    third.world.sourceNamed('main').push(base);
    const begin = failWrites(third, (key) => key.startsWith('leader'));
    await world.pass(20_000);
    expect(second.leads()).toBe(true);
    const all = [...abc, '/ConfigMap/web/x'];
    expect(heldAt(second, 'east')).toEqual(all);
    // Its next heartbeat is later than the check by the others.
    const speak = failWrites(third, (key) => key.startsWith('replicas/'));
    await world.pass(1_000);
    world.memory.lose();
    await world.pass(4_000);
    speak();
    begin();
    await world.pass();
    expect(removalsAt(second, 'east')).toEqual([]);
    expect(heldAt(second, 'east')).toEqual(all);
  });
});

describe('the revocation of a cluster lease', () => {
  it('is dropped when the agent has connected to the replica that revokes', async () => {
    const world = await startedReplicas();
    const [leader, follower] = [world.leader(), followerOf(world)];
    leader.agent('west').connect({ instance: 'west' });
    await world.pass();
    leader.agent('west').disconnect();
    await world.pass();
    const letGo = holdReads(leader.store, (key) => key === 'cluster-leases/west');
    expect(await leader.world.server.api.replaceCluster('west', 'me')).toMatchObject({ ok: true });
    await world.pass(500);
    const another = leader.agent('west', 'another');
    expect(another.connect({ instance: 'another' })).toMatchObject({ type: 'admitted' });
    letGo();
    await world.pass();
    another.disconnect();
    follower.agent('west', 'another').connect({ instance: 'another' });
    await world.pass(10_000);
    expect(another.closed).toEqual([]);
    expect(another.isConnected()).toBe(true);
  });
});

describe('a request for the lease of a cluster', () => {
  it('that succeeds without an answer lets the records of that session be written, although it has ended since', async () => {
    const world = await startedReplicas();
    const follower = followerOf(world);
    const west = follower.agent('west');
    const { write } = follower.store;
    follower.store.write = async (batch) => {
      const outcome = await write(batch);
      if (!batch.some(({ key }) => key === 'cluster-leases/west')) return outcome;
      follower.store.write = write;
      throw new Error('the answer was lost');
    };
    west.connect({ instance: 'west' });
    await world.pass(400);
    expect(heldAt(follower, 'west')).toEqual(abc);
    west.disconnect();
    await world.pass();
    expect(world.memory.keys().filter((key) => key.startsWith('history/west/'))).toHaveLength(1);
    expect(world.memory.keys()).not.toContain('cluster-leases/west');
  });
});

describe('the decisions that a leader remembers', () => {
  it('is void when another has led since, also where a store that was lost counts terms anew', async () => {
    const clock = createVirtualClock();
    const memory = createSharedMemory();
    const elsewhere = createMemoryLease(clock);
    const away = new Set<string>();
    const candidate = (id: string) => {
      const store = memory.open();
      const journal = createJournal({ store, clock, log: silentLog });
      const { acquire, release } = elsewhere.of(id);
      const reached: Lease = {
        acquire: async () => (away.has(id) ? { type: 'failed', message: 'no answer' } : acquire()),
        release,
      };
      const lease = withFence(reached, store, id);
      const events = createBus<ServerEvents>({ log: silentLog });
      return createCandidacy({ lease, journal, events, clock, log: silentLog }, id);
    };
    const [first, second] = [candidate('a'), candidate('b')];
    first.start();
    await clock.advance(100);
    first.fleet.put('held/west/x', 'too many');
    second.start();
    await clock.advance(2_000);
    expect(memory.keys()).toContain('held/west/x');
    away.add('a');
    await clock.advance(12_000);
    expect(second.turn()).toBe(1);
    second.fleet.put('held/west/x', null);
    await clock.advance(2_000);
    expect(memory.keys()).not.toContain('held/west/x');
    away.delete('a');
    await clock.advance(2_000);
    await second.stop();
    memory.lose();
    await clock.advance(5_000);
    expect(first.turn()).toBe(2);
    expect(memory.keys()).not.toContain('held/west/x');
  });
});

describe('a request whether an agent lives', () => {
  it('is answered, also if it is asked while another one is being answered', async () => {
    const clock = createVirtualClock();
    const memory = createSharedMemory();
    const answers: (() => void)[] = [];
    const session = { probe: () => new Promise<boolean>((resolve) => void answers.push(() => resolve(true))) };
    const replica = (id: string, sessions: ReadonlyMap<string, unknown>) => {
      const store = memory.open();
      const probes = createProbes({ store, sessions: sessions as Sessions, clock, log: silentLog }, id);
      store.watch((event) => event.type === 'changed' && event.keys.includes('probes/west') && probes.wake('west'));
      return probes;
    };
    replica('a', new Map([['west', { session }]]));
    const [second, third] = [replica('b', new Map()), replica('c', new Map())];
    expect(second.probe('west', 'a/1')).toBe('asked');
    await clock.settle();
    expect(third.probe('west', 'a/1')).toBe('asked');
    await clock.settle();
    for (const answer of answers.splice(0)) answer();
    await clock.settle();
    for (const answer of answers.splice(0)) answer();
    await clock.settle();
    expect(third.probe('west', 'a/1')).toBe('alive');
  });
});

describe('a replica that has just begun', () => {
  it('has every revision that was admitted while it was reading, after any number of reads', async () => {
    const world = await startedReplicas();
    const declarations = Promise.withResolvers<void>();
    const begun = world.add('c', {
      prepare: (store) => {
        const { list } = store;
        let lists = 0;
        store.list = async function* (prefix) {
          // The first time it is read with everything that the ledger remembers.
          if (prefix === 'declared/' && lists++ > 0) await declarations.promise;
          yield* list(prefix);
        };
      },
    });
    await world.pass(400);
    world.push({ 'apps/c.yaml': null });
    await world.pass();
    declarations.resolve();
    const { world: own } = await begun;
    await world.pass();
    expect([...own.server.engine.inputs.files.entries('main')].map(({ key }) => key)).not.toContain('apps/c.yaml');
  });
});

describe('the end of a registration', () => {
  it('is not taken back by the leader, which reads the record before it could delete it', async () => {
    const world = await startedReplicas();
    const leader = world.leader();
    const follower = followerOf(world);
    follower.agent('east').connect();
    await world.pass();
    discoverOne(follower.world, 'east');
    await world.pass();
    follower.agent('east').disconnect();
    await world.pass();
    const letThrough = failWrites(leader, (key) => key === recordKey.registration('east'));
    world.push({ 'clusters/east/cluster.yaml': null });
    // Every two minutes the records of all clusters are read.
    await world.pass(130_000);
    expect(world.memory.peek(recordKey.registration('east'))).toBeDefined();
    letThrough();
    await world.pass(10_000);
    expect(world.memory.peek(recordKey.registration('east'))).toBeUndefined();
    for (const { inputs } of [leader, follower].map(({ world: { server } }) => server.engine)) {
      expect(inputs.snapshots.get('', 'east')).toBeUndefined();
      expect(inputs.agents.get('', 'east')).toBeUndefined();
    }
    // Its name is free for another cluster.
    world.push({ 'clusters/east/cluster.yaml': base['clusters/east/cluster.yaml'] ?? null });
    await world.pass();
    expect(leader.agent('east', 'id-of-another').connect().type).toBe('admitted');
  });
});
