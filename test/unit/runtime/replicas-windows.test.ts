import { describe, expect, it } from 'vitest';
import { configMapYaml, policyYaml } from '../../support/manifests.ts';
import { createReplicaWorld, type FakeReplica, heldAt, type ReplicaWorld } from '../../support/replica-world.ts';
import { abc, base } from '../../support/started-world.ts';

const TAKEOVER_MS = 30_000;
/** Longer than the window of the guards. */
const WINDOW_MS = 660_000;
/** Until a replica looks at all of the store anew. */
const SWEEP_MS = 120_000;

/** Three replicas; the guard lets two objects of a cluster go within its window. */
async function threeReplicas(): Promise<ReplicaWorld> {
  const world = await createReplicaWorld(['a', 'b', 'c']);
  world.push({ ...base, 'fleet/policy.yaml': policyYaml(2) });
  await world.pass();
  return world;
}

function heldIn(replica: FakeReplica, cluster: string): readonly string[] {
  return (replica.world.server.api.removals()[0]?.removals ?? [])
    .filter((removal) => removal.cluster === cluster)
    .map(({ object }) => object);
}

/** Batches with such a key never reach the store. */
function holdWrites({ store }: FakeReplica, isHeld: (key: string) => boolean): void {
  const { write } = store;
  store.write = (batch) => (batch.some(({ key }) => isHeld(key)) ? new Promise(() => undefined) : write(batch));
}

/**
 * A follower has sent two removals at the word of the leader. Before the leader reads that, tighter guards make it hold them.
 */
async function withdrawn(world: ReplicaWorld): Promise<{ readonly leader: FakeReplica; readonly server: FakeReplica }> {
  const leader = world.leader();
  const [server] = world.followers();
  if (server === undefined) throw new Error('there is no follower');
  server.agent('west').connect({ instance: 'west' });
  await world.pass();
  leader.deafen();
  world.push({ 'apps/a.yaml': null, 'apps/b.yaml': null });
  await world.pass(1_000);
  expect(heldAt(server, 'west')).toEqual(abc.slice(2));
  world.push({ 'fleet/policy.yaml': policyYaml(1) });
  await world.pass(1_000);
  expect(heldIn(leader, 'west')).toEqual(['ConfigMap/web/a', 'ConfigMap/web/b']);
  return { leader, server };
}

async function approveAll({ world }: FakeReplica): Promise<void> {
  for (const { digest } of world.server.api.removals()) await world.server.api.approve(digest, 'a person');
}

describe('the window of the guards, while leaders come and go', () => {
  it('counts the removals that the leader itself has sent', async () => {
    const world = await threeReplicas();
    world.leader().agent('east').connect({ instance: 'east' });
    await world.pass();
    for (const path of ['apps/a.yaml', 'apps/b.yaml']) {
      world.push({ [path]: null });
      await world.pass();
      world.leader().kill();
      await world.pass(TAKEOVER_MS);
      world.leader().agent('east').connect({ instance: 'east' });
      await world.pass();
    }
    expect(heldAt(world.leader(), 'east')).toEqual(abc.slice(2));
    world.push({ 'apps/c.yaml': null });
    await world.pass();
    expect(heldIn(world.leader(), 'east')).toEqual(['ConfigMap/web/c']);
    expect(heldAt(world.leader(), 'east')).toEqual(abc.slice(2));
  });

  it('counts the removals that another replica has sent with a permit of a leader that was killed before it counted', async () => {
    const world = await threeReplicas();
    const leader = world.leader();
    const [server] = world.followers();
    if (server === undefined) throw new Error('there is no follower');
    server.agent('west').connect({ instance: 'west' });
    await world.pass();
    leader.deafen();
    world.push({ 'apps/a.yaml': null, 'apps/b.yaml': null });
    await world.pass(1_000);
    expect(heldAt(server, 'west')).toEqual(abc.slice(2));
    expect(leader.world.server.engine.inputs.recentRemovals.get('', 'west')).toBeUndefined();
    leader.kill();
    await world.pass(TAKEOVER_MS);
    const next = world.leader();
    expect(next.world.server.engine.inputs.recentRemovals.get('', 'west')).toBe(2);
    world.push({ 'apps/c.yaml': null });
    await world.pass();
    expect(heldIn(next, 'west')).toEqual(['ConfigMap/web/c']);
    expect(heldAt(server, 'west')).toEqual(abc.slice(2));
  });

  it('counts once the removals that another replica has sent, also if a third one has seen them leave and leads next', async () => {
    const world = await threeReplicas();
    const leader = world.leader();
    const [server, third] = world.followers();
    if (server === undefined || third === undefined) throw new Error('too few follow');
    holdWrites(server, (key) => key === 'leader');
    server.agent('west').connect({ instance: 'west' });
    await world.pass();
    leader.deafen();
    world.push({ 'apps/a.yaml': null });
    await world.pass(1_000);
    expect(heldAt(server, 'west')).toEqual(abc.slice(1));
    leader.kill();
    await world.pass(TAKEOVER_MS);
    expect(third.leads()).toBe(true);
    expect(third.world.server.engine.inputs.recentRemovals.get('', 'west')).toBe(1);
  });

  it('does not count removals twice that never left, if the store has lost the holding of the cluster', async () => {
    const world = await createReplicaWorld(['a', 'b']);
    const files: Record<string, string> = { ...base, 'fleet/policy.yaml': policyYaml(1) };
    world.push(files);
    await world.pass();
    const leader = world.leader();
    const [server] = world.followers();
    if (server === undefined) throw new Error('there is no follower');
    server.agent('west').connect({ instance: 'west' });
    await world.pass();
    leader.deafen();
    server.agent('west').pause();
    world.push({ 'apps/a.yaml': null });
    delete files['apps/a.yaml'];
    await world.pass(1_000);
    expect(server.agent('west').deltas.at(-1)?.removals).toEqual(['/ConfigMap/web/a']);
    expect(world.memory.keys()).not.toContain('windows/west');
    for (const replica of [...world.replicas]) replica.kill();
    world.memory.evict('clusters/west/entries');
    const next = await world.add('c');
    world.push(files);
    await world.pass(TAKEOVER_MS);
    next.agent('west').connect({ instance: 'west' });
    await world.pass();
    expect(heldAt(next, 'west')).toEqual(abc.slice(1));
    expect(heldIn(next, 'west')).toEqual([]);
    world.push({ 'apps/b.yaml': null });
    await world.pass();
    expect(heldAt(next, 'west')).toEqual(abc.slice(1));
    expect(heldIn(next, 'west')).toEqual(['ConfigMap/web/b']);
  });

  it('counts the removals that another replica reports, if the store had lost the entries of the cluster', async () => {
    const world = await createReplicaWorld(['a']);
    const files: Record<string, string> = { ...base, 'fleet/policy.yaml': policyYaml(1) };
    world.push(files);
    await world.pass();
    const first = world.leader();
    first.agent('west').connect({ instance: 'west' });
    await world.pass();
    first.agent('west').pause();
    const without = { ...files, 'apps/a.yaml': null };
    world.push({ 'apps/a.yaml': null });
    await world.pass(1_000);
    expect(first.agent('west').deltas.at(-1)?.removals).toEqual(['/ConfigMap/web/a']);
    const { entries } = first.agent('west').holding();
    first.kill();
    world.memory.evict('clusters/west/entries');
    for (const id of ['b', 'c']) (await world.add(id)).world.source.push(without);
    await world.pass(TAKEOVER_MS);
    const { departures, recentRemovals } = world.leader().world.server.engine.inputs;
    expect([recentRemovals.get('', 'west'), departures.size('west')]).toEqual([undefined, 1]);
    const [server] = world.followers();
    server?.agent('west').restore(entries.filter(({ key }) => key !== '/ConfigMap/web/a'));
    server?.agent('west').connect({ instance: 'west' });
    await world.pass();
    expect([recentRemovals.get('', 'west'), departures.size('west')]).toEqual([1, 0]);
  });

  it('counts the removals that another replica has sent before it read that the leader holds them by now', async () => {
    const world = await threeReplicas();
    const { leader, server } = await withdrawn(world);
    // The leader looks at the store anew.
    await world.pass(SWEEP_MS);
    expect(leader.world.server.engine.inputs.recentRemovals.get('', 'west')).toBe(2);
    world.push({ 'fleet/policy.yaml': policyYaml(2), 'apps/c.yaml': null });
    await world.pass();
    expect(heldIn(leader, 'west')).toEqual(['ConfigMap/web/c']);
    expect(heldAt(server, 'west')).toEqual(abc.slice(2));
  });

  it('counts it also if the leader that holds it has died since', async () => {
    const world = await threeReplicas();
    const { leader } = await withdrawn(world);
    leader.kill();
    await world.pass(TAKEOVER_MS);
    expect(world.leader().world.server.engine.inputs.recentRemovals.get('', 'west')).toBe(2);
  });

  it('counts the removals of another replica that only the agent reports, once the agent has connected to the leader', async () => {
    const world = await threeReplicas();
    const leader = world.leader();
    const [server] = world.followers();
    if (server === undefined) throw new Error('there is no follower');
    server.agent('west').connect({ instance: 'west' });
    await world.pass();
    holdWrites(server, (key) => key.startsWith('clusters/west'));
    world.push({ 'apps/a.yaml': null, 'apps/b.yaml': null });
    await world.pass(1_000);
    expect(heldAt(server, 'west')).toEqual(abc.slice(2));
    server.kill();
    await world.pass(TAKEOVER_MS);
    expect(leader.world.server.engine.inputs.recentRemovals.get('', 'west')).toBeUndefined();
    leader.agent('west').connect({ instance: 'west' });
    await world.pass();
    expect(leader.world.server.engine.inputs.recentRemovals.get('', 'west')).toBe(2);
  });

  it('does not count removals that were held again before another replica could send them', async () => {
    const world = await threeReplicas();
    const leader = world.leader();
    const [server] = world.followers();
    if (server === undefined) throw new Error('there is no follower');
    const west = server.agent('west');
    west.connect({ instance: 'west' });
    await world.pass();
    west.disconnect();
    world.push({ 'apps/a.yaml': null, 'apps/b.yaml': null });
    await world.pass(1_000);
    world.push({ 'fleet/policy.yaml': policyYaml(1) });
    await world.pass(1_000);
    west.connect({ instance: 'west' });
    await world.pass();
    expect(heldAt(server, 'west')).toEqual(abc);
    expect(leader.world.server.engine.inputs.recentRemovals.get('', 'west')).toBeUndefined();
    await approveAll(leader);
    await world.pass();
    expect(heldAt(server, 'west')).toEqual(abc.slice(2));
    // A person has approved them.
    expect(leader.world.server.engine.inputs.recentRemovals.get('', 'west')).toBeUndefined();
  });

  it('forgets permitted removals that it holds again, once the agent connects to the leader and still owns the objects', async () => {
    const world = await threeReplicas();
    const leader = world.leader();
    const west = world.followers()[0]?.agent('west');
    west?.connect({ instance: 'west' });
    await world.pass();
    west?.disconnect();
    world.push({ 'apps/a.yaml': null, 'apps/b.yaml': null });
    await world.pass(1_000);
    world.push({ 'fleet/policy.yaml': policyYaml(1) });
    await world.pass(1_000);
    const { departures } = leader.world.server.engine.inputs;
    expect([departures.size('west'), world.memory.keys().includes('removal-permits/west')]).toEqual([2, true]);
    leader.agent('west').connect({ instance: 'west' });
    await world.pass();
    expect([departures.size('west'), world.memory.keys().includes('removal-permits/west')]).toEqual([0, false]);
    expect(heldAt(leader, 'west')).toEqual(abc);
  });

  it('counts once the removals that a leader has seen leave before it died', async () => {
    const world = await threeReplicas();
    const [server] = world.followers();
    if (server === undefined) throw new Error('there is no follower');
    server.agent('west').connect({ instance: 'west' });
    await world.pass();
    world.push({ 'apps/a.yaml': null });
    await world.pass(1_000);
    world.leader().kill();
    await world.pass(TAKEOVER_MS);
    expect(world.leader().world.server.engine.inputs.recentRemovals.get('', 'west')).toBe(1);
  });
});

/** A fleet whose store has become an older copy. */
interface Served {
  readonly world: ReplicaWorld;
  /** The leader that has counted the removals. */
  readonly leader: FakeReplica;
  /** It has sent them. */
  readonly server: FakeReplica;
}

describe('removals that wait at another replica for the last delta of a large change', () => {
  const BIG = 'x'.repeat(1_000);

  /** Removals, two of them by default, have passed, and follow the delta that is under way from the replica that does not lead. */
  async function waiting(
    more: Readonly<Record<string, string>> = {},
    gone: Readonly<Record<string, null>> = { 'apps/a.yaml': null, 'apps/b.yaml': null },
    limit = 2,
  ): Promise<{ readonly world: ReplicaWorld; readonly server: FakeReplica }> {
    const world = await createReplicaWorld([]);
    for (const id of ['a', 'b', 'c']) await world.add(id, { deltaBytes: 1_500 });
    world.push({ ...base, ...more, 'fleet/policy.yaml': policyYaml(limit) });
    await world.pass();
    const [server] = world.followers();
    if (server === undefined) throw new Error('there is no follower');
    const west = server.agent('west');
    west.connect({ instance: 'west' });
    await world.pass(10_000);
    const before = heldAt(server, 'west');
    west.pause();
    world.push({
      ...gone,
      ...Object.fromEntries(['p', 'q', 'r'].map((name) => [`apps/${name}.yaml`, configMapYaml(name, BIG)])),
    });
    await world.pass();
    west.release('accepted');
    west.pause();
    await world.pass();
    expect(heldAt(server, 'west').filter((key) => !before.includes(key))).toEqual(['/ConfigMap/web/p']);
    expect(before.every((key) => heldAt(server, 'west').includes(key))).toBe(true);
    return { world, server };
  }

  const arrive = async ({ world, server }: Awaited<ReturnType<typeof waiting>>): Promise<readonly string[]> => {
    server.agent('west').release('accepted');
    await world.pass();
    return heldAt(server, 'west');
  };
  const added = ['p', 'q', 'r'].map((name) => `/ConfigMap/web/${name}`);

  it('go, and are counted once', async () => {
    const { world, server } = await waiting();
    world.push({ 'apps/c.yaml': null });
    await world.pass();
    expect(await arrive({ world, server })).toEqual([...abc.slice(2), ...added]);
    expect(heldIn(world.leader(), 'west')).toEqual(['ConfigMap/web/c']);
  });

  it('are held once the guards are tightened', async () => {
    const { world, server } = await waiting();
    world.push({ 'fleet/policy.yaml': policyYaml(1) });
    await world.pass();
    expect(heldIn(world.leader(), 'west')).toEqual(['ConfigMap/web/a', 'ConfigMap/web/b']);
    expect(await arrive({ world, server })).toEqual([...abc, ...added]);
  });

  it('are held by the next leader once the guards are tightened', async () => {
    const { world, server } = await waiting();
    world.leader().kill();
    await world.pass(TAKEOVER_MS);
    world.push({ 'fleet/policy.yaml': policyYaml(1) });
    await world.pass();
    expect(heldIn(world.leader(), 'west')).toEqual(['ConfigMap/web/a', 'ConfigMap/web/b']);
    expect(await arrive({ world, server })).toEqual([...abc, ...added]);
  });

  /** The objects are declared again, and what waited has arrived. */
  async function undone(change: Readonly<Record<string, string | null>> = {}): ReturnType<typeof waiting> {
    const { world, server } = await waiting();
    world.push({ ...declared(['a', 'b']), ...change });
    await world.pass();
    return { world, server };
  }
  const declared = (of: readonly (keyof typeof files)[]): Readonly<Record<string, string>> =>
    Object.fromEntries(of.map((name) => [`apps/${name}.yaml`, files[name]]));
  const files = { a: base['apps/a.yaml'], b: base['apps/b.yaml'] };
  const five = ['a', 'b', 'c', 'p', 'q'];
  const goTogether = (world: ReplicaWorld): Promise<void> => {
    world.push(Object.fromEntries(five.map((name) => [`apps/${name}.yaml`, null])));
    return world.pass(10_000);
  };
  const allFive = five.map((name) => `ConfigMap/web/${name}`);

  it('are no longer counted once they are undone', async () => {
    const { world, server } = await undone();
    world.push({ 'apps/c.yaml': null });
    await world.pass();
    expect(heldIn(world.leader(), 'west')).toEqual([]);
    await arrive({ world, server });
    await world.pass(10_000);
    expect(heldAt(server, 'west')).toEqual([...abc.slice(0, 2), ...added]);
  });

  it('are no longer counted in the revision that undoes them', async () => {
    const { world, server } = await undone({ 'apps/c.yaml': null });
    expect(heldIn(world.leader(), 'west')).toEqual([]);
    await arrive({ world, server });
    await world.pass(10_000);
    expect(heldAt(server, 'west')).toEqual([...abc.slice(0, 2), ...added]);
  });

  it('that are undone are judged when they go again', async () => {
    const { world, server } = await undone();
    await arrive({ world, server });
    await world.pass(10_000);
    await goTogether(world);
    expect(heldIn(world.leader(), 'west')).toEqual(allFive);
    expect(heldAt(server, 'west')).toEqual([...abc, ...added]);
  });

  it('that are undone are judged when they go again before the delta under way is answered', async () => {
    const { world, server } = await undone();
    await goTogether(world);
    expect(heldIn(world.leader(), 'west')).toEqual(allFive);
    await arrive({ world, server });
    expect(heldAt(server, 'west').slice(0, 3)).toEqual(abc);
  });

  it('that are undone are judged by the next leader when they go again', async () => {
    const { world, server } = await undone();
    await arrive({ world, server });
    world.leader().kill();
    await world.pass(TAKEOVER_MS);
    await goTogether(world);
    expect(heldIn(world.leader(), 'west')).toEqual(allFive);
    expect(heldAt(server, 'west')).toEqual([...abc, ...added]);
  });

  it('that are undone are judged by the next leader when they go again before it leads', async () => {
    const { world, server } = await undone();
    await arrive({ world, server });
    world.leader().kill();
    await goTogether(world);
    await world.pass(TAKEOVER_MS);
    expect(heldIn(world.leader(), 'west')).toEqual(allFive);
    expect(heldAt(server, 'west')).toEqual([...abc, ...added]);
  });

  it('that are undone are judged when they go again after their source could not be read completely', async () => {
    const { world, server } = await undone();
    await arrive({ world, server });
    world.push({ 'apps/broken.yaml': 'kind: [' });
    await goTogether(world);
    world.push({ 'apps/broken.yaml': null });
    await world.pass();
    expect(heldIn(world.leader(), 'west')).toEqual(allFive);
  });

  it('are no longer counted once their objects are declared again and cannot be sent, and are judged when they go again', async () => {
    const large = configMapYaml('a', 'x'.repeat(2 * 1024 * 1024));
    const { world, server } = await undone({ 'apps/a.yaml': large, 'apps/c.yaml': null });
    expect(heldIn(world.leader(), 'west')).toEqual([]);
    world.push({ 'apps/c.yaml': base['apps/c.yaml'] });
    await arrive({ world, server });
    await goTogether(world);
    expect(heldIn(world.leader(), 'west')).toEqual(allFive);
  });

  it('from a cluster that is not declared any more do not count, and are judged when it is declared again', async () => {
    const { world, server } = await waiting();
    const declaration = { 'clusters/west/cluster.yaml': base['clusters/west/cluster.yaml'] };
    world.push({ 'clusters/west/cluster.yaml': null });
    await world.pass();
    expect([...world.leader().world.server.engine.leaving.entries('west')]).toEqual([]);
    world.push({ ...declaration, ...Object.fromEntries(['c', 'p'].map((name) => [`apps/${name}.yaml`, null])) });
    server.agent('west').onDelta = () => undefined;
    server.agent('west').connect({ instance: 'west' });
    await world.pass(10_000);
    expect(heldIn(world.leader(), 'west')).toEqual(allFive.slice(0, 4));
  });

  it('that were undone go again, and are counted once', async () => {
    const { world, server } = await undone();
    await arrive({ world, server });
    world.push({ 'apps/a.yaml': null, 'apps/b.yaml': null });
    await world.pass(10_000);
    expect(heldAt(server, 'west')).toEqual([...abc.slice(2), ...added]);
    world.push({ 'apps/c.yaml': null });
    await world.pass();
    expect(heldIn(world.leader(), 'west')).toEqual(['ConfigMap/web/c']);
  });

  it('that were held and then undone are judged when they go again under the limits of before', async () => {
    const { world, server } = await waiting();
    world.push({ 'fleet/policy.yaml': policyYaml(1) });
    await world.pass();
    world.push({ ...declared(['a', 'b']), 'fleet/policy.yaml': policyYaml(2) });
    await arrive({ world, server });
    await goTogether(world);
    expect(heldIn(world.leader(), 'west')).toEqual(allFive);
    expect(heldAt(server, 'west')).toEqual([...abc, ...added]);
  });

  it('go once their source can be read completely again, also with a push that removes too much', async () => {
    const { world, server } = await waiting();
    world.push({ 'apps/broken.yaml': 'kind: [' });
    await world.pass();
    await arrive({ world, server });
    expect(heldAt(server, 'west')).toEqual([...abc, ...added]);
    world.push({ 'apps/broken.yaml': null, 'apps/c.yaml': null });
    await world.pass();
    expect(heldIn(world.leader(), 'west')).toEqual(['ConfigMap/web/c']);
    expect(heldAt(server, 'west')).toEqual([...abc.slice(2), ...added]);
  });

  describe('and hold addresses of a service', () => {
    const slice = (name: string): string =>
      [
        'apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice',
        `metadata: {name: ${name}, namespace: web, labels: {kubernetes.io/service-name: shop}}`,
        'addressType: IPv4\nendpoints: [{addresses: [10.0.0.1]}]\nports: [{name: http, port: 80, protocol: TCP}]\n',
      ].join('\n');
    const service =
      'apiVersion: v1\nkind: Service\nmetadata: {name: shop, namespace: web}\nspec: {ports: [{port: 80}]}\n';
    const slices = { 'apps/first.yaml': slice('first'), 'apps/second.yaml': slice('second') };
    const both = ['EndpointSlice.discovery.k8s.io/web/first', 'EndpointSlice.discovery.k8s.io/web/second'];

    it('are held with the others of the service when they go again', async () => {
      const { world, server } = await waiting(
        { 'apps/shop.yaml': service, ...slices },
        { 'apps/first.yaml': null },
        20,
      );
      world.push(slices);
      await world.pass();
      await arrive({ world, server });
      world.push({ 'apps/first.yaml': null, 'apps/second.yaml': null });
      await world.pass(10_000);
      expect(heldIn(world.leader(), 'west')).toEqual(both);
    });
  });
});

describe('the window of the guards, when the store becomes an older copy', () => {
  /** A follower has sent two removals, the leader has counted them, and the store becomes a copy of before. */
  async function fallenBack(lose: (leader: FakeReplica) => void): Promise<Served> {
    const world = await threeReplicas();
    const leader = world.leader();
    const [server] = world.followers();
    if (server === undefined) throw new Error('there is no follower');
    server.agent('west').connect({ instance: 'west' });
    await world.pass();
    const copy = world.memory.copy();
    world.push({ 'apps/a.yaml': null, 'apps/b.yaml': null });
    await world.pass();
    expect(heldAt(server, 'west')).toEqual(abc.slice(2));
    expect(world.memory.keys()).toContain('windows/west');
    lose(leader);
    world.memory.fallBack(copy);
    await world.pass(TAKEOVER_MS);
    return { world, leader, server };
  }

  /** The leader counts the two removals, and holds a third one. */
  async function expectCounted({ world, server }: Served): Promise<void> {
    const leader = world.leader();
    expect(leader.world.server.engine.inputs.recentRemovals.get('', 'west')).toBe(2);
    expect(world.memory.keys()).toContain('windows/west');
    world.push({ 'apps/c.yaml': null });
    await world.pass();
    expect(heldIn(leader, 'west')).toEqual(['ConfigMap/web/c']);
    expect(heldAt(server, 'west')).toEqual(abc.slice(2));
  }

  it('counts the removals of a leader that has died with the newer copy', async () => {
    await expectCounted(await fallenBack((leader) => leader.kill()));
  });

  it('counts the removals of a leader that was suspended meanwhile and follows afterwards', async () => {
    let goOn = (): void => undefined;
    const served = await fallenBack((leader) => {
      goOn = leader.freeze();
    });
    goOn();
    await served.world.pass();
    expect(served.leader.leads()).toBe(false);
    await expectCounted(served);
  });

  it('counts the removals of a leader that goes on, once', async () => {
    const served = await fallenBack(() => undefined);
    await expectCounted(served);
    served.world.leader().kill();
    await served.world.pass(TAKEOVER_MS);
    expect(served.world.leader().world.server.engine.inputs.recentRemovals.get('', 'west')).toBe(2);
  });

  it('counts the removals of a leader that finds an earlier leader in the older copy', async () => {
    const world = await threeReplicas();
    const copy = world.memory.copy();
    world.leader().kill();
    await world.pass(TAKEOVER_MS);
    const leader = world.leader();
    leader.agent('west').connect({ instance: 'west' });
    await world.pass();
    world.push({ 'apps/a.yaml': null, 'apps/b.yaml': null });
    await world.pass();
    for (const other of world.followers()) other.kill();
    world.memory.fallBack(copy);
    await world.pass(TAKEOVER_MS);
    expect(leader.leads()).toBe(true);
    await expectCounted({ world, leader, server: leader });
  });

  it('forgets them when the window does not cover them any more', async () => {
    const { world } = await fallenBack((leader) => leader.kill());
    await world.pass(WINDOW_MS);
    expect(world.leader().world.server.engine.inputs.recentRemovals.get('', 'west')).toBeUndefined();
    expect(world.memory.keys()).not.toContain('windows/west');
  });
});
