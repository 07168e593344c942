import { describe, expect, it } from 'vitest';
import { comparePositions } from '../../../src/model/fleet/output.ts';
import { canonicalJson, type JsonValue } from '../../../src/model/text/json.ts';
import { configMapYaml, placementYaml, policyYaml } from '../../support/manifests.ts';
import {
  createReplicaWorld,
  type FakeReplica,
  heldAt,
  type ReplicaWorld,
  startedReplicas,
} from '../../support/replica-world.ts';
import type { SharedMemoryStore } from '../../support/shared-memory-store.ts';
import { abc, base } from '../../support/started-world.ts';

const [KEY_A, KEY_B, KEY_C] = abc as [string, string, string];

/** One replica that leads, and one that does not. */
async function pair(): Promise<{ world: ReplicaWorld; leader: FakeReplica; follower: FakeReplica }> {
  const world = await startedReplicas();
  const [follower] = world.followers();
  if (follower === undefined) throw new Error('there is no follower');
  return { world, leader: world.leader(), follower };
}

/** Reads of these keys are answered late: pending reads when they are released, later ones at the end. */
function holdBack(store: SharedMemoryStore, isHeld: (key: string) => boolean): { answerWaiting(): void; end(): void } {
  const { get } = store;
  let waiting: (() => void)[] = [];
  const answerWaiting = (): void => {
    for (const go of waiting.splice(0)) go();
  };
  store.get = async (key) => {
    const record = await get(key);
    if (isHeld(key)) await new Promise<void>((resolve) => void waiting.push(resolve));
    return record;
  };
  return {
    answerWaiting,
    end: () => {
      store.get = get;
      answerWaiting();
      waiting = [];
    },
  };
}

function dataOf(replica: FakeReplica, cluster: string, key: string): unknown {
  const upserts = replica.agent(cluster).deltas.flatMap((delta) => delta.upserts);
  return upserts.findLast((object) => object.key === key)?.value.data;
}

describe('several servers of one fleet', () => {
  it('elect one leader; agents at any of them get the same', async () => {
    const { world, leader, follower } = await pair();
    expect(leader.agent('east').connect().type).toBe('admitted');
    expect(follower.agent('west').connect({ kubernetesVersion: 'v1.36.3' }).type).toBe('admitted');
    await world.pass();
    const views = leader.world.server.api.clusters();
    expect(views.find(({ name }) => name === 'west')?.kubernetesVersion).toBe('v1.36.3');
    expect(heldAt(leader, 'east')).toEqual(abc);
    expect(heldAt(follower, 'west')).toEqual(abc);
    expect(follower.agent('west').admitted).toEqual(leader.agent('east').admitted);
    expect(
      world
        .leader()
        .world.server.api.clusters()
        .map(({ connected, inSync }) => [connected, inSync]),
    ).toEqual([
      [true, true],
      [true, true],
    ]);
  });

  it('send revisions that the leader has admitted, and none that only a follower has read', async () => {
    const { world, leader, follower } = await pair();
    follower.agent('west').connect();
    await world.pass();
    follower.world.source.push({ 'apps/a.yaml': configMapYaml('a', '2') });
    await world.pass();
    expect(dataOf(follower, 'west', KEY_A)).toEqual({ value: '1' });
    leader.world.source.push({ 'apps/a.yaml': configMapYaml('a', '2') });
    await world.pass();
    expect(dataOf(follower, 'west', KEY_A)).toEqual({ value: '2' });
  });

  it('start agents at a replica that came later, from the store alone', async () => {
    const world = await startedReplicas(['a']);
    const late = await world.add('b');
    expect(late.agent('east').connect().type).toBe('admitted');
    await world.pass();
    expect(heldAt(late, 'east')).toEqual(abc);
  });

  it('go on when the leader is killed: another admits above it, and nothing is removed', async () => {
    const { world, leader, follower } = await pair();
    leader.agent('east').connect();
    follower.agent('west').connect();
    await world.pass();
    const before = follower.agent('west').admitted;
    leader.kill();
    await world.pass(20_000);
    expect(world.leader().id).toBe(follower.id);
    expect(follower.agent('east').connect().type).toBe('admitted');
    follower.world.source.push({ 'apps/a.yaml': configMapYaml('a', '2') });
    await world.pass();
    expect(dataOf(follower, 'east', KEY_A)).toEqual({ value: '2' });
    expect(heldAt(follower, 'east')).toEqual(abc);
    expect(follower.agent('west').admitted?.sequence).toBeGreaterThan(before?.sequence ?? 0);
    expect(follower.agent('east').deltas.flatMap(({ removals }) => removals)).toEqual([]);
  });

  it('do not return to the earlier revision that a new leader has read: it reads again', async () => {
    const { world, leader, follower } = await pair();
    follower.agent('west').connect();
    await world.pass();
    leader.world.source.push({ 'apps/a.yaml': configMapYaml('a', '2') });
    await world.pass();
    let look = (): void => undefined;
    follower.world.source.onLook = () =>
      new Promise((resolve) => {
        look = resolve;
      });
    leader.kill();
    await world.pass(20_000);
    expect(follower.leads()).toBe(true);
    expect(dataOf(follower, 'west', KEY_A)).toEqual({ value: '2' });
    follower.world.source.push({ 'apps/a.yaml': configMapYaml('a', '2') });
    look();
    follower.world.source.push({ 'apps/b.yaml': configMapYaml('b', '2') });
    await world.pass();
    expect(follower.agent('west').deltas.flatMap((d) => d.upserts.map(({ key, value }) => [key, value.data]))).toEqual([
      ...abc.map((key) => [key, { value: '1' }]),
      [KEY_A, { value: '2' }],
      [KEY_B, { value: '2' }],
    ]);
  });

  it('compute the same bytes from the same inputs', async () => {
    const { world, leader, follower } = await pair();
    leader.agent('east').connect();
    follower.agent('west').connect();
    world.push({ 'apps/a.yaml': configMapYaml('a', '2'), 'apps/d.yaml': configMapYaml('d', '1') });
    await world.pass();
    const outputs = ({ world: { server } }: FakeReplica): string =>
      canonicalJson(
        [...server.engine.outputs.partitions()]
          .sort()
          .map((cluster) => [
            cluster,
            Object.fromEntries([...server.engine.outputs.entries(cluster)].map(({ key, value }) => [key, value])),
          ]) as unknown as JsonValue,
      );
    expect(outputs(follower)).toBe(outputs(leader));
    const deltas = (replica: FakeReplica, cluster: string): string =>
      canonicalJson(
        replica.agent(cluster).deltas.map(({ position: _, tag: _tag, ...delta }) => delta) as unknown as JsonValue,
      );
    expect(deltas(follower, 'west')).toBe(deltas(leader, 'east'));
  });

  it('write status and take commands at the leader alone', async () => {
    const { world, leader, follower } = await pair();
    await world.pass(30_000);
    expect(leader.world.statusUpdates()).toBeGreaterThan(0);
    expect(follower.world.statusUpdates()).toBe(0);
    expect(await follower.world.server.api.approve('0'.repeat(64), 'me')).toMatchObject({
      ok: false,
      kind: 'notLeader',
      leader: `http://${leader.id}`,
    });
    expect(follower.world.server.api.elsewhere()).toMatchObject({ kind: 'notLeader', leader: `http://${leader.id}` });
    expect(leader.world.server.api.elsewhere()).toBeUndefined();
    leader.kill();
    await world.pass(60_000);
    expect(follower.world.statusUpdates()).toBeGreaterThan(0);
  });
});

describe('an object whose source only some replicas have configured', () => {
  it('stays while one of them has its source configured, and is removed when none has', async () => {
    const world = await createReplicaWorld([]);
    const first = await world.add('a', { sources: ['main', 'other'] });
    first.world.sourceNamed('main').push(base);
    first.world
      .sourceNamed('other')
      .push({ 'other/x.yaml': configMapYaml('x', '1'), 'p.yaml': placementYaml('x', 'other/**') });
    await world.pass();
    const second = await world.add('b', { sources: ['main'] });
    const third = await world.add('c', { sources: ['main', 'other'] });
    for (const {
      world: { sourceNamed },
    } of [second, third])
      sourceNamed('main').push(base);
    second.agent('east').connect();
    await world.pass();
    const all = [...abc, '/ConfigMap/web/x'];
    expect(heldAt(second, 'east')).toEqual(all);
    first.kill();
    await world.pass(20_000);
    if (!second.leads()) third.kill();
    await world.pass(9_000);
    expect(heldAt(second, 'east')).toEqual(all);
    third.kill();
    await world.pass(40_000);
    second.world.sourceNamed('main').push({ 'apps/a.yaml': configMapYaml('a', '2') });
    await world.pass();
    expect(heldAt(second, 'east')).toEqual(abc);
  });

  it('a revision that a person has accepted at the leader is accepted at the others', async () => {
    const { world, leader, follower } = await pair();
    follower.world.source.condition({ state: 'refused', refusedRevision: 'r2', message: 'a rewritten history' });
    leader.world.source.push({ 'apps/a.yaml': configMapYaml('a', '2') });
    await world.pass();
    expect(follower.world.source.accepted).toEqual(['r2']);
  });
});

describe('removals', () => {
  it('at a follower wait for the leader, and pass with its permit', async () => {
    const { world, follower } = await pair();
    follower.agent('west').connect();
    await world.pass();
    const verdicts = holdBack(follower.store, (key) => key.startsWith('removal-permits/'));
    world.push({ 'apps/c.yaml': null });
    await world.pass();
    expect(heldAt(follower, 'west')).toEqual(abc);
    const waiting = follower.world.server.engine.outputs.get('west', KEY_C);
    expect(waiting).toMatchObject({ type: 'keep', reason: 'WaitsForLeader' });
    verdicts.end();
    await world.pass();
    expect(heldAt(follower, 'west')).toEqual([KEY_A, KEY_B]);
  });

  it('do not pass with a permit of an earlier admission', async () => {
    const { world, leader, follower } = await pair();
    follower.agent('west').connect();
    world.push({ 'policy.yaml': policyYaml(1) });
    await world.pass();
    const verdicts = holdBack(follower.store, (key) => key.startsWith('removal-permits/'));
    world.push({ 'apps/c.yaml': null });
    await world.pass();
    // It had asked before there was a word; the next answer has it, and is on its way for long.
    verdicts.answerWaiting();
    await world.pass();
    world.push({ 'apps/b.yaml': null });
    await world.pass();
    verdicts.answerWaiting();
    await world.pass();
    expect(heldAt(follower, 'west')).toEqual(abc);
    verdicts.end();
    await world.pass();
    expect(heldAt(follower, 'west')).toEqual(abc);
    expect(leader.world.server.api.removals()[0]?.removals).toHaveLength(2);
  });

  it('are held by the leader for all, and released by one approval', async () => {
    const { world, leader, follower } = await pair();
    leader.agent('east').connect();
    follower.agent('west').connect();
    world.push({ 'policy.yaml': policyYaml(1) });
    await world.pass();
    world.push({ 'apps/b.yaml': null, 'apps/c.yaml': null });
    await world.pass();
    expect(heldAt(leader, 'east')).toEqual(abc);
    expect(heldAt(follower, 'west')).toEqual(abc);
    const [set] = leader.world.server.api.removals();
    expect(set?.removals).toHaveLength(4);
    expect(await leader.world.server.api.approve(set?.digest ?? '', 'me')).toMatchObject({ ok: true });
    await world.pass();
    expect(heldAt(leader, 'east')).toEqual([KEY_A]);
    expect(heldAt(follower, 'west')).toEqual([KEY_A]);
  });

  it('that are held stay held with the next leader, and approved ones stay approved', async () => {
    const { world, leader, follower } = await pair();
    follower.agent('west').connect();
    world.push({ 'policy.yaml': policyYaml(1) });
    await world.pass();
    world.push({ 'apps/b.yaml': null, 'apps/c.yaml': null });
    await world.pass();
    leader.kill();
    await world.pass(20_000);
    expect(follower.leads()).toBe(true);
    expect(heldAt(follower, 'west')).toEqual(abc);
    world.push({ 'policy.yaml': policyYaml(1_000) });
    await world.pass();
    expect(heldAt(follower, 'west')).toEqual(abc);
    const [set] = follower.world.server.api.removals();
    await follower.world.server.api.approve(set?.digest ?? '', 'me');
    await world.pass();
    expect(heldAt(follower, 'west')).toEqual([KEY_A]);
  });

  it('of small steps add up, also where a follower sends them', async () => {
    const { world, follower } = await pair();
    follower.agent('west').connect();
    world.push({ 'policy.yaml': policyYaml(1) });
    await world.pass();
    world.push({ 'apps/b.yaml': null });
    await world.pass();
    expect(heldAt(follower, 'west')).toEqual([KEY_A, KEY_C]);
    world.push({ 'apps/c.yaml': null });
    await world.pass();
    expect(heldAt(follower, 'west')).toEqual([KEY_A, KEY_C]);
    expect(world.leader().world.server.api.removals()).toHaveLength(1);
  });
});

describe('an agent', () => {
  it('moves between replicas and is served by one at a time', async () => {
    const { world, leader, follower } = await pair();
    leader.agent('east').connect({ instance: 'one' });
    await world.pass();
    // Its connection broke, and only it knows.
    expect(follower.agent('east').connect({ instance: 'one' }).type).toBe('admitted');
    await world.pass();
    expect(follower.agent('east').closed).toEqual(['ClaimLost']);
    world.push({ 'apps/a.yaml': configMapYaml('a', '2') });
    await world.pass();
    expect(dataOf(follower, 'east', KEY_A)).toEqual({ value: '2' });
    expect(follower.agent('east').isConnected()).toBe(true);
  });

  it('of a replica that has just started is connected for all, also if its cluster lease is read first', async () => {
    const { world, leader } = await pair();
    // Between two checks of which replicas live.
    await world.pass(1_000);
    const late = await world.add('late');
    expect(late.agent('east').connect().type).toBe('admitted');
    await world.pass(5_000);
    const [east] = leader.world.server.api.clusters();
    expect(east).toMatchObject({ name: 'east', connected: true, inSync: true });
  });

  it('is refused as the second one while the first lives at another replica', async () => {
    const { world, leader, follower } = await pair();
    leader.agent('east').connect({ instance: 'one' });
    await world.pass();
    const hello = { ...leader.agent('east').hello(), instance: 'two' };
    expect(follower.world.agents.listener?.admit(hello)).toMatchObject({ type: 'retry', reason: 'ProbingOther' });
    await world.pass(1_000);
    expect(follower.world.agents.listener?.admit(hello)).toMatchObject({ type: 'refused', reason: 'SecondAgent' });
    leader.agent('east').abandon();
    await world.pass(20_000);
    expect(follower.world.agents.listener?.admit(hello)).toMatchObject({ type: 'retry' });
    await world.pass(2_000);
    expect(follower.agent('east').connect({ instance: 'two' }).type).toBe('admitted');
    await world.pass();
    expect(follower.agent('east').isConnected()).toBe(true);
  });

  it.each(['leader', 'follower'] as const)(
    'of a known cluster that states a later admission moves none at the %s, and the other cluster is served',
    async (place) => {
      const { world, leader, follower } = await pair();
      const [at, elsewhere] = place === 'leader' ? [leader, follower] : [follower, leader];
      at.agent('east').connect({ instance: 'east' });
      elsewhere.agent('west').connect({ instance: 'west' });
      await world.pass();
      at.agent('east').disconnect();
      const before = leader.world.server.replica.admitted();
      at.agent('east').admitted = { epoch: before.epoch, sequence: 2 ** 39 };
      at.agent('east').connect({ instance: 'east' });
      await world.pass(20_000);
      expect(leader.world.server.replica.admitted()).toEqual(before);
      const east = at.world.server.api.clusters().find(({ name }) => name === 'east');
      expect(east?.problem).toMatch(/^ServerBehind: /);
      world.push({ 'apps/a.yaml': configMapYaml('a', '2') });
      await world.pass();
      expect(dataOf(elsewhere, 'west', KEY_A)).toEqual({ value: '2' });
      expect(dataOf(at, 'east', KEY_A)).toEqual({ value: '1' });
      expect(leader.world.server.replica.admitted()).toEqual({ ...before, sequence: before.sequence + 1 });
      // The next leader learns of it in no other way.
      leader.kill();
      await world.pass(30_000);
      follower.world.source.push({ 'apps/a.yaml': configMapYaml('a', '3') });
      follower.agent('west').connect({ instance: 'west' });
      await world.pass(20_000);
      expect(dataOf(follower, 'west', KEY_A)).toEqual({ value: '3' });
      expect(follower.world.server.replica.admitted().sequence).toBeLessThan(2 ** 39);
    },
  );

  it('that holds more than an older store, restored while no server ran, is caught up with', async () => {
    const { world, leader, follower } = await pair();
    leader.agent('east').connect({ instance: 'east' });
    await world.pass();
    const copy = world.memory.copy();
    for (const value of ['2', '3']) {
      world.push({ 'apps/a.yaml': configMapYaml('a', value) });
      await world.pass();
    }
    const seen = leader.world.server.replica.admitted();
    expect(leader.agent('east').admitted).toEqual(seen);
    leader.kill();
    follower.kill();
    world.memory.fallBack(copy);
    const late = await world.add('c');
    await world.pass(15_000);
    late.world.source.push({ ...base, 'apps/a.yaml': configMapYaml('a', '4') });
    late.agent('east').connect({ instance: 'east' });
    await world.pass(5_000);
    expect(dataOf(late, 'east', KEY_A)).toEqual({ value: '4' });
    expect(comparePositions(late.world.server.replica.admitted(), seen)).toBeGreaterThan(0);
  });

  it('that has seen a later admission, as after a loss of the store, is caught up with at the replica to which it connects', async () => {
    const { world, leader, follower } = await pair();
    const { epoch } = leader.world.server.replica.admitted();
    for (const [at, cluster] of [[follower, 'east'] as const, [leader, 'west'] as const]) {
      const ahead = { epoch: epoch + (cluster === 'east' ? 2 : 4), sequence: 7 };
      at.agent(cluster).wasSent(ahead);
      at.agent(cluster).connect({ instance: cluster });
      await world.pass(20_000);
      expect(comparePositions(leader.world.server.replica.admitted(), ahead)).toBeGreaterThan(0);
      expect(heldAt(at, cluster)).toEqual(abc);
    }
  });

  it('of a replica that was killed is taken over when that is known', async () => {
    const { world, leader, follower } = await pair();
    leader.agent('east').connect({ instance: 'one' });
    await world.pass();
    leader.kill();
    expect(follower.agent('east').connect({ instance: 'two' }).type).toBe('retry');
    await world.pass(15_000);
    expect(follower.agent('east').connect({ instance: 'two' }).type).toBe('admitted');
    await world.pass(15_000);
    expect(heldAt(follower, 'east')).toEqual(abc);
  });
});

describe('a cluster that is replaced', () => {
  it('is taken away from the replica that serves it: the old one is refused everywhere', async () => {
    const { world, leader, follower } = await pair();
    follower.agent('west').connect();
    await world.pass();
    const connectedSince = follower.world.server.api.clusters().find(({ name }) => name === 'west')?.connectionSince;
    await world.pass(60_000);
    expect(await leader.world.server.api.replaceCluster('west', 'me')).toMatchObject({ ok: true });
    await world.pass();
    expect(follower.agent('west').closed).toEqual(['ClaimLost']);
    for (const replica of [leader, follower]) {
      const west = replica.world.server.api.clusters().find(({ name }) => name === 'west');
      expect(west).toMatchObject({ connected: false, released: true });
      expect(Date.parse(west?.connectionSince ?? '')).toBeGreaterThan(Date.parse(connectedSince ?? ''));
      expect(replica.agent('west').connect()).toMatchObject({ type: 'refused', reason: 'ClusterReplaced' });
    }
    expect(follower.agent('west', 'another').connect().type).toBe('admitted');
    await world.pass();
    expect(leader.world.server.api.clusters().find(({ name }) => name === 'west')).toMatchObject({
      id: 'another',
      connected: true,
      inSync: true,
    });
  });

  it('is let back in everywhere by giving the name back', async () => {
    const { world, leader, follower } = await pair();
    follower.agent('west').connect();
    await world.pass();
    expect(await leader.world.server.api.replaceCluster('west', 'me')).toMatchObject({ ok: true });
    await world.pass();
    expect(await leader.world.server.api.giveBackCluster('west', 'me')).toMatchObject({ ok: true });
    await world.pass();
    expect(follower.agent('west', 'another').connect()).toMatchObject({ type: 'refused', reason: 'ClusterIdBound' });
    expect(follower.agent('west').connect()).toMatchObject({ type: 'admitted' });
    await world.pass();
    expect(follower.agent('west').deltas.flatMap(({ removals }) => removals)).toEqual([]);
  });
});
