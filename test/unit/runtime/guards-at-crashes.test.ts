import { describe, expect, it } from 'vitest';
import { createMemoryStore } from '../../../src/adapters/stores/memory.ts';
import type { SnapshotStore } from '../../../src/ports/snapshot-store.ts';
import { createFleetWorld, type FleetWorld } from '../../support/fleet-world.ts';
import { configMapYaml, policyYaml } from '../../support/manifests.ts';
import { createMortalStore } from '../../support/mortal-store.ts';
import { abc, base, guards, names, restart } from '../../support/started-world.ts';

async function startedOn(store: SnapshotStore, files: Readonly<Record<string, string>>): Promise<FleetWorld> {
  const world = await createFleetWorld({ store });
  world.source.push(files);
  world.agent('east').connect();
  await world.settle();
  return world;
}

/** Whatever needs no time happens; what is written behind is not written yet. */
async function instantly(world: FleetWorld): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await world.clock.advance(0);
}

describe('a server that is killed right after it has sent a removal', () => {
  it('has counted it: small steps do not pass the guard over restarts', async () => {
    const files: Record<string, string> = { ...base, 'fleet/policy.yaml': policyYaml(2) };
    let world = await startedOn(createMemoryStore(), files);
    for (const path of ['apps/a.yaml', 'apps/b.yaml', 'apps/c.yaml']) {
      delete files[path];
      world.source.push({ [path]: null });
      await instantly(world);
      world = await restart(world);
      world.source.push(files);
      world.agent('east').connect();
      await instantly(world);
    }
    await world.settle();
    expect(names(world, 'east')).toEqual(abc.slice(2));
    expect(world.server.api.removals()).toHaveLength(1);
  });

  it('does not count a removal twice that was on record and never arrived', async () => {
    const files: Record<string, string> = { ...base, 'fleet/policy.yaml': policyYaml(1) };
    const first = await startedOn(createMemoryStore(), files);
    delete files['apps/a.yaml'];
    first.agent('east').pause();
    first.source.push({ 'apps/a.yaml': null });
    await instantly(first);
    expect(first.agent('east').deltas.at(-1)?.removals).toEqual(['/ConfigMap/web/a']);
    const world = await restart(first);
    world.source.push(files);
    world.agent('east').connect();
    await world.settle();
    expect(names(world, 'east')).toEqual(abc.slice(1));
    world.source.push({ 'apps/b.yaml': null });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc.slice(1));
    expect(world.server.api.removals()).toHaveLength(1);
  });

  it('does not count a removal twice that never arrived, if the store has lost what the cluster holds', async () => {
    const files: Record<string, string> = { ...base, 'fleet/policy.yaml': policyYaml(1) };
    const first = await startedOn(createMemoryStore(), files);
    delete files['apps/a.yaml'];
    first.agent('east').pause();
    first.source.push({ 'apps/a.yaml': null });
    await instantly(first);
    expect(first.agent('east').deltas.at(-1)?.removals).toEqual(['/ConfigMap/web/a']);
    await first.settle();
    await first.store.write([{ key: 'clusters/east/entries', value: null }]);
    const world = await restart(first);
    world.source.push(files);
    await world.settle();
    expect(world.server.engine.inputs.ledger.size('east')).toBe(0);
    world.agent('east').connect();
    await world.settle();
    expect(names(world, 'east')).toEqual(abc.slice(1));
    expect(world.server.api.removals()).toEqual([]);
    world.source.push({ 'apps/b.yaml': null });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc.slice(1));
    expect(world.server.api.removals()).toHaveLength(1);
  });

  it('sends no removal before its count is in the store', async () => {
    const { store, dieAfter } = createMortalStore();
    const world = await startedOn(store, { ...base, 'fleet/policy.yaml': policyYaml(2) });
    dieAfter(0);
    world.source.push({ 'apps/a.yaml': null });
    await instantly(world);
    expect(world.agent('east').deltas.at(-1)?.removals).toEqual([]);
    expect(names(world, 'east')).toEqual(abc);
  });

  it('waits for the store with nothing but removals', async () => {
    const { store, dieAfter, written } = createMortalStore();
    const world = await startedOn(store, base);
    const before = written();
    dieAfter(0);
    world.source.push({ 'apps/a.yaml': configMapYaml('a', '2'), 'apps/d.yaml': configMapYaml('d', '1') });
    await instantly(world);
    expect(names(world, 'east')).toEqual([...abc, '/ConfigMap/web/d']);
    expect(written()).toBe(before);
  });

  it('continues without a store that does not answer, and counts in memory', async () => {
    const { store, dieAfter } = createMortalStore();
    const world = await startedOn(store, { ...base, 'fleet/policy.yaml': policyYaml(2) });
    dieAfter(0);
    for (const name of ['a', 'b', 'c']) {
      world.source.push({ [`apps/${name}.yaml`]: null });
      await world.clock.advance(10_000);
    }
    expect(names(world, 'east')).toEqual(abc.slice(2));
  });

  it('sends nothing to an agent that has come anew meanwhile', async () => {
    const { store, dieAfter } = createMortalStore();
    const world = await startedOn(store, { ...base, 'fleet/policy.yaml': policyYaml(2) });
    dieAfter(0);
    world.source.push({ 'apps/a.yaml': null });
    await instantly(world);
    world.agent('east').disconnect();
    world.source.push({ 'apps/a.yaml': configMapYaml('a', '1') });
    world.agent('east').connect();
    await world.clock.advance(10_000);
    expect(names(world, 'east')).toEqual(abc);
    expect(world.server.engine.inputs.recentRemovals.get('', 'east')).toBeUndefined();
  });
});

describe('a server that is killed while it notes what is held', () => {
  const limits = {
    maxRemovalsPerCluster: 100_000,
    maxRemovalPercentPerCluster: 100,
    maxRemovalsPerFleet: 100_000,
    maxRemovalPercentPerFleet: 100,
  };

  it('takes no looser guards for the guards of before', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 900 }, (_, index) => [`clusters/east/m${index}.yaml`, configMapYaml(`m${index}`, '1')]),
    );
    const { store, dieAfter, revive } = createMortalStore();
    const first = await startedOn(store, { ...base, ...many });
    const all = names(first, 'east');
    expect(all).toHaveLength(903);
    dieAfter(1);
    const loosened = { 'fleet/policy.yaml': guards(limits) };
    first.source.push({ ...Object.fromEntries(Object.keys(many).map((path) => [path, null])), ...loosened });
    await first.settle();
    revive();
    const world = await restart(first);
    world.source.push({ ...base, ...loosened });
    world.agent('east').connect();
    await world.settle();
    expect(names(world, 'east')).toEqual(all);
  });
});
