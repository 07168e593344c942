import { describe, expect, it } from 'vitest';
import type { KindState } from '../../../src/model/agent/agent.ts';
import { configMapYaml } from '../../support/manifests.ts';
import {
  type FakeReplica,
  heldAt,
  type ReplicaWorld,
  startedReplicas,
  storedApprovals,
} from '../../support/replica-world.ts';
import { abc, base, guards } from '../../support/started-world.ts';

const services: KindState = { kind: '/Service', state: 'complete', message: '', scope: 'Namespaced' };
const cart = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'cart', namespace: 'shop' }, spec: {} };

/** Two replicas that know the live objects of two clusters, with one agent at each. */
async function knowingReplicas() {
  const world = await startedReplicas();
  const leader = world.leader();
  const [follower] = world.followers();
  if (follower === undefined) throw new Error('there is no follower');
  const places = [
    [leader, 'east'],
    [follower, 'west'],
  ] as const;
  for (const [at, cluster] of places) {
    at.agent(cluster).connect({ instance: cluster });
    at.agent(cluster).discovers({ upserts: [cart], kinds: [services] });
  }
  await world.pass();
  return { world, leader, follower };
}

function knownAt({ world: { server } }: FakeReplica, cluster: string): string {
  const { agents, snapshots, live } = server.engine.inputs;
  const warm = agents.get('', cluster)?.warm === true ? 'warm' : 'cold';
  return `${cluster} ${warm} ${snapshots.get('', cluster) === undefined ? 'unknown' : `${live.size(cluster)} live`}`;
}

/** Everything that the replicas know of their clusters while so much time passes. */
async function knownMeanwhile({ clock, replicas }: ReplicaWorld, milliseconds: number): Promise<readonly string[]> {
  const known = new Set<string>();
  for (let passed = 0; passed < milliseconds; passed += 50) {
    await clock.advance(50);
    for (const replica of replicas) for (const cluster of ['east', 'west']) known.add(knownAt(replica, cluster));
  }
  return [...known].sort();
}

const ALL = ['east warm 1 live', 'west warm 1 live'];

describe('a shared store that loses the records of clusters', () => {
  it('takes nothing of it away from the replicas that live', async () => {
    const { world } = await knowingReplicas();
    world.memory.lose();
    expect(await knownMeanwhile(world, 30_000)).toEqual(ALL);
    // A later version must be able to read the records.
    expect(world.memory.keys()).toContain('format');
  });

  it('takes nothing away of a cluster whose agent is at no replica, and is given it again', async () => {
    const { world, follower } = await knowingReplicas();
    follower.agent('west').disconnect();
    await world.pass(15_000);
    const before = world.memory.keys().filter((key) => key.includes('/west'));
    world.memory.lose();
    expect(await knownMeanwhile(world, 30_000)).toEqual(ALL);
    // No replica has the log of a cluster that it does not serve.
    expect(world.memory.keys().filter((key) => key.includes('/west'))).toEqual(
      before.filter((key) => !key.startsWith('history/')),
    );
    // The name still belongs to the cluster that it belonged to.
    const late = await world.add('c');
    late.world.source.push(base);
    await world.pass();
    expect(knownAt(late, 'west')).toBe('west warm 1 live');
    expect(late.agent('west', 'another').connect()).toMatchObject({ type: 'refused', reason: 'ClusterIdBound' });
    expect(late.agent('west').connect({ instance: 'west' }).type).toBe('admitted');
    await world.pass();
    expect(heldAt(late, 'west')).toEqual(abc);
  });

  it.each(['registrations/west', 'clusters/west/live'])('by an evicted %s gets it again', async (key) => {
    const { world, follower } = await knowingReplicas();
    follower.agent('west').disconnect();
    await world.pass(15_000);
    world.memory.evict(key);
    for (const { store } of world.replicas) store.cut();
    for (const { store } of world.replicas) store.mend();
    expect(await knownMeanwhile(world, 30_000)).toEqual(ALL);
    expect(world.memory.keys()).toContain(key);
  });
});

it.each(['before', 'after'])(
  'a replica that begins an epoch %s the others have written theirs again agrees with them',
  async (when) => {
    const { world, leader, follower } = await knowingReplicas();
    for (const { store } of [leader, follower]) store.cut();
    await world.pass(2_000);
    world.memory.lose();
    const before = new Set(world.replicas);
    if (when === 'after') for (const { store } of before) store.mend();
    const late = await world.add('c');
    const begun = late.world.server.replica.admitted().epoch;
    late.world.source.push(base);
    for (const { store } of before) store.mend();
    await world.pass(30_000);
    const { epoch } = JSON.parse(new TextDecoder().decode((await late.store.get('epoch'))?.value));
    const admitted = world.replicas.map(({ world }) => world.server.replica.admitted());
    expect(new Set(admitted.map((position) => JSON.stringify(position))).size).toBe(1);
    expect(admitted[0]?.epoch).toBeGreaterThanOrEqual(epoch);
    expect(epoch).toBe(begun);
    // Who moves to the one that came last, and back, is served and loses nothing.
    for (const to of [late, leader, late]) {
      world.push({ 'apps/a.yaml': configMapYaml('a', to.id) });
      for (const at of [leader, late]) at.agent('east').disconnect();
      await world.pass();
      expect(to.agent('east').connect({ instance: 'east' }).type).toBe('admitted');
      await world.pass(10_000);
      expect(heldAt(to, 'east')).toEqual(abc);
      expect(to.agent('east').deltas.at(-1)?.upserts[0]?.value.data).toEqual({ value: to.id });
    }
    expect(late.agent('east').deltas.flatMap(({ removals }) => removals)).toEqual([]);
    expect(late.agent('east').deltas.at(-1)?.position.epoch).toBeGreaterThanOrEqual(epoch);
    await world.pass(15_000);
    expect(JSON.parse(new TextDecoder().decode((await late.store.get('epoch'))?.value))).toEqual({ epoch });
  },
);

it('no replica knows a deregistered cluster any more, also if its name is declared again at once', async () => {
  const { world, leader, follower } = await knowingReplicas();
  follower.agent('west').disconnect();
  await world.pass(15_000);
  follower.store.cut();
  world.push({ 'clusters/west/cluster.yaml': null });
  await world.pass();
  world.push({ 'clusters/west/cluster.yaml': base['clusters/west/cluster.yaml'] });
  await world.pass();
  follower.store.mend();
  await world.pass(15_000);
  expect([knownAt(leader, 'west'), knownAt(follower, 'west')]).toEqual(['west cold unknown', 'west cold unknown']);
  expect(world.memory.keys()).not.toContain('registrations/west');
  expect(follower.agent('west', 'another').connect().type).toBe('admitted');
});

it('no replica reports the live objects of a cluster for the one that replaces it', async () => {
  const { world, leader, follower } = await knowingReplicas();
  follower.agent('west').disconnect();
  await world.pass();
  expect((await leader.world.server.api.replaceCluster('west', 'test')).ok).toBe(true);
  await world.pass();
  expect(follower.agent('west', 'another').connect().type).toBe('admitted');
  await world.pass(15_000);
  expect([knownAt(leader, 'west'), knownAt(follower, 'west')]).toEqual(['west cold unknown', 'west cold unknown']);
});

describe('what the leader has judged', () => {
  const few = guards({ maxRemovalsPerCluster: 2, maxRemovalPercentPerCluster: 100, maxRemovalPercentPerFleet: 100 });
  const files = Object.fromEntries(
    Array.from({ length: 8 }, (_, n) => [`apps/more-${n}.yaml`, configMapYaml(`more-${n}`, '1')]),
  );
  const gone = (...numbers: readonly number[]) => Object.fromEntries(numbers.map((n) => [`apps/more-${n}.yaml`, null]));

  async function judgingReplicas() {
    const { world, leader, follower } = await knowingReplicas();
    world.push({ ...files, 'fleet/policy.yaml': few });
    await world.pass();
    world.push(gone(0, 1));
    await world.pass();
    world.push(gone(2));
    await world.pass();
    return { world, leader, follower };
  }

  it('outlasts the loss of the store: small steps that were added up, and held removals', async () => {
    const { world, leader } = await judgingReplicas();
    const before = heldAt(leader, 'east');
    expect(before).toContain('/ConfigMap/web/more-2');
    world.memory.lose();
    await world.pass(30_000);
    expect(heldAt(leader, 'east')).toEqual(before);
    expect(world.memory.keys().filter((key) => /^(held|windows)/.test(key))).toHaveLength(4);
  });

  it('is not brought back by a replica that has judged before another one did', async () => {
    const { world, leader } = await judgingReplicas();
    const [set] = leader.world.server.api.removals();
    leader.agent('east').pause();
    expect((await leader.world.server.api.approve(set?.digest ?? '', 'me')).ok).toBe(true);
    await world.pass();
    expect(storedApprovals(world)).not.toEqual([]);
    leader.store.cut();
    leader.agent('east').release('lost');
    leader.agent('east').disconnect();
    await world.pass(20_000);
    const next = world.leader();
    expect(next).not.toBe(leader);
    next.agent('east').connect({ instance: 'east' });
    await world.pass(40_000);
    expect(heldAt(next, 'east')).not.toContain('/ConfigMap/web/more-2');
    expect(storedApprovals(world)).toEqual([]);
    leader.store.mend();
    await world.pass();
    world.memory.lose();
    next.kill();
    await world.pass(40_000);
    expect(leader.leads()).toBe(true);
    expect(storedApprovals(world)).toEqual([]);
  });
});
