import { describe, expect, it } from 'vitest';
import { createMemoryStore } from '../../src/adapters/stores/memory.ts';
import type { InventoryEntry } from '../../src/model/agent/agent.ts';
import { sha256 } from '../../src/model/text/digest.ts';
import { createFleetWorld, type FleetWorld } from '../support/fleet-world.ts';
import { configMapYaml } from '../support/manifests.ts';
import { abc, base, guards, names, startedWorld } from '../support/started-world.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

/** Entries of a file that no source has, or of no file. */
function forged(count: number, path?: string): InventoryEntry[] {
  const origins = path === undefined ? [] : [{ source: 'main' as never, path }];
  return Array.from({ length: count }, (_, index): InventoryEntry => {
    const key = `/ConfigMap/web/forged-${String(index).padStart(4, '0')}` as never;
    return { key, digest: sha256(`${index}`), phase: 'held', origins, scope: [] };
  });
}

/** West reports these beside what it was sent. */
async function report(world: FleetWorld, entries: readonly InventoryEntry[]): Promise<void> {
  const west = world.agent('west');
  west.disconnect();
  west.restore([...west.holding().entries, ...entries]);
  west.connect();
  await world.settle();
}

const withoutC = Object.fromEntries(Object.entries(base).filter(([path]) => path !== 'apps/c.yaml'));

describe('an inventory with entries that the fleet has never sent', () => {
  it('does not hold the removals of another cluster', async () => {
    const world = await startedWorld();
    await report(world, forged(51, 'apps/gone.yaml'));
    world.source.push({ 'apps/c.yaml': null });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc.slice(0, 2));
    const held = world.server.api.removals().flatMap(({ removals }) => removals.map(({ cluster }) => cluster));
    expect(new Set(held)).toEqual(new Set(['west']));
  });

  it('does not widen what the guard of the fleet lets pass', async () => {
    const policy = guards({ maxRemovalPercentPerFleet: 20, percentFromOwned: 1 });
    const world = await startedWorld({ ...base, 'fleet/policy.yaml': policy });
    // Kept: nothing says where they come from.
    await report(world, forged(200));
    world.source.push({ 'apps/c.yaml': null });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
    expect(world.server.api.removals()[0]?.message).toMatch(/2 of 6 objects removed in the fleet/);
  });

  it('stays in the cluster while nothing says where its objects come from', async () => {
    const world = await startedWorld();
    await report(world, forged(3));
    expect(world.agent('west').deltas.flatMap(({ removals }) => removals)).toEqual([]);
    const kept = (world.server.api.outputs('west') ?? []).filter(({ object }) => object.includes('forged'));
    expect(kept.map(({ state, reason }) => `${state} ${reason}`)).toEqual(Array(3).fill('kept OriginUnknown'));
  });

  it('gets no file for each object on the status branch', async () => {
    const world = await startedWorld();
    await report(world, [...forged(3), ...forged(4, 'apps/gone.yaml').slice(3)]);
    await world.clock.advance(60_000);
    const files = [...world.statusFiles.keys()].filter((path) => path.startsWith('objects/'));
    expect(files).toHaveLength(3);
  });

  it('does not become proven by the next delta, also if the store is lost after it', async () => {
    const first = await startedWorld();
    await report(first, forged(51));
    first.source.push({ 'apps/a.yaml': configMapYaml('a', '2') });
    await first.settle();
    expect(first.agent('west').deltas.at(-1)?.upserts).toHaveLength(1);
    for (const agent of first.agents.known.values()) agent.abandon();
    const clock = createVirtualClock(first.clock.now() + 1000);
    const world = await createFleetWorld({ store: createMemoryStore(), clock, agents: first.agents });
    world.source.push({ ...base, 'apps/a.yaml': configMapYaml('a', '2') });
    world.agent('west').connect();
    await world.settle();
    const unproven = [...world.server.engine.inputs.ledger.entries('west')].filter(({ value }) => value.unproven);
    expect(unproven.map(({ key }) => key)).toEqual(forged(51).map(({ key }) => key));
  });
});

describe('an inventory with a valid tag', () => {
  it('counts as sent by the fleet after the loss of the store', async () => {
    const first = await startedWorld();
    for (const agent of first.agents.known.values()) agent.abandon();
    const clock = createVirtualClock(first.clock.now() + 1000);
    const world = await createFleetWorld({ store: createMemoryStore(), clock, agents: first.agents });
    const policy = guards({ maxRemovalsPerFleet: 1 });
    world.source.push({ ...withoutC, 'fleet/policy.yaml': policy });
    for (const cluster of ['east', 'west']) {
      world.agent(cluster).connect();
      await world.settle();
    }
    expect(world.server.api.removals()[0]?.message).toMatch(/1 removals in the fleet, after 1 within/);
  });
});

describe('an inventory with a valid tag whose agent has lost contents', () => {
  it('counts as sent by the fleet after the loss of the store, and the contents are sent again', async () => {
    const first = await startedWorld();
    for (const agent of first.agents.known.values()) agent.abandon();
    const clock = createVirtualClock(first.clock.now() + 1000);
    const world = await createFleetWorld({ store: createMemoryStore(), clock, agents: first.agents });
    const east = world.agent('east');
    const [lost] = east.holding().entries;
    east.restore(east.holding().entries.map((entry) => (entry === lost ? { ...entry, lost: true } : entry)));
    world.source.push(base);
    east.connect();
    await world.settle();
    const { upserts, touches } = east.deltas.at(-1) ?? {};
    expect(upserts?.map(({ key, digest }) => [key, digest])).toEqual([[lost?.key, lost?.digest]]);
    // A touch would prove an entry that the tag does not.
    expect(touches).toEqual([]);
    const found = [...world.server.engine.inputs.ledger.entries('east')];
    expect(found.map(({ value }) => [value.unproven, value.lost])).toEqual(abc.map(() => [undefined, undefined]));
  });
});

describe('an inventory without a valid tag of objects that are declared', () => {
  it('is proven by the next delta, which changes no object', async () => {
    const first = await startedWorld();
    for (const agent of first.agents.known.values()) agent.abandon();
    const clock = createVirtualClock(first.clock.now() + 1000);
    const world = await createFleetWorld({ store: createMemoryStore(), clock, agents: first.agents });
    const east = world.agent('east');
    const { entries } = east.holding();
    east.seen({ epoch: 1, sequence: 1 });
    world.source.push(base);
    east.connect();
    await world.settle();
    const { upserts, removals, touches } = east.deltas.at(-1) ?? {};
    expect([upserts, removals, touches?.map(({ key }) => key)]).toEqual([[], [], abc]);
    expect(east.holding().entries).toEqual(entries);
    const found = [...world.server.engine.inputs.ledger.entries('east')];
    expect(found.map(({ value }) => value.unproven)).toEqual([undefined, undefined, undefined]);
  });
});
