import { describe, expect, it } from 'vitest';
import { comparePositions } from '../../../src/model/fleet/output.ts';
import { createCutWorld } from '../../support/cut-world.ts';
import { configMapYaml } from '../../support/manifests.ts';
import { createMemoryLease } from '../../support/memory-lease.ts';
import { createReplicaWorld, type FakeReplica, type ReplicaWorld } from '../../support/replica-world.ts';
import { silentLog } from '../../support/silent-log.ts';
import { abc, base, names } from '../../support/started-world.ts';

const more = { 'apps/d.yaml': configMapYaml('d', '1') };
const abcd = [...abc, '/ConfigMap/web/d'];

/** Two replicas that have read the first of these sources, and the others unless `others` is false. */
async function replicasWithLease(where: string, sources: readonly string[] = ['main'], others = true) {
  const world = await createReplicaWorld([]);
  const lease = createMemoryLease(world.clock);
  for (const id of ['a', 'b']) {
    await world.add(id, { sources, ...(where === 'elsewhere' ? { lease: lease.of(id) } : {}) });
  }
  world.push(base);
  for (const replica of world.replicas) {
    for (const name of sources.slice(1)) {
      const source = replica.world.sourceNamed(name);
      if (others) source.push({ 'clusters/west/f.yaml': configMapYaml('f', '1') });
      else source.condition({ state: 'failing' });
    }
  }
  await world.pass();
  return world;
}

/** Admissions of this replica do not reach the store until the returned function is called. */
function holdAdmissions({ store }: FakeReplica): () => void {
  const { write } = store;
  const held = Promise.withResolvers<void>();
  store.write = async (batch) => {
    if (batch.some(({ key }) => key === 'admission')) await held.promise;
    return write(batch);
  };
  return held.resolve;
}

/** By replica and source, the revision that is admitted. */
function revisionsAt({ replicas }: ReplicaWorld): readonly Readonly<Record<string, string | null>>[] {
  return replicas.map(({ world }) =>
    Object.fromEntries(world.server.api.sources().map(({ name, revision }) => [name, revision])),
  );
}

describe('a revision that the leader has proposed, of a source that is suspended before it is admitted', () => {
  it('is not admitted while the store is away', async () => {
    const world = await replicasWithLease('elsewhere');
    const leader = world.leader();
    const { api } = leader.world.server;
    leader.agent('east').connect();
    await world.pass();
    world.memory.down();
    world.push(more);
    await world.pass(400);
    expect(await api.suspendSource('main', 'ann', '')).toMatchObject({ ok: true, value: { revision: 'r1' } });
    await world.pass(10_000);
    expect(names(leader.world, 'east')).toEqual(abc);
    world.memory.up();
    await world.pass(60_000);
    expect(names(leader.world, 'east')).toEqual(abc);
    expect(revisionsAt(world)).toEqual([{ main: 'r1' }, { main: 'r1' }]);
    expect((await api.resumeSource('main', 'ann')).ok).toBe(true);
    await world.pass();
    expect(names(leader.world, 'east')).toEqual(abcd);
    expect(revisionsAt(world)).toEqual([{ main: 'r2' }, { main: 'r2' }]);
  });

  it.each(['in the store', 'elsewhere'])(
    'is not admitted if the store takes it afterwards, with a lease %s; what the others have proposed is',
    async (where) => {
      const world = await replicasWithLease(where, ['main', 'extra']);
      const leader = world.leader();
      const [follower] = world.followers();
      if (follower === undefined) throw new Error('there is no follower');
      const { api } = leader.world.server;
      leader.agent('east').connect();
      follower.agent('west').connect();
      await world.pass();
      const letThrough = holdAdmissions(leader);
      leader.world.source.push({ ...more, 'apps/a.yaml': null });
      leader.world.sourceNamed('extra').push({ 'clusters/east/e.yaml': configMapYaml('e', '1') });
      await world.pass(400);
      expect(await api.suspendSource('main', 'ann', '')).toMatchObject({ ok: true, value: { revision: 'r1' } });
      await world.pass(4_000);
      letThrough();
      await world.pass(20_000);
      expect(names(leader.world, 'east')).toEqual([...abc, '/ConfigMap/web/e']);
      expect(names(follower.world, 'west')).toEqual([...abc, '/ConfigMap/web/f']);
      const next = await world.add('c', { sources: ['main', 'extra'] });
      await world.pass();
      expect(revisionsAt(world)).toEqual(Array(3).fill({ main: 'r1', extra: 'r2' }));
      next.agent('west').connect();
      await world.pass();
      expect(names(next.world, 'west')).toEqual([...abc, '/ConfigMap/web/f']);
      expect((await api.resumeSource('main', 'ann')).ok).toBe(true);
      await world.pass(20_000);
      expect(names(leader.world, 'east')).toEqual([...abcd.slice(1), '/ConfigMap/web/e']);
      expect(names(next.world, 'west')).toEqual([...abcd.slice(1), '/ConfigMap/web/f']);
    },
  );

  it('does not reach a store that answers again later', async () => {
    const world = await replicasWithLease('in the store');
    const leader = world.leader();
    const west = world.followers()[0]?.agent('west');
    west?.connect();
    await world.pass();
    const { admitted } = leader.world.server.replica;
    const before = admitted();
    world.memory.down();
    world.push(more);
    // The leader retries the write.
    await world.pass(2_400);
    expect((await leader.world.server.api.suspendSource('main', 'ann', '')).ok).toBe(true);
    world.memory.up();
    await world.pass();
    expect(leader.leads()).toBe(true);
    expect(comparePositions(admitted(), before)).toBeGreaterThan(0);
    expect(west?.deltas.flatMap(({ upserts }) => upserts.map(({ key }) => key)).sort()).toEqual(abc);
    const next = await world.add('c');
    await world.pass();
    expect(revisionsAt(world)).toEqual(Array(3).fill({ main: 'r1' }));
    expect(next.world.server.replica.admitted()).toEqual(admitted());
  });

  it('is not admitted if nothing of the source ever was', async () => {
    const sources = ['main', 'extra', 'unread'];
    const world = await replicasWithLease('in the store', sources, false);
    const leader = world.leader();
    const { api } = leader.world.server;
    const extra = leader.world.sourceNamed('extra');
    const letThrough = holdAdmissions(leader);
    extra.push({ 'clusters/east/e.yaml': configMapYaml('e', '1') });
    await world.pass(400);
    extra.push({ 'clusters/east/e.yaml': null, 'clusters/east/g.yaml': configMapYaml('g', '1') });
    expect(await api.suspendSource('extra', 'ann', '')).toMatchObject({ ok: true, value: { revision: null } });
    letThrough();
    await world.pass();
    const next = await world.add('c', { sources });
    next.agent('east').connect();
    await world.pass();
    expect(names(next.world, 'east')).toEqual(abc);
    expect(revisionsAt(world)).toEqual(Array(3).fill({ main: 'r1', extra: null, unread: null }));
    expect((await api.resumeSource('extra', 'ann')).ok).toBe(true);
    await world.pass();
    expect(names(next.world, 'east')).toEqual([...abc, '/ConfigMap/web/g']);
    expect(revisionsAt(world)).toEqual(Array(3).fill({ main: 'r1', extra: 'r2', unread: null }));
  });
});

describe('a revision whose commit is under way when a person asks to suspend its source', () => {
  it('is what the answer of the only server says is admitted', async () => {
    const world = await createCutWorld([1]);
    const { api } = world.server;
    world.source.push(base);
    await world.settle();
    world.agent('east').connect();
    await world.settle();
    world.hold();
    world.source.push(more);
    expect(api.sources()).toMatchObject([{ revision: 'r1' }]);
    const answer = api.suspendSource('main', 'ann', '');
    await world.settle();
    expect(await answer).toMatchObject({ ok: true, value: { revision: 'r2' } });
    world.source.push({ 'apps/a.yaml': null });
    await world.settle();
    expect(api.sources()).toMatchObject([{ revision: 'r2' }]);
    expect(names(world, 'east')).toEqual(abcd);
  });

  it('is what the answer of the leader says is admitted', async () => {
    const shown: (string | null | undefined)[] = [];
    const answer = Promise.withResolvers<unknown>();
    const suspend = (): void => {
      const { api } = world.leader().world.server;
      shown.push(api.sources()[0]?.revision);
      answer.resolve(api.suspendSource('main', 'ann', ''));
    };
    const world = await createReplicaWorld([], {
      log: () => ({
        ...silentLog,
        info: (message, data) => {
          if (message === 'admitted' && JSON.stringify(data).includes('main: r2')) queueMicrotask(suspend);
        },
      }),
    });
    for (const id of ['a', 'b']) await world.add(id, { beginSlice: () => () => true });
    world.push(base);
    await world.pass();
    world.leader().agent('east').connect();
    await world.pass();
    world.push(more);
    await world.pass();
    expect(shown).toEqual(['r1']);
    expect(await answer.promise).toMatchObject({ ok: true, value: { revision: 'r2' } });
    world.push({ 'apps/a.yaml': null });
    await world.pass();
    expect(revisionsAt(world)).toEqual([{ main: 'r2' }, { main: 'r2' }]);
    expect(names(world.leader().world, 'east')).toEqual(abcd);
  });
});
