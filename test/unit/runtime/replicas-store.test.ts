import { describe, expect, it } from 'vitest';
import { configMapYaml } from '../../support/manifests.ts';
import { createMemoryLease } from '../../support/memory-lease.ts';
import { discoverOne, kindsOf, liveService, liveSlice, mirrorYaml } from '../../support/mirrors.ts';
import {
  createReplicaWorld,
  type FakeReplica,
  heldAt,
  type ReplicaWorld,
  startedReplicas,
} from '../../support/replica-world.ts';
import { abc, base, guards } from '../../support/started-world.ts';

const [KEY_A] = abc as [string];
const SLICE = 'discovery.k8s.io/EndpointSlice/web/west-shop-1';

async function connected(): Promise<{ world: ReplicaWorld; leader: FakeReplica; follower: FakeReplica }> {
  const world = await startedReplicas();
  const leader = world.leader();
  const [follower] = world.followers();
  if (follower === undefined) throw new Error('there is no follower');
  leader.agent('east').connect({ instance: 'east' });
  follower.agent('west').connect({ instance: 'west' });
  await world.pass();
  return { world, leader, follower };
}

function removed(world: ReplicaWorld): readonly string[] {
  const [any] = world.replicas;
  return ['east', 'west'].flatMap((cluster) => any?.agent(cluster).deltas.flatMap(({ removals }) => removals) ?? []);
}

function valueAt(replica: FakeReplica, cluster: string): unknown {
  const upserts = replica.agent(cluster).deltas.flatMap((delta) => delta.upserts);
  return (upserts.findLast(({ key }) => key === KEY_A)?.value.data as Record<string, unknown> | undefined)?.value;
}

describe('a replica that is new while the others are gone', () => {
  it('writes nothing of a cluster that the store has already, however soon its agent connects', async () => {
    const { world, leader, follower } = await connected();
    discoverOne(leader.world, 'east');
    await world.pass();
    leader.kill();
    follower.kill();
    const written: string[] = [];
    const fresh = await world.add('c', {
      prepare: (store) => {
        const { write } = store;
        store.write = (writes) => {
          written.push(...writes.flatMap(({ key, value }) => (value === undefined ? [] : [key])));
          return write(writes);
        };
      },
    });
    expect(fresh.agent('east').connect({ instance: 'east' }).type).toBe('admitted');
    await world.pass(60_000);
    expect(written.filter((key) => key.startsWith('clusters/east/'))).toEqual([]);
    fresh.world.agent('east').discovers({ upserts: [liveSlice('shop', ['10.0.0.9'])] });
    await world.pass();
    expect(written.filter((key) => key.startsWith('clusters/east/'))).not.toEqual([]);
  });
});

describe('a shared store that does not answer', () => {
  it('pauses admitting, and nothing else: an agent is served, also at another replica', async () => {
    const { world, leader, follower } = await connected();
    leader.agent('east').failing.add('ConfigMap/web/a');
    world.memory.down();
    await world.pass(20_000);
    world.push({ 'apps/a.yaml': configMapYaml('a', '2') });
    await world.pass(20_000);
    expect([valueAt(leader, 'east'), valueAt(follower, 'west')]).toEqual(['1', '1']);
    expect(follower.world.server.notReady()).toEqual([]);
    // It has lost its records, and receives them again.
    leader.agent('east').abandon();
    leader.agent('east').restore([]);
    expect(follower.agent('east').connect({ instance: 'east' }).type).toBe('admitted');
    await world.pass();
    expect(heldAt(follower, 'east')).toEqual(abc);
    world.memory.up();
    await world.pass(20_000);
    expect([valueAt(follower, 'east'), valueAt(follower, 'west')]).toEqual(['2', '2']);
    expect(removed(world)).toEqual([]);
  });

  it('does not pause admitting where the lease is elsewhere; the others are notified once it answers again', async () => {
    const world = await createReplicaWorld([]);
    const lease = createMemoryLease(world.clock);
    for (const id of ['a', 'b']) await world.add(id, { lease: lease.of(id) });
    world.push(base);
    await world.pass();
    const leader = world.leader();
    const [follower] = world.followers() as [FakeReplica];
    leader.agent('east').connect();
    follower.agent('west').connect();
    await world.pass();
    world.memory.down();
    world.push({ 'apps/a.yaml': configMapYaml('a', '2') });
    await world.pass(10_000);
    expect([valueAt(leader, 'east'), valueAt(follower, 'west')]).toEqual(['2', '1']);
    world.memory.up();
    await world.pass(20_000);
    expect(valueAt(follower, 'west')).toBe('2');
  });

  it('takes no write while its memory is full: the admission stays, and admitting continues when there is room', async () => {
    const { world, leader, follower } = await connected();
    world.memory.refusing = "OOM command not allowed when used memory > 'maxmemory'";
    world.push({ 'apps/a.yaml': configMapYaml('a', '2') });
    await world.pass(20_000);
    expect([valueAt(leader, 'east'), valueAt(follower, 'west')]).toEqual(['1', '1']);
    world.memory.refusing = undefined;
    await world.pass(30_000);
    expect([valueAt(leader, 'east'), valueAt(follower, 'west')]).toEqual(['2', '2']);
  });
});

describe('a shared store that was lost', () => {
  it('is filled again by the living replicas, and a new replica starts from it', async () => {
    const { world, leader, follower } = await connected();
    const before = leader.agent('east').admitted;
    world.memory.lose();
    await world.pass(30_000);
    world.push({ 'apps/a.yaml': configMapYaml('a', '2') });
    await world.pass(10_000);
    expect([valueAt(leader, 'east'), valueAt(follower, 'west')]).toEqual(['2', '2']);
    expect(leader.agent('east').admitted?.epoch).toBeGreaterThanOrEqual(before?.epoch ?? 0);
    const late = await world.add('c');
    leader.agent('east').disconnect();
    await world.pass();
    expect(late.agent('east').connect({ instance: 'east' }).type).toBe('admitted');
    await world.pass();
    expect(late.agent('east').deltas).toHaveLength(2);
    expect(removed(world)).toEqual([]);
  });

  it('receives a part of the first snapshot of a cluster: the other replicas take nothing for gone', async () => {
    const { world, leader, follower } = await connected();
    const many = Array.from({ length: 1_200 }, (_, at) => liveService(`s${at}`));
    const percent = { maxRemovalPercentPerCluster: 100, maxRemovalPercentPerFleet: 100 };
    const files = {
      'mirror.yaml': mirrorYaml('shared', 'names: [west]', 'names: [east]'),
      'policy.yaml': guards({ maxRemovalsPerCluster: 10_000, maxRemovalsPerFleet: 10_000, ...percent }),
    };
    world.push(files);
    await world.pass();
    follower.world.agent('west').discovers({ upserts: many, kinds: kindsOf() });
    await world.pass();
    const held = heldAt(leader, 'east').length;
    expect(held).toBeGreaterThan(many.length);
    follower.kill();
    world.memory.lose();
    const late = await world.add('c');
    late.world.source.push({ ...base, ...files });
    await world.pass(60_000);
    expect(late.agent('west').connect({ instance: 'west' }).type).toBe('admitted');
    await world.pass();
    late.world.agent('west').discovers({ upserts: many, kinds: kindsOf() });
    // The first part is staged when the step has been measured.
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    late.agent('west').disconnect();
    await world.pass(60_000);
    expect(heldAt(leader, 'east')).toHaveLength(held);
    expect(removed(world)).toEqual([]);
  });

  it('is replaced by an older copy: no output becomes older', async () => {
    const { world, leader, follower } = await connected();
    const copy = world.memory.copy();
    world.push({ 'apps/a.yaml': configMapYaml('a', '2') });
    await world.pass();
    world.memory.fallBack(copy);
    await world.pass(30_000);
    const late = await world.add('c');
    leader.agent('east').disconnect();
    late.agent('east').connect({ instance: 'east' });
    follower.agent('west').disconnect();
    late.agent('west').connect({ instance: 'west' });
    await world.pass();
    expect([valueAt(late, 'east'), valueAt(late, 'west')]).toEqual(['2', '2']);
    expect(late.agent('east').deltas).toHaveLength(2);
    world.push({ 'apps/a.yaml': configMapYaml('a', '3') });
    late.world.source.push({ ...base, 'apps/a.yaml': configMapYaml('a', '3') });
    await world.pass();
    expect([valueAt(late, 'east'), valueAt(late, 'west')]).toEqual(['3', '3']);
    expect(removed(world)).toEqual([]);
  });

  it('is replaced by an older copy while the replica that serves a cluster cannot write: its services stay as they were', async () => {
    const { world, leader, follower } = await connected();
    world.push({ 'mirror.yaml': mirrorYaml('shared', 'names: [west]', 'names: [east]') });
    discoverOne(follower.world, 'west');
    await world.pass();
    const copy = world.memory.copy();
    follower.agent('west').discovers({ upserts: [liveSlice('shop', ['10.0.0.2'])] });
    await world.pass();
    const address = (): string => {
      const upserts = leader.agent('east').deltas.flatMap((delta) => delta.upserts);
      return JSON.stringify(upserts.findLast(({ key }) => key === SLICE)?.value);
    };
    expect(address()).toContain('10.0.0.2');
    const before = leader.agent('east').deltas.length;
    const goOn = follower.freeze();
    world.memory.fallBack(copy);
    await world.pass(2_000);
    expect(leader.agent('east').deltas).toHaveLength(before);
    goOn();
    await world.pass(30_000);
    expect(leader.agent('east').deltas).toHaveLength(before);
    follower.agent('west').discovers({ upserts: [liveSlice('shop', ['10.0.0.3'])] });
    await world.pass();
    expect(address()).toContain('10.0.0.3');
  });

  it('misses single records: they are written again', async () => {
    const { world, leader } = await connected();
    for (const key of world.memory.keys())
      if (/^(trees|clusters|admission|cluster-leases)/.test(key)) world.memory.evict(key);
    await world.pass(70_000);
    const late = await world.add('c');
    leader.agent('east').disconnect();
    await world.pass();
    expect(late.agent('east').connect({ instance: 'east' }).type).toBe('admitted');
    await world.pass();
    expect(late.agent('east').deltas).toHaveLength(1);
    expect(removed(world)).toEqual([]);
  });

  it('together with every server, costs nothing: agents go on, nothing is removed or written', async () => {
    const { world, leader, follower } = await connected();
    leader.kill();
    follower.kill();
    world.memory.lose();
    const fresh = await world.add('c');
    await world.pass(10_000);
    fresh.world.source.push(base);
    await world.pass();
    fresh.agent('east').connect();
    fresh.agent('west').connect();
    await world.pass(20_000);
    expect(fresh.agent('east').deltas).toHaveLength(1);
    expect(fresh.agent('west').deltas).toHaveLength(1);
  });
});

describe('a replica that is cut off from the store', () => {
  it('leads no more, sends nothing to an agent that has seen more, and catches up', async () => {
    const { world, leader, follower } = await connected();
    leader.store.cut();
    await world.pass(20_000);
    expect([leader.leads(), follower.leads()]).toEqual([false, true]);
    follower.world.source.push({ 'apps/a.yaml': configMapYaml('a', '2') });
    await world.pass();
    expect(follower.agent('east').connect({ instance: 'east' }).type).toBe('admitted');
    await world.pass();
    expect(valueAt(follower, 'east')).toBe('2');
    const admitted = follower.agent('east').admitted;
    // The agent connects to the leader, which knows nothing of that admission.
    follower.agent('east').disconnect();
    await world.pass();
    leader.agent('east').connect({ instance: 'east' });
    await world.pass();
    expect(leader.agent('east').admitted).toEqual(admitted);
    expect(leader.agent('east').deltas).toHaveLength(2);
    expect(leader.world.server.api.clusters().find(({ name }) => name === 'east')?.problem).toMatch(/^ServerBehind/);
    leader.store.mend();
    leader.world.source.push({ 'apps/a.yaml': configMapYaml('a', '2') });
    world.push({ 'apps/b.yaml': configMapYaml('b', '2') });
    await world.pass(10_000);
    expect(leader.agent('east').deltas).toHaveLength(3);
    expect(leader.agent('east').admitted).toEqual(follower.agent('west').admitted);
  });

  it('and whose last writes arrive late, when another one leads, has no effect', async () => {
    const { world, leader, follower } = await connected();
    const { write } = leader.store;
    const late: (() => void)[] = [];
    leader.store.write = async (batch) => {
      await new Promise<void>((resolve) => void late.push(resolve));
      return write(batch);
    };
    leader.world.source.push({ 'apps/a.yaml': configMapYaml('a', 'late') });
    await world.pass(20_000);
    expect([leader.leads(), follower.leads()]).toEqual([false, true]);
    follower.world.source.push({ 'apps/a.yaml': configMapYaml('a', '2') });
    await world.pass();
    const now = await follower.store.get('admission');
    leader.store.write = write;
    for (const go of late) go();
    await world.pass();
    expect(await follower.store.get('admission')).toEqual(now);
    expect([valueAt(follower, 'west'), valueAt(leader, 'east')]).toEqual(['2', '2']);
  });
});

describe('a replica that the store does not notify of the writes of others', () => {
  it('finds them all the same, after a while: claims, records of clusters, and removal permits', async () => {
    const { world, leader, follower } = await connected();
    // Of west alone: the leader has no removal of its own on which it would hurry to write.
    world.push({ 'clusters/west/w.yaml': configMapYaml('w', '1') });
    await world.pass();
    const withW = [...abc, '/ConfigMap/web/w'];
    follower.deafen();
    leader.deafen();
    const east = (): unknown => follower.world.server.api.clusters().find(({ name }) => name === 'east')?.counts.failed;
    leader.agent('east').failing.add('ConfigMap/web/a');
    world.push({ 'apps/a.yaml': configMapYaml('a', '2'), 'clusters/west/w.yaml': null });
    await world.pass();
    expect([east(), heldAt(follower, 'west')]).toEqual([0, withW]);
    await world.pass(130_000);
    expect([east(), heldAt(follower, 'west')]).toEqual([1, abc]);
    follower.agent('east').connect({ instance: 'east' });
    await world.pass(130_000);
    expect(leader.agent('east').closed).toEqual(['ClaimLost']);
  });
});
