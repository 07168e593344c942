import { describe, expect, it } from 'vitest';
import { createFleetWorld, type FleetWorld } from '../../support/fleet-world.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../../support/manifests.ts';
import {
  discoverOne,
  forget,
  kindsOf,
  liveService,
  liveSlice,
  mirrorYaml,
  restartWithout,
  safeModeYaml,
} from '../../support/mirrors.ts';
import { names } from '../../support/started-world.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const many = Array.from({ length: 20 }, (_, index) => `c${String(index + 1).padStart(2, '0')}`);
const loose =
  '  guards: {maxRemovalsPerCluster: 1000, maxRemovalsPerFleet: 1000, maxRemovalPercentPerCluster: 100, maxRemovalPercentPerFleet: 100}\n';

function files(clusters: readonly string[], policy = safeModeYaml('scoped', 180, loose)) {
  return {
    ...Object.fromEntries(clusters.map((name) => [`fleet/${name}.yaml`, clusterYaml(name)])),
    'fleet/policy.yaml': policy,
    'fleet/placement.yaml': placementYaml('apps', 'apps/**'),
    'apps/a.yaml': configMapYaml('a', '1'),
    'mirror.yaml': mirrorYaml('shared', 'selector: {}', 'selector: {}'),
  };
}

/** A fleet in which every cluster has one exported service, known in all others. */
async function mirroredFleet(clusters: readonly string[], policy?: string): Promise<FleetWorld> {
  const world = await createFleetWorld();
  world.source.push(files(clusters, policy));
  for (const name of clusters) {
    world.agent(name).connect();
    discoverOne(world, name);
  }
  await world.settle();
  return world;
}

/** Every agent of `back` is connected again and reports the state of its cluster that the store still had. */
async function comeBack(world: FleetWorld, all: readonly string[], back: readonly string[], policy?: string) {
  world.source.push(files(all, policy));
  for (const name of back) world.agent(name).connect();
  await world.settle();
}

const mirroredFrom = (world: FleetWorld, cluster: string, from: string): readonly string[] =>
  names(world, cluster).filter((key) => key.includes(`/${from}-`));

const sentTo = (world: FleetWorld, cluster: string, since: number) =>
  world
    .agent(cluster)
    .deltas.slice(since)
    .map(({ upserts, removals }) => ({ upserts: upserts.map(({ key }) => key), removals }));

describe('scoped safe mode, one of 20 clusters missing', () => {
  it('changes the outputs that cannot read the cluster at once, and changes and removes no output that can', async () => {
    const first = await mirroredFleet(many);
    expect(names(first, 'c01')).toHaveLength(1 + 2 * 19);
    const world = await restartWithout(first, ['c20']);
    const present = many.slice(0, 19);
    await comeBack(world, many, present);
    const before = new Map(present.map((name) => [name, world.agent(name).deltas.length]));
    const held = new Map(present.map((name) => [name, mirroredFrom(world, name, 'c20')]));
    expect([...held.values()].every((keys) => keys.length === 2)).toBe(true);

    world.source.push({ 'apps/a.yaml': configMapYaml('a', '2') });
    for (const name of present) world.agent(name).discovers({ upserts: [liveSlice('shop', ['10.0.0.2'])] });
    await world.settle();
    for (const name of present) {
      const sent = sentTo(world, name, before.get(name) ?? 0);
      expect(new Set(sent.flatMap(({ upserts }) => upserts)), name).toEqual(
        new Set([
          '/ConfigMap/web/a',
          ...present.filter((from) => from !== name).map((from) => `discovery.k8s.io/EndpointSlice/web/${from}-shop-1`),
        ]),
      );
      expect(
        sent.flatMap(({ removals }) => removals),
        name,
      ).toEqual([]);
      expect(mirroredFrom(world, name, 'c20')).toEqual(held.get(name));
    }
    const { safeMode, clusters } = world.server.api.status();
    expect(safeMode).toMatchObject({ mode: 'scoped', causes: [{ cluster: 'c20', reason: 'SnapshotMissing' }] });
    const said = safeMode?.causes[0]?.message ?? '';
    for (const way of ['bring its agent back', 'cluster deregister c20', 'skipWarming: true'])
      expect(said).toContain(way);
    const conditions = clusters.find(({ name }) => name === 'c20')?.conditions;
    expect(conditions).toContainEqual(expect.objectContaining({ type: 'SafeMode', status: 'True' }));
    await world.clock.advance(120_000);
    expect(world.statusFiles.get('clusters/c20.yaml')).toContain('SafeMode');
    const why = await world.server.api.explain({ cluster: 'c01', object: 'Service/web/c20-shop' });
    expect(why.ok && why.value.message).toContain('input snapshot of c20 is missing');
  });

  it('ends when the agent is connected again: outputs of services that ended meanwhile are removed, under the guards', async () => {
    const first = await mirroredFleet(many.slice(0, 3));
    const world = await restartWithout(first, ['c03']);
    await comeBack(world, many.slice(0, 3), ['c01', 'c02', 'c03']);
    expect(mirroredFrom(world, 'c01', 'c03')).toHaveLength(2);
    world.agent('c03').discovers({ upserts: [liveService('cart')], kinds: kindsOf() });
    await world.settle();
    expect(mirroredFrom(world, 'c01', 'c03')).toEqual(['/Service/web/c03-cart']);
    expect(world.server.api.status().safeMode).toBeNull();
    expect(world.statusFiles.get('clusters/c03.yaml')).not.toContain('SafeMode');
  });

  it('is not brought on by a cluster that was never warm, nor by one that skips warming', async () => {
    const three = many.slice(0, 3);
    const first = await createFleetWorld();
    first.source.push({ ...files(three), 'fleet/c04.yaml': clusterYaml('c04') });
    for (const name of three) {
      first.agent(name).connect();
      discoverOne(first, name);
    }
    await first.settle();
    const world = await restartWithout(first, ['c03']);
    const skipping = clusterYaml('c03').replace('spec:\n', 'spec:\n  skipWarming: true\n');
    await comeBack(world, three, three.slice(0, 2));
    expect(world.server.api.status().safeMode?.causes.map(({ cluster }) => cluster)).toEqual(['c03']);
    expect(mirroredFrom(world, 'c01', 'c03')).toHaveLength(2);
    world.source.push({ 'fleet/c03.yaml': skipping });
    await world.settle();
    expect(world.server.api.status().safeMode).toBeNull();
    expect(mirroredFrom(world, 'c01', 'c03')).toEqual([]);
  });

  it('ends for a deregistered cluster: its outputs in other clusters are removals under the guards', async () => {
    const three = many.slice(0, 3);
    const strictGuards = safeModeYaml('scoped', 180, '  guards: {maxRemovalsPerCluster: 1}\n');
    const first = await mirroredFleet(three, strictGuards);
    const world = await restartWithout(first, ['c03']);
    await comeBack(world, three, three.slice(0, 2), strictGuards);
    world.source.push({ 'fleet/c03.yaml': null });
    await world.settle();
    expect(mirroredFrom(world, 'c01', 'c03')).toHaveLength(2);
    const [held] = world.server.api.removals();
    expect(held?.removals).toHaveLength(4);
    await world.server.api.approve(held?.digest ?? '', 'test');
    await world.settle();
    expect([mirroredFrom(world, 'c01', 'c03'), mirroredFrom(world, 'c02', 'c03')]).toEqual([[], []]);
    expect(names(world, 'c03')).not.toEqual([]);
  });

  it('keeps the outputs of a cluster in other clusters while its declaration may be deleted or only unreadable', async () => {
    const three = many.slice(0, 3);
    const first = await mirroredFleet(three);
    first.source.push({ 'fleet/c03.yaml': null, 'apps/b.yaml': 'a: [' });
    await first.settle();
    expect(mirroredFrom(first, 'c01', 'c03')).toHaveLength(2);
    first.source.push({ 'apps/b.yaml': null });
    await first.settle();
    expect(mirroredFrom(first, 'c01', 'c03')).toEqual([]);
  });
});

describe('outputs that safe mode holds', () => {
  const two = many.slice(0, 2);

  it('stay when the ServiceMirror drops the missing cluster in the same push, and when the mode changes to and fro', async () => {
    const first = await mirroredFleet(['c01', 'c02', 'c03']);
    const world = await restartWithout(first, ['c03']);
    const narrower = mirrorYaml('shared', 'names: [c01, c02]', 'selector: {}');
    world.source.push({ ...files(['c01', 'c02', 'c03']), 'mirror.yaml': narrower });
    for (const name of two) world.agent(name).connect();
    await world.settle();
    expect(mirroredFrom(world, 'c01', 'c03')).toHaveLength(2);
    world.source.push({ 'fleet/policy.yaml': safeModeYaml('off', 600, loose) });
    world.source.push({ 'fleet/policy.yaml': safeModeYaml('strict', 0, loose) });
    world.source.push({ 'fleet/policy.yaml': safeModeYaml('scoped', 0, loose) });
    await world.settle();
    expect(mirroredFrom(world, 'c01', 'c03')).toHaveLength(2);
    world.agent('c03').connect();
    discoverOne(world, 'c03');
    await world.settle();
    expect(mirroredFrom(world, 'c01', 'c03')).toEqual([]);
  });

  it('and that a guard has held before stay held when safe mode ends, also if the guards have changed meanwhile', async () => {
    const guarded = safeModeYaml('scoped', 180, '  guards: {maxRemovalsPerCluster: 1}\n');
    const first = await mirroredFleet(two, guarded);
    first.agent('c02').discovers({ removals: [liveService('shop'), liveSlice('shop', [])] });
    await first.settle();
    expect(first.server.api.removals()[0]?.removals).toHaveLength(2);
    const world = await restartWithout(first, ['c02']);
    await comeBack(world, two, ['c01'], guarded);
    expect(world.server.api.removals()).toEqual([]);
    world.source.push({ 'fleet/policy.yaml': safeModeYaml('scoped', 180, loose) });
    await world.settle();
    world.agent('c02').connect();
    world.agent('c02').discovers({ kinds: kindsOf() });
    await world.settle();
    expect(mirroredFrom(world, 'c01', 'c02')).toHaveLength(2);
    expect(world.server.api.removals()[0]?.removals).toHaveLength(2);
  });
});

describe('a kind that cannot be listed', () => {
  it.each([
    ['Services', kindsOf({ service: 'unknown' })],
    ['EndpointSlices', kindsOf({ slice: 'unknown' })],
    ['Services left out of discovery', kindsOf({ service: 'offered' })],
    ['neither said', []],
  ])('%s: no mirror is removed, in any mode', async (_what, kinds) => {
    const world = await mirroredFleet(many.slice(0, 2), safeModeYaml('off', 0, loose));
    await world.clock.advance(1000);
    world.agent('c01').discovers({ removals: [liveService('shop'), liveSlice('shop', [])], kinds });
    await world.settle();
    expect(mirroredFrom(world, 'c02', 'c01')).toHaveLength(2);
    world.agent('c01').discovers({ kinds: kindsOf() });
    await world.settle();
    expect(mirroredFrom(world, 'c02', 'c01')).toEqual([]);
  });

  it('says which cluster, and what to do', async () => {
    const world = await mirroredFleet(many.slice(0, 2));
    world.agent('c01').discovers({
      removals: [liveService('shop'), liveSlice('shop', [])],
      kinds: kindsOf({ service: 'unknown' }),
    });
    await world.settle();
    const { safeMode } = world.server.api.status();
    expect(safeMode?.causes).toMatchObject([{ cluster: 'c01', reason: 'KindsUnknown' }]);
    expect(safeMode?.causes[0]?.message).toContain('Service of it cannot be listed (forbidden)');
  });
});

describe('the status of a cluster that cannot be read', () => {
  it('says so as soon as a ServiceMirror reads it, and no longer than one does', async () => {
    const world = await createFleetWorld();
    const { 'mirror.yaml': mirror, ...rest } = files(many.slice(0, 2));
    world.source.push(rest);
    world.agent('c01').connect();
    world.agent('c01').discovers({ upserts: [liveService('shop')], kinds: kindsOf({ service: 'unknown' }) });
    const said = async (changes: Readonly<Record<string, string | null>>) => {
      world.source.push(changes);
      await world.settle();
      await world.clock.advance(120_000);
      return world.statusFiles.get('clusters/c01.yaml')?.includes('SafeMode');
    };
    expect(await said({})).toBe(false);
    expect(await said({ 'mirror.yaml': mirror })).toBe(true);
    expect(await said({ 'mirror.yaml': null })).toBe(false);
  });
});

describe('the mode', () => {
  const two = many.slice(0, 2);

  it('strict: nothing changes anywhere while a snapshot is missing', async () => {
    const strict = safeModeYaml('strict', 180, loose);
    const first = await mirroredFleet([...two, 'c03'], strict);
    const world = await restartWithout(first, ['c03']);
    await comeBack(world, [...two, 'c03'], two, strict);
    const sent = world.agent('c01').deltas.length;
    world.source.push({ 'apps/a.yaml': configMapYaml('a', '2'), 'apps/b.yaml': configMapYaml('b', '1') });
    world.agent('c02').discovers({ upserts: [liveSlice('shop', ['10.0.0.2'])] });
    await world.settle();
    expect(world.agent('c01').deltas).toHaveLength(sent);
    const why = await world.server.api.explain({ cluster: 'c01', object: 'ConfigMap/web/a' });
    expect(why.ok && why.value.message).toContain('safe mode is strict');
    world.agent('c03').connect();
    discoverOne(world, 'c03');
    await world.settle();
    expect(sentTo(world, 'c01', sent).flatMap(({ upserts }) => upserts)).toEqual(
      expect.arrayContaining(['/ConfigMap/web/a', '/ConfigMap/web/b', 'discovery.k8s.io/EndpointSlice/web/c02-shop-1']),
    );
  });

  it('off: holds until the window is over, and then continues with the connected clusters', async () => {
    const off = safeModeYaml('off', 60, loose);
    const first = await mirroredFleet(two, off);
    const world = await restartWithout(first, ['c02']);
    await comeBack(world, two, ['c01'], off);
    await world.clock.advance(57_000);
    expect(mirroredFrom(world, 'c01', 'c02')).toHaveLength(2);
    expect(world.server.api.status().safeMode?.causes[0]?.message).toContain('until the safe start window is over');
    await world.clock.advance(4_000);
    await world.settle();
    expect(mirroredFrom(world, 'c01', 'c02')).toEqual([]);
    expect(world.server.api.status().safeMode).toBeNull();
  });

  it('off: the length of the window follows the policy while it runs', async () => {
    const first = await mirroredFleet(two, safeModeYaml('off', 600, loose));
    const world = await restartWithout(first, ['c02']);
    await comeBack(world, two, ['c01'], safeModeYaml('off', 600, loose));
    await world.clock.advance(30_000);
    world.source.push({ 'fleet/policy.yaml': safeModeYaml('off', 60, loose) });
    await world.settle();
    expect(mirroredFrom(world, 'c01', 'c02')).toHaveLength(2);
    await world.clock.advance(31_000);
    await world.settle();
    expect(mirroredFrom(world, 'c01', 'c02')).toEqual([]);
  });

  it.each([
    ['goes on', 0],
    ['is an hour behind', -3_600_000],
  ])('off: the next process has a window of its own, also if its clock %s', async (_how, offset) => {
    const off = safeModeYaml('off', 60, loose);
    const first = await mirroredFleet(two, off);
    await first.clock.advance(61_000);
    expect(first.server.engine.safeMode.mode.get('', '')).toEqual({ declared: 'off', inForce: 'none' });
    const world = await restartWithout(first, ['c02'], first.clock.now() + offset);
    await comeBack(world, two, ['c01'], off);
    await world.clock.advance(58_000);
    expect(world.server.engine.safeMode.mode.get('', '')).toEqual({ declared: 'off', inForce: 'scoped' });
    expect(mirroredFrom(world, 'c01', 'c02')).toHaveLength(2);
    await world.clock.advance(3_000);
    await world.settle();
    expect(mirroredFrom(world, 'c01', 'c02')).toEqual([]);
  });

  it('off: the window begins when agents are let in, is never shorter than the policy says, and does not open again', async () => {
    const world = await createFleetWorld();
    const inForce = () => world.server.engine.safeMode.mode.get('', '')?.inForce;
    await world.clock.advance(3_600_001);
    world.source.push(files(two, safeModeYaml('off', 60)));
    await world.clock.settle();
    await world.clock.advance(60_000);
    expect(inForce()).toBe('scoped');
    await world.clock.advance(1_000);
    expect(inForce()).toBe('none');
    world.source.push({ 'fleet/policy.yaml': safeModeYaml('off', 600) });
    await world.settle();
    expect(inForce()).toBe('none');
  });

  it('off: a mode that is switched to it looks back at the window since the start', async () => {
    const world = await createFleetWorld();
    world.source.push(files(two, safeModeYaml('strict', 60)));
    await world.settle();
    await world.clock.advance(61_000);
    world.source.push({ 'fleet/policy.yaml': safeModeYaml('off', 60) });
    expect(world.server.engine.safeMode.mode.get('', '')).toEqual({ declared: 'off', inForce: 'none' });
  });

  it('is switched without a restart, and the earlier guards judge the removals that it releases', async () => {
    const guarded = (mode: string, most: number) =>
      safeModeYaml(mode, 0, `  guards: {maxRemovalsPerCluster: ${most}}\n`);
    const first = await mirroredFleet(two, guarded('scoped', 1));
    const world = await restartWithout(first, ['c02']);
    await comeBack(world, two, ['c01'], guarded('scoped', 1));
    await world.clock.advance(1_000);
    world.source.push({ 'fleet/policy.yaml': guarded('strict', 1) });
    await world.settle();
    expect(world.server.api.status().safeMode).toMatchObject({ mode: 'strict' });
    world.source.push({ 'fleet/policy.yaml': guarded('off', 100) });
    await world.settle();
    await world.clock.advance(1_000);
    await world.settle();
    expect(mirroredFrom(world, 'c01', 'c02')).toHaveLength(2);
    expect(world.server.api.removals()[0]?.removals).toHaveLength(2);
  });
});

describe('a lost store', () => {
  it('is rebuilt from the agents: their objects of a late cluster stay, and nothing else waits', async () => {
    const three = many.slice(0, 3);
    const first = await mirroredFleet(three);
    for (const agent of first.agents.known.values()) agent.abandon();
    await first.settle();
    await first.server.stop();
    await forget(first.store, '');
    const world = await createFleetWorld({
      agents: first.agents,
      clock: createVirtualClock(first.clock.now() + 60_000),
    });
    await comeBack(world, three, ['c01', 'c02']);
    for (const name of ['c01', 'c02']) discoverOne(world, name);
    await world.settle();
    expect(mirroredFrom(world, 'c01', 'c03')).toHaveLength(2);
    expect(world.server.api.status().safeMode?.causes).toMatchObject([{ cluster: 'c03', reason: 'AssumedWarm' }]);
    world.source.push({ 'apps/b.yaml': configMapYaml('b', '1') });
    await world.settle();
    expect(names(world, 'c01')).toContain('/ConfigMap/web/b');
    world.agent('c03').connect();
    world.agent('c03').discovers({ kinds: kindsOf() });
    await world.settle();
    expect(mirroredFrom(world, 'c01', 'c03')).toEqual([]);
  });

  it('a fresh installation is not held up', async () => {
    const world = await createFleetWorld();
    world.source.push(files(many.slice(0, 3)));
    world.agent('c01').connect();
    await world.settle();
    expect(names(world, 'c01')).toEqual(['/ConfigMap/web/a']);
    expect(world.server.api.status().safeMode).toBeNull();
  });
});
