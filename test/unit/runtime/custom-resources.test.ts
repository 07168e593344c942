import { describe, expect, it } from 'vitest';
import {
  clusterResource,
  conditionsIn,
  createFakeCustomResources,
  type FakeCustomResources,
  placementResource,
} from '../../support/fake-custom-resources.ts';
import { createFleetWorld, type FleetWorld } from '../../support/fleet-world.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../../support/manifests.ts';
import { clusterId, clusterName } from '../../support/relay-world.ts';
import { abc, names, typo } from '../../support/started-world.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const east = 'admin.gloo.solo.io/KubernetesCluster/fleet/east';
const apps = 'fleetrelay.dev/Placement/fleet/apps';
const inGit = {
  'apps/a.yaml': configMapYaml('a', '1'),
  'apps/b.yaml': configMapYaml('b', '1'),
  'apps/c.yaml': configMapYaml('c', '1'),
};

async function start(
  fake: FakeCustomResources,
  files: Readonly<Record<string, string>> = inGit,
  before?: FleetWorld,
): Promise<FleetWorld> {
  const world = await createFleetWorld({
    custom: fake,
    ...(before === undefined
      ? {}
      : { store: before.store, clock: createVirtualClock(before.clock.now()), agents: before.agents }),
  });
  world.source.push(files);
  if (before === undefined) world.agent('east').connect();
  await settle(world);
  return world;
}

async function settle(world: FleetWorld): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await world.settle();
}

function clusterAndPlacement(): FakeCustomResources {
  const fake = createFakeCustomResources();
  fake.apply(clusterResource('east', { env: 'prod' }));
  fake.apply(placementResource('apps', ['apps/**']));
  return fake;
}

const condition = (fake: FakeCustomResources, key: string, type: string) => conditionsIn(fake.get(key)?.status)[type];

describe('custom resources beside a repository', () => {
  it('register clusters and place the objects in git; their status reports the progress', async () => {
    const fake = clusterAndPlacement();
    const world = await start(fake);
    world.agent('east').connect();
    await settle(world);
    expect(names(world, 'east')).toEqual(abc);
    expect(fake.get(apps)?.status).toMatchObject({
      observedGeneration: 1,
      selectedClusters: 1,
      counts: { targeted: 3, applied: 3, failed: 0, held: 0, pending: 0, unreachable: 0 },
    });
    expect(condition(fake, apps, 'Ready')).toMatchObject({ status: 'True', reason: 'Applied', observedGeneration: 1 });
    expect(condition(fake, apps, 'Accepted')).toMatchObject({ status: 'True', reason: 'Accepted' });
    expect(condition(fake, east, 'Connected')).toMatchObject({ status: 'True' });
    expect(fake.get(east)?.status).toMatchObject({ counts: { targeted: 3, applied: 3 } });
    const told = fake.events.map(({ key, reason }) => `${key === apps ? 'apps' : 'east'} ${reason}`);
    expect(told).toContain('apps Admitted');
    expect(told).toContain('apps Applied');
    expect(told).toContain('east AgentConnected');
    const writes = fake.writes.length;
    await settle(world);
    expect(fake.writes.length).toBe(writes);
  });

  it('get an Event when the agent of a cluster enrols again, and a cluster in git gets none', async () => {
    const fake = clusterAndPlacement();
    const world = await start(fake, { ...inGit, 'fleet/west.yaml': clusterYaml('west', {}) });
    for (const cluster of ['west', 'east', 'unknown']) {
      const who = { cluster: clusterName(cluster), clusterId: clusterId('id') };
      world.agents.listener?.enrolledAgain({ ...who, proof: 'token', key: '' }, 'abc1');
    }
    const events = fake.events.filter(({ reason }) => reason === 'EnrolledAgain');
    expect(events).toEqual([
      { key: east, type: 'Warning', reason: 'EnrolledAgain', message: expect.stringContaining('certificate abc1') },
    ]);
  });

  it('have no file on the status branch, and a declaration in git has one', async () => {
    const fake = clusterAndPlacement();
    const world = await start(fake, { ...inGit, 'fleet/web.yaml': placementYaml('web', 'apps/a.yaml') });
    const files = (): readonly string[] =>
      [...world.statusFiles.keys()].filter((path) => /^(clusters|declared)\//.test(path));
    expect(files()).toEqual(['declared/Placement/_cluster/web.yaml']);
    expect(world.statusFiles.get('declared/Placement/_cluster/web.yaml')).toContain('selectedClusters: 1');
    world.source.push({ 'fleet/web.yaml': null, 'fleet/apps.yaml': placementYaml('apps', 'apps/**') });
    await settle(world);
    // The custom resource was there first.
    expect(files()).toEqual([]);
    fake.remove(apps);
    await settle(world);
    expect(files()).toEqual(['declared/Placement/_cluster/apps.yaml']);
  });

  it('lose against a repository, and say so', async () => {
    const fake = clusterAndPlacement();
    fake.apply(placementResource('web', ['web/**']));
    const world = await start(fake, {
      ...inGit,
      'fleet/east.yaml': clusterYaml('east', { env: 'test' }),
      'fleet/web.yaml': placementYaml('web', 'apps/**'),
    });
    expect(condition(fake, east, 'Accepted')).toMatchObject({ status: 'False', reason: 'Conflict' });
    expect(condition(fake, east, 'Accepted')?.message).toContain('main:fleet/east.yaml');
    expect(condition(fake, east, 'Ready')).toMatchObject({ status: 'False', reason: 'Conflict' });
    expect(world.server.engine.clusters.get('', 'east')?.value.labels).toEqual({ env: 'test' });
    expect(fake.events.map(({ reason }) => reason)).toContain('Conflict');
    expect(fake.get(east)?.status).not.toHaveProperty('counts');
  });

  it('that cannot be read report the problem, hold as last known good, and nothing is removed', async () => {
    const fake = clusterAndPlacement();
    const world = await start(fake);
    world.agent('east').connect();
    await settle(world);
    fake.apply(placementResource('apps', ['../apps/**']));
    world.source.push({ 'apps/a.yaml': null });
    await settle(world);
    expect(names(world, 'east')).toEqual(abc.slice(1));
    expect(condition(fake, apps, 'Accepted')).toMatchObject({
      status: 'False',
      reason: 'Invalid',
      observedGeneration: 2,
    });
    expect(condition(fake, apps, 'Accepted')?.message).toContain('must not hold');
    // It holds as last known good, and is still counted.
    expect(fake.get(apps)?.status).toMatchObject({ counts: { targeted: 2, applied: 2 } });
    expect(fake.events.filter(({ reason }) => reason === 'Invalid').length).toBe(1);
  });

  it('that are deleted are removals, under the guards', async () => {
    const fake = clusterAndPlacement();
    const world = await start(fake);
    world.agent('east').connect();
    await settle(world);
    fake.remove(apps);
    await settle(world);
    expect(names(world, 'east')).toEqual([]);
  });

  it('of a kind that is unknown, also after a restart, remove nothing', async () => {
    const fake = clusterAndPlacement();
    const world = await start(fake);
    world.agent('east').connect();
    await settle(world);
    fake.kind('fleetrelay.dev/Placement', 'unknown', 'it is not installed');
    fake.remove(apps);
    for (const agent of world.agents.known.values()) agent.abandon();
    const again = await start(fake, inGit, world);
    again.agent('east').connect();
    await settle(again);
    expect(names(again, 'east')).toEqual(abc);
    // An object that the repository no longer declares is still removed: the repository itself proves that.
    again.source.push({ 'apps/a.yaml': null });
    await settle(again);
    expect(names(again, 'east')).toEqual(abc.slice(1));
  });

  it('that are listed empty after their definition was deleted wait for a person', async () => {
    const fake = clusterAndPlacement();
    const world = await start(fake);
    world.agent('east').connect();
    await settle(world);
    fake.kind('fleetrelay.dev/Placement', 'unknown', 'its definition is being deleted');
    await settle(world);
    fake.remove(apps);
    fake.kind('fleetrelay.dev/Placement', 'complete');
    await settle(world);
    expect(names(world, 'east')).toEqual(abc);
    const state = world.server.sources.get('custom');
    expect(state?.condition).toMatchObject({ state: 'refused', reason: 'KindDeleted' });
    expect(state?.source.accept(state.condition.refusedRevision ?? '')).toBe(true);
    await settle(world);
    expect(names(world, 'east')).toEqual([]);
  });

  it('keep a cluster connected through a typo elsewhere, and held removals show', async () => {
    const fake = clusterAndPlacement();
    const world = await start(fake);
    world.agent('east').connect();
    await settle(world);
    world.source.push({ 'apps/b.yaml': typo });
    await settle(world);
    expect(names(world, 'east')).toEqual(abc);
    expect(fake.get(apps)?.status).toMatchObject({ counts: { targeted: 3, applied: 2, held: 1 } });
    expect(condition(fake, apps, 'Stalled')).toMatchObject({ status: 'True' });
    expect(fake.events.some(({ key, reason }) => key === apps && reason === 'ObjectsHeld')).toBe(true);
  });

  it('do not tell of agents that are away for a moment after a restart', async () => {
    const fake = clusterAndPlacement();
    const world = await start(fake);
    world.agent('east').connect();
    await settle(world);
    for (const agent of world.agents.known.values()) agent.abandon();
    const before = fake.writes.length;
    const again = await start(fake, inGit, world);
    expect(condition(fake, east, 'Connected')).toMatchObject({ status: 'True' });
    again.agent('east').connect();
    await settle(again);
    expect(fake.writes.length).toBe(before);
    again.agent('east').disconnect();
    await settle(again);
    expect(condition(fake, east, 'Connected')).toMatchObject({ status: 'False', reason: 'AgentDisconnected' });
  });
});
