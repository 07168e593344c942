import { describe, expect, it } from 'vitest';
import type { ManagementServer } from '../../../src/compose/serve/management-server.ts';
import { createFleetWorld, type FleetWorld } from '../../support/fleet-world.ts';
import { configMapYaml, policyYaml } from '../../support/manifests.ts';
import { type ReplicaWorld, startedReplicas } from '../../support/replica-world.ts';
import { createSharedMemory } from '../../support/shared-memory-store.ts';
import { silentLog } from '../../support/silent-log.ts';
import { abc, base, names, restart, startedWorld } from '../../support/started-world.ts';

const more = { 'apps/d.yaml': configMapYaml('d', '1') };
const abcd = [...abc, '/ConfigMap/web/d'];
const clusterOf = (world: FleetWorld, name: string) =>
  world.server.api.clusters().find((cluster) => cluster.name === name);

describe('a suspended cluster', () => {
  it('receives no delta while others do, and receives the waiting changes once it is resumed', async () => {
    const world = await startedWorld();
    const { api } = world.server;
    const answer = await api.suspendCluster('east', 'ann', 'being moved');
    const suspended = { by: 'ann', at: expect.stringMatching(/^\d{4}-.*Z$/), reason: 'being moved' };
    expect(answer).toMatchObject({ ok: true, value: { name: 'east', suspended } });
    const before = world.agent('east').deltas.length;
    world.source.push({ ...more, 'apps/a.yaml': null });
    await world.settle();
    expect(world.agent('east').deltas).toHaveLength(before);
    expect(names(world, 'west')).toEqual(abcd.slice(1));
    const east = clusterOf(world, 'east');
    expect(east).toMatchObject({ suspended, inSync: false });
    expect(east?.message).toContain('suspended by ann');
    expect(east?.conditions.at(-1)).toMatchObject({ type: 'Suspended', status: 'True' });
    expect(await api.resumeCluster('east', 'bob')).toMatchObject({ ok: true, value: { suspended: null } });
    await world.settle();
    expect(names(world, 'east')).toEqual(abcd.slice(1));
    expect(clusterOf(world, 'east')).toMatchObject({ suspended: null, inSync: true });
  });

  it('stays suspended over a restart, and for an agent that reconnects', async () => {
    const world = await startedWorld();
    await world.server.api.suspendCluster('east', 'ann', '');
    await world.settle();
    const again = await restart(world);
    again.source.push({ ...base, ...more });
    again.agent('east').connect();
    again.agent('west').connect();
    await again.settle();
    expect(names(again, 'east')).toEqual(abc);
    expect(names(again, 'west')).toEqual(abcd);
    await again.server.api.resumeCluster('east', 'ann');
    await again.settle();
    expect(names(again, 'east')).toEqual(abcd);
  });

  it('does not receive a delta that waited for its count when it was suspended, and that is no failure', async () => {
    const errors: string[] = [];
    const store = createSharedMemory().open();
    const world = await createFleetWorld({ store, log: { ...silentLog, error: (message) => errors.push(message) } });
    const east = world.agent('east');
    world.source.push(base);
    east.connect();
    await world.settle();
    const { write } = store;
    const written = Promise.withResolvers<void>();
    store.write = (batch) => written.promise.then(() => write(batch));
    world.source.push({ 'apps/a.yaml': null });
    await world.clock.advance(10);
    const suspending = world.server.api.suspendCluster('east', 'ann', '');
    written.resolve();
    expect(await suspending).toMatchObject({ ok: true });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
    expect(errors).toEqual([]);
    east.connect();
    await world.server.api.resumeCluster('east', 'ann');
    await world.settle();
    expect(names(world, 'east')).toEqual(abc.slice(1));
  });

  it('receives the settings of the policy when it is resumed', async () => {
    const world = await startedWorld();
    const east = world.agent('east');
    await world.server.api.suspendCluster('east', 'ann', '');
    const told = east.settings.length;
    world.source.push({
      'fleet/policy.yaml': `${policyYaml(9)}  discovery: { excludedNamespaces: [kube-system] }\n`,
    });
    await world.settle();
    expect(east.settings).toHaveLength(told);
    await world.server.api.resumeCluster('east', 'ann');
    await world.settle();
    expect(east.settings.at(-1)?.discovery.excludedNamespaces).toEqual(['kube-system']);
  });

  it('must be there, and be suspended', async () => {
    const { api } = (await startedWorld()).server;
    expect(await api.suspendCluster('north', 'ann', '')).toMatchObject({ ok: false, kind: 'notFound' });
    expect(await api.resumeCluster('east', 'ann')).toMatchObject({ ok: false, kind: 'conflict' });
    expect(await api.suspendSource('other', 'ann', '')).toMatchObject({ ok: false, kind: 'notFound' });
    expect(await api.resumeSource('main', 'ann')).toMatchObject({ ok: false, kind: 'conflict' });
  });
});

describe('a suspended source', () => {
  it('contributes nothing new; the changes made meanwhile arrive together once it is resumed', async () => {
    const world = await startedWorld();
    const { api } = world.server;
    await api.suspendSource('main', 'ann', 'a bad merge');
    world.source.push({ 'apps/a.yaml': null, 'apps/b.yaml': configMapYaml('b', 'bad') });
    world.source.push(more);
    world.source.push({ 'apps/a.yaml': base['apps/a.yaml'] });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
    const [source] = api.sources();
    expect(source).toMatchObject({ suspended: { by: 'ann', reason: 'a bad merge' }, revision: 'r1' });
    expect(source?.message).toContain('a bad merge');
    await api.resumeSource('main', 'ann');
    await world.settle();
    expect(names(world, 'east')).toEqual(abcd);
    expect(api.sources()).toMatchObject([{ suspended: null, revision: 'r4' }]);
  });

  it('takes nothing away by a restart', async () => {
    const world = await startedWorld();
    await world.server.api.suspendSource('main', 'ann', '');
    await world.settle();
    const again = await restart(world);
    again.source.push({ ...base, 'apps/a.yaml': null, ...more });
    again.agent('east').connect();
    await again.settle();
    expect(names(again, 'east')).toEqual(abc);
    await again.server.api.resumeSource('main', 'ann');
    await again.settle();
    expect(names(again, 'east')).toEqual(abcd.slice(1));
  });
});

/**
 * The leader takes a command while the store does not answer, and loses its turn. With `others` the store answers the
 * other replicas, and the next leader takes these commands before the store answers the last one again.
 */
async function tellWithoutStore(
  world: ReplicaWorld,
  tell: (leader: ManagementServer) => Promise<{ readonly ok: boolean }>,
  others?: (leader: ManagementServer) => Promise<void>,
) {
  const [told, next] = [world.leader(), world.followers()[0]];
  if (next === undefined) throw new Error('no replica follows');
  if (others === undefined) world.memory.down();
  else told.store.cut();
  expect((await tell(told.world.server)).ok).toBe(true);
  // It does not lead again, and writes that need its lease fail.
  const { write } = told.store;
  told.store.write = async (batch) => {
    if (batch.some(({ key }) => key === 'leader')) throw new Error('the answer of the store was lost');
    return write(batch);
  };
  await world.pass(12_000);
  expect(told.leads()).toBe(false);
  if (others === undefined) world.memory.up();
  await world.pass(20_000);
  expect(next.leads()).toBe(true);
  await others?.(next.world.server);
  await world.pass();
  told.store.mend();
  await world.pass();
  return { told, next };
}

describe('of several servers', () => {
  it('the leader takes the command, all replicas follow it, and the next leader knows it', async () => {
    const world = await startedReplicas();
    const leader = world.leader();
    const [follower] = world.followers();
    if (follower === undefined) throw new Error('no replica follows');
    follower.agent('east').connect();
    leader.agent('west').connect();
    await world.pass();
    expect(await follower.world.server.api.suspendCluster('east', 'ann', '')).toMatchObject({
      ok: false,
      kind: 'notLeader',
      leader: `http://${leader.id}`,
    });
    expect((await leader.world.server.api.suspendCluster('east', 'ann', '')).ok).toBe(true);
    await world.pass();
    world.push(more);
    await world.pass();
    expect(names(follower.world, 'east')).toEqual(abc);
    expect(names(leader.world, 'west')).toEqual(abcd);
    leader.kill();
    await world.pass(20_000);
    expect(world.leader()).toBe(follower);
    expect(names(follower.world, 'east')).toEqual(abc);
    expect((await follower.world.server.api.resumeCluster('east', 'ann')).ok).toBe(true);
    await world.pass();
    expect(names(follower.world, 'east')).toEqual(abcd);
  });

  it('a leader that took a command while the store was down follows it, and has written it when it leads again', async () => {
    const world = await startedReplicas();
    const [told, other] = [world.leader(), world.followers()[0]];
    told.agent('east').connect();
    await world.pass();
    world.memory.down();
    expect((await told.world.server.api.suspendCluster('east', 'ann', '')).ok).toBe(true);
    await world.pass(12_000);
    expect(told.leads()).toBe(false);
    world.memory.up();
    await world.pass();
    world.push(more);
    await world.pass();
    expect(names(told.world, 'east')).toEqual(abc);
    if (!told.leads()) other?.kill();
    await world.pass(20_000);
    expect(told.leads()).toBe(true);
    const next = await world.add('c');
    expect(clusterOf(next.world, 'east')?.suspended).toMatchObject({ by: 'ann' });
    expect((await told.world.server.api.resumeCluster('east', 'ann')).ok).toBe(true);
    await world.pass();
    expect(names(told.world, 'east')).toEqual(abcd);
    expect(clusterOf(next.world, 'east')?.suspended).toBeNull();
  });

  it.each(['cluster', 'source'] as const)(
    'the next leader knows of a %s that was suspended at the last one while the store was away',
    async (kind) => {
      const world = await startedReplicas();
      const { told, next } = await tellWithoutStore(world, async ({ api }) =>
        kind === 'cluster' ? api.suspendCluster('east', 'ann', '') : api.suspendSource('main', 'ann', ''),
      );
      told.agent('west').connect();
      next.agent('east').connect();
      world.push(more);
      await world.pass(20_000);
      expect(names(next.world, 'east')).toEqual(kind === 'cluster' ? [] : abc);
      expect(names(told.world, 'west')).toEqual(kind === 'cluster' ? abcd : abc);
      const { api } = next.world.server;
      const resumed =
        kind === 'cluster' ? await api.resumeCluster('east', 'bob') : await api.resumeSource('main', 'bob');
      expect(resumed.ok).toBe(true);
      await world.pass();
      expect(names(next.world, 'east')).toEqual(abcd);
      expect(names(told.world, 'west')).toEqual(abcd);
      expect(clusterOf(told.world, 'east')?.suspended).toBeNull();
      expect(told.world.server.api.sources()).toMatchObject([{ suspended: null }]);
    },
  );

  it('the next leader knows what was resumed at the last one without the store, unless it has suspended it again itself', async () => {
    const world = await startedReplicas();
    for (const name of ['east', 'west']) await world.leader().world.server.api.suspendCluster(name, 'ann', '');
    await world.pass();
    const { told, next } = await tellWithoutStore(
      world,
      async ({ api }) => {
        await api.suspendCluster('west', 'bob', 'another reason');
        await api.resumeCluster('west', 'bob');
        return api.resumeCluster('east', 'bob');
      },
      async ({ api }) => {
        await api.resumeCluster('east', 'cleo');
        await api.suspendCluster('east', 'cleo', '');
      },
    );
    for (const replica of [told, next]) {
      expect(clusterOf(replica.world, 'east')?.suspended).toMatchObject({ by: 'cleo' });
      expect(clusterOf(replica.world, 'west')?.suspended).toBeNull();
    }
  });

  it('a suspended source admits nothing, and nothing older at a leader that has read less of it', async () => {
    const world = await startedReplicas();
    const leader = world.leader();
    const [follower] = world.followers();
    if (follower === undefined) throw new Error('no replica follows');
    follower.agent('east').connect();
    // Only the leader has read this.
    leader.world.source.push(more);
    await world.pass();
    expect(names(follower.world, 'east')).toEqual(abcd);
    expect((await leader.world.server.api.suspendSource('main', 'ann', '')).ok).toBe(true);
    await world.pass();
    leader.kill();
    await world.pass(20_000);
    expect(world.leader()).toBe(follower);
    follower.world.source.push({ ...more, 'apps/a.yaml': null });
    await world.pass();
    expect(names(follower.world, 'east')).toEqual(abcd);
    expect((await follower.world.server.api.resumeSource('main', 'ann')).ok).toBe(true);
    await world.pass();
    expect(names(follower.world, 'east')).toEqual(abcd.slice(1));
  });

  it('a new leader that receives a command still reads its sources anew before it admits a revision', async () => {
    const world = await startedReplicas();
    const [follower] = world.followers();
    if (follower === undefined) throw new Error('no replica follows');
    follower.agent('east').connect();
    // Only the leader has read this.
    world.leader().world.source.push(more);
    await world.pass();
    expect(names(follower.world, 'east')).toEqual(abcd);
    const look = Promise.withResolvers<void>();
    follower.world.source.onLook = () => look.promise;
    world.leader().kill();
    await world.pass(20_000);
    expect(world.leader()).toBe(follower);
    expect((await follower.world.server.api.suspendCluster('west', 'ann', '')).ok).toBe(true);
    await world.pass();
    expect(names(follower.world, 'east')).toEqual(abcd);
    expect(follower.world.server.api.sources()).toMatchObject([{ revision: 'r2' }]);
  });

  it('a shared memory that is lost does not resume anything', async () => {
    const world = await startedReplicas();
    const [follower] = world.followers();
    follower?.agent('east').connect();
    await world.pass();
    await world.leader().world.server.api.suspendCluster('east', 'ann', '');
    await world.pass();
    world.memory.lose();
    await world.pass(60_000);
    world.push(more);
    await world.pass();
    expect(follower === undefined ? [] : names(follower.world, 'east')).toEqual(abc);
    expect(await world.leader().store.get('suspended/cluster/east')).toBeDefined();
  });

  it('a follower writes a suspension again that the store and the leader have lost together', async () => {
    const world = await startedReplicas();
    const [leader, follower] = [world.leader(), world.followers()[0]];
    if (follower === undefined) throw new Error('no replica follows');
    await leader.world.server.api.suspendCluster('east', 'ann', '');
    await world.pass();
    const { write } = follower.store;
    follower.store.write = async (batch) => {
      if (batch.some(({ key }) => key === 'leader')) throw new Error('the answer of the store was lost');
      return write(batch);
    };
    leader.kill();
    world.memory.lose();
    const next = await world.add('c');
    next.world.source.push(base);
    await world.pass(60_000);
    expect(next.leads()).toBe(true);
    for (const { world: known } of [next, follower]) {
      expect(clusterOf(known, 'east')?.suspended).toMatchObject({ by: 'ann' });
    }
    expect(await next.world.server.api.resumeCluster('east', 'bob')).toMatchObject({ ok: true });
    await world.pass();
    expect(clusterOf(follower.world, 'east')?.suspended).toBeNull();
  });
});
