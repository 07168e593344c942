import { describe, expect, it } from 'vitest';
import { parseJsonBytes } from '../../../src/model/text/json.ts';
import { createCutWorld } from '../../support/cut-world.ts';
import {
  clusterResource,
  createFakeCustomResources,
  type FakeCustomResources,
  placementResource,
} from '../../support/fake-custom-resources.ts';
import { createFleetWorld, type FleetWorld } from '../../support/fleet-world.ts';
import { base, restart, startedWorld } from '../../support/started-world.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const apps = 'fleetrelay.dev/Placement/fleet/apps';
const WRITTEN = 'declared/Placement/_cluster/apps.yaml';

const observed = (world: FleetWorld, kind = 'Placement', key = 'apps') =>
  world.server.engine.inputs.observed.get(kind, key);
const ready = (world: FleetWorld) => observed(world)?.conditions.find(({ type }) => type === 'Ready');

async function settled(world: FleetWorld): Promise<FleetWorld> {
  for (let turn = 0; turn < 5; turn += 1) await world.settle();
  return world;
}

describe('the status written last is known to the engine', () => {
  it('once the branch has it, over a restart, and until it is declared no more', async () => {
    const world = await settled(await startedWorld());
    expect(observed(world)?.fields).toMatchObject({ selectedClusters: 2 });
    expect(ready(world)?.status).toBe('True');
    const { lastTransitionTime } = ready(world) ?? expect.fail();
    const record = await world.store.get('observed/Placement/apps');
    expect(parseJsonBytes(record?.value ?? new Uint8Array())).toMatchObject({ selectedClusters: 2 });

    const again = await restart(world);
    again.source.push(base);
    await again.settle();
    expect(ready(again)?.lastTransitionTime).toBe(lastTransitionTime);
    again.source.push({ ...base, 'fleet/placement.yaml': null });
    again.agent('east').connect();
    again.agent('west').connect();
    await settled(again);
    expect(observed(again)).toBeUndefined();
    expect(await again.store.get('observed/Placement/apps')).toBeUndefined();
  });

  it('not any more when its declaration has ended, in whichever slice of that commit the branch has it', async () => {
    for (let slices = 0; slices < 20; slices += 1) {
      const waiting: (() => void)[] = [];
      const world = await createCutWorld([5], { publishing: (published) => waiting.push(published) });
      world.source.push(base);
      await settled(world);
      world.hold();
      world.source.push({ 'fleet/placement.yaml': null });
      for (let turn = 0; turn < slices; turn += 1) {
        world.turn();
        await world.clock.settle();
      }
      for (const published of waiting.splice(0)) published();
      await settled(world);
      expect(observed(world), `after ${slices} slices`).toBeUndefined();
      expect(await world.store.get('observed/Placement/apps')).toBeUndefined();
    }
  });

  it('from the branch if the store has lost it; a time that has not come yet counts as now', async () => {
    const world = await settled(await startedWorld());
    const text = world.statusFiles.get(WRITTEN) ?? expect.fail();
    const forged = text.replaceAll(/lastTransitionTime: .*/g, "lastTransitionTime: '2099-01-01T00:00:00Z'");
    for (const agent of world.agents.known.values()) agent.abandon();
    const again = await createFleetWorld({
      statusFiles: new Map([...world.statusFiles, [WRITTEN, forged]]),
      clock: createVirtualClock(world.clock.now()),
      agents: world.agents,
    });
    again.source.push(base);
    again.agent('east').connect();
    again.agent('west').connect();
    await settled(again);
    const { lastTransitionTime } = ready(again) ?? expect.fail();
    expect(Date.parse(lastTransitionTime)).toBeLessThanOrEqual(again.clock.now());
    expect(again.statusFiles.get(WRITTEN)).not.toContain('2099');
  });

  it('from the custom resource if the store does not have it, and as it is written there', async () => {
    const fake: FakeCustomResources = createFakeCustomResources();
    fake.apply(clusterResource('east'));
    fake.apply(placementResource('apps', ['apps/**']));
    const before = { selectedClusters: 7, theirs: 'x', conditions: [] };
    fake.putStatus(apps, before);
    const world = await createFleetWorld({ custom: fake });
    const seen: unknown[] = [];
    const changes = world.server.engine.graph.watch(world.server.engine.inputs.observed);
    world.source.push({ 'apps/a.yaml': base['apps/a.yaml'] });
    for (let turn = 0; turn < 100; turn += 1) {
      await world.clock.advance(50);
      for (const { key, after } of changes.take()) if (key === 'apps') seen.push(after?.fields.selectedClusters);
    }
    expect(seen).toEqual([7, 1]);
    expect(observed(world)?.fields).not.toHaveProperty('theirs');
  });
});

/** A server with an empty store, and a status branch that answers after this time. */
async function withBranch(world: FleetWorld, answersAfterMs: number) {
  for (const agent of world.agents.known.values()) agent.abandon();
  const clock = createVirtualClock(world.clock.now());
  const starting = createFleetWorld({
    ...{ clock, agents: world.agents, statusFiles: new Map(world.statusFiles) },
    readStatus: () => clock.sleep(answersAfterMs),
  });
  let again: FleetWorld | undefined;
  void starting.then((made) => {
    again = made;
  });
  return { clock, started: () => again };
}

describe('a new leader', () => {
  it('reads the status branch before it sends anything, also for later declarations', async () => {
    const world = await settled(await startedWorld());
    const before = ready(world) ?? expect.fail();
    const { clock, started } = await withBranch(world, 5_000);
    await clock.advance(4_900);
    expect(started()).toBeUndefined();
    await clock.advance(200);
    const again = started() ?? expect.fail();
    const { 'fleet/placement.yaml': placement, ...rest } = base;
    again.source.push({ ...rest, 'fleet/broken.yaml': 'a: [' });
    again.agent('east').connect();
    again.agent('west').connect();
    await again.clock.advance(50);
    expect(observed(again)).toBeUndefined();
    const known: unknown[] = [];
    const changes = again.server.engine.graph.watch(again.server.engine.outputs);
    again.source.push({ 'fleet/placement.yaml': placement });
    // The commit that makes the first outputs of the Placement knows its status.
    known.push(changes.take().length > 0, ready(again)?.lastTransitionTime);
    expect(known).toEqual([true, before.lastTransitionTime]);
    await again.settle();
    expect(await again.store.get('observed/Placement/apps')).toBeDefined();
  });

  it('waits ten seconds at most for the status branch', async () => {
    const world = await settled(await startedWorld());
    const { clock, started } = await withBranch(world, 1_000_000);
    await clock.advance(9_900);
    expect(started()).toBeUndefined();
    await clock.advance(200);
    expect(started()).toBeDefined();
  });

  it('knows the status of a custom resource in the commit in which its declaration appears', async () => {
    const fake: FakeCustomResources = createFakeCustomResources();
    fake.apply(clusterResource('east'));
    const world = await createFleetWorld({ custom: fake });
    world.source.push({ 'apps/a.yaml': base['apps/a.yaml'] });
    await world.settle();
    const east = world.agent('east');
    east.connect();
    await world.settle();
    const known: unknown[] = [];
    east.onDelta = () => known.push(observed(world)?.fields.selectedClusters);
    fake.apply(placementResource('apps', ['apps/**']));
    fake.putStatus(apps, { selectedClusters: 7, conditions: [] });
    await world.settle();
    expect(known[0]).toBe(7);
  });
});
