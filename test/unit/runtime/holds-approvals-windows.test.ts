import { describe, expect, it } from 'vitest';
import { APPROVAL_LIFE_MS } from '../../../src/runtime/removals/approvals.ts';
import { createFleetWorld } from '../../support/fleet-world.ts';
import { configMapYaml, policyYaml } from '../../support/manifests.ts';
import { createSlowStore } from '../../support/slow-store.ts';
import { abc, base, guards, names, restart, startedWorld, typo } from '../../support/started-world.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const { 'fleet/placement.yaml': placement } = base;

describe('held removals', () => {
  it('stay held through a partial revision that also loosens the guard', async () => {
    const world = await startedWorld({ ...base, 'fleet/policy.yaml': policyYaml(0) });
    world.source.push({ 'apps/a.yaml': null });
    await world.settle();
    expect(world.server.api.removals()).toHaveLength(1);
    world.source.push({ 'apps/b.yaml': typo, 'fleet/policy.yaml': policyYaml(100) });
    await world.settle();
    world.source.push({ 'apps/b.yaml': configMapYaml('b', '1') });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
  });

  it('are forgotten when they are undone while the server is down', async () => {
    const first = await startedWorld({ ...base, 'fleet/policy.yaml': policyYaml(0) });
    first.source.push({ 'apps/a.yaml': null });
    await first.settle();
    expect(first.server.api.removals()).toHaveLength(1);
    const world = await restart(first);
    world.source.push({ ...base, 'fleet/policy.yaml': policyYaml(100) });
    world.agent('east').connect();
    world.agent('west').connect();
    await world.settle();
    expect(world.server.engine.inputs.heldRemovals.size()).toBe(0);
    world.source.push({ 'apps/a.yaml': null });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc.slice(1));
  });

  it('stay held over a restart with loosened guards', async () => {
    const first = await startedWorld({ ...base, 'fleet/policy.yaml': policyYaml(0) });
    first.source.push({ 'apps/a.yaml': null });
    await first.settle();
    const world = await restart(first);
    const { 'apps/a.yaml': _gone, ...rest } = base;
    world.source.push({ ...rest, 'fleet/policy.yaml': policyYaml(100) });
    world.agent('east').connect();
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
  });

  it('are judged by the default guards when the first FleetPolicy loosens them', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 12 }, (_, index) => [`clusters/east/m${index}.yaml`, configMapYaml(`m${index}`, '1')]),
    );
    const world = await startedWorld({ ...base, ...many });
    expect(names(world, 'east')).toHaveLength(15);
    world.source.push({
      ...Object.fromEntries(Object.keys(many).map((path) => [path, null])),
      'fleet/policy.yaml': guards({
        maxRemovalsPerCluster: 1000,
        maxRemovalPercentPerCluster: 100,
        maxRemovalsPerFleet: 1000,
        maxRemovalPercentPerFleet: 100,
      }),
    });
    await world.settle();
    expect(names(world, 'east')).toHaveLength(15);
  });
});

describe('approvals', () => {
  it('outlast a restart', async () => {
    const first = await startedWorld({ ...base, 'fleet/policy.yaml': policyYaml(0) });
    first.agent('east').disconnect();
    first.source.push({ 'apps/a.yaml': null });
    await first.settle();
    const [held] = first.server.api.removals();
    await first.server.api.approve(held?.digest ?? '', 'test');
    await first.settle();
    const world = await restart(first);
    const { 'apps/a.yaml': _gone, ...rest } = base;
    world.source.push({ ...rest, 'fleet/policy.yaml': policyYaml(0) });
    world.agent('east').connect();
    await world.settle();
    expect(names(world, 'east')).toEqual(abc.slice(1));
  });

  it('do not cut a later approval of the same object short', async () => {
    const world = await startedWorld({ ...base, 'fleet/policy.yaml': policyYaml(0) });
    const approve = async (): Promise<void> => {
      const [held] = world.server.api.removals();
      expect(await world.server.api.approve(held?.digest ?? '', 'test')).toMatchObject({ ok: true });
      await world.settle();
    };
    world.source.push({ 'apps/a.yaml': null });
    await world.settle();
    await approve();
    world.source.push({ 'apps/a.yaml': configMapYaml('a', '1') });
    await world.settle();
    await world.clock.advance(50 * 60_000);
    world.agent('east').disconnect();
    world.source.push({ 'apps/a.yaml': null });
    await world.settle();
    await approve();
    await world.clock.advance(20 * 60_000);
    world.agent('east').connect();
    await world.settle();
    expect(names(world, 'east')).toEqual(abc.slice(1));
  });

  it('are in the store once they are answered, also if an earlier one of the object expires before the store has them', async () => {
    const { store, hold } = createSlowStore();
    const first = await startedWorld({ ...base, 'fleet/policy.yaml': policyYaml(0) }, { store });
    const approve = (): ReturnType<typeof first.server.api.approve> =>
      first.server.api.approve(first.server.api.removals()[0]?.digest ?? '', 'test');
    first.source.push({ 'apps/a.yaml': null });
    await first.settle();
    await approve();
    await first.settle();
    first.source.push({ 'apps/a.yaml': configMapYaml('a', '1') });
    await first.settle();
    await first.clock.advance(APPROVAL_LIFE_MS - 10_000);
    for (const name of ['east', 'west']) first.agent(name).disconnect();
    first.source.push({ 'apps/a.yaml': null });
    await first.settle();
    const goOn = hold();
    const answer = approve();
    await first.clock.advance(15_000);
    goOn();
    await first.settle();
    expect(await answer).toMatchObject({ ok: true, value: { released: 2 } });
    const stored: string[] = [];
    for await (const { key } of store.list('approvals/')) stored.push(key);
    expect(stored).toHaveLength(2);
    const world = await restart(first);
    const { 'apps/a.yaml': _gone, ...rest } = base;
    world.source.push({ ...rest, 'fleet/policy.yaml': policyYaml(0) });
    for (const name of ['east', 'west']) world.agent(name).connect();
    await world.settle();
    expect([names(world, 'east'), names(world, 'west')]).toEqual([abc.slice(1), abc.slice(1)]);
  });

  it('leave nothing in the store when they expire while the server is down', async () => {
    const first = await startedWorld({ ...base, 'fleet/policy.yaml': policyYaml(0) });
    first.agent('east').disconnect();
    first.source.push({ 'apps/a.yaml': null });
    await first.settle();
    const [held] = first.server.api.removals();
    await first.server.api.approve(held?.digest ?? '', 'test');
    await first.settle();
    for (const agent of first.agents.known.values()) agent.abandon();
    const world = await createFleetWorld({
      store: first.store,
      clock: createVirtualClock(first.clock.now() + 2 * 3_600_000),
      agents: first.agents,
    });
    world.source.push({ ...base });
    world.agent('east').connect();
    await world.settle();
    const left: string[] = [];
    for await (const { key } of world.store.list('approvals/')) left.push(key);
    expect(left).toEqual([]);
  });

  it('do not pass on to another cluster that takes the name', async () => {
    const world = await startedWorld({ ...base, 'fleet/policy.yaml': policyYaml(0) });
    const { entries } = world.agent('east').holding();
    world.agent('east').disconnect();
    world.source.push({ 'apps/a.yaml': null });
    await world.settle();
    const [held] = world.server.api.removals();
    await world.server.api.approve(held?.digest ?? '', 'test');
    await world.settle();
    await world.server.api.replaceCluster('east', 'test');
    const other = world.agent('east', 'other');
    other.restore(entries);
    expect(other.connect().type).toBe('admitted');
    await world.settle();
    expect(other.holding().entries).toHaveLength(3);
  });
});

describe('the window of the guards', () => {
  it('is as long after a restart as the policy says', async () => {
    const policy = guards({ maxRemovalsPerCluster: 2, windowSeconds: 7200 });
    const first = await startedWorld({ ...base, 'fleet/policy.yaml': policy });
    first.source.push({ 'apps/a.yaml': null, 'apps/b.yaml': null });
    await first.settle();
    expect(names(first, 'east')).toEqual(abc.slice(2));
    await first.clock.advance(20 * 60_000);
    const world = await restart(first);
    world.source.push({
      'clusters/east/cluster.yaml': base['clusters/east/cluster.yaml'],
      'clusters/west/cluster.yaml': base['clusters/west/cluster.yaml'],
      'fleet/placement.yaml': placement,
      'fleet/policy.yaml': policy,
      'apps/c.yaml': base['apps/c.yaml'],
    });
    world.agent('east').connect();
    await world.settle();
    world.source.push({ 'apps/c.yaml': null });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc.slice(2));
  });

  it.each([
    { after: 30_000, left: abc.slice(2), what: 'counts removals that the shorter window of the last policy covers' },
    {
      after: 61_000,
      left: [],
      what: 'does not count removals that the shorter window of the last policy has ended for',
    },
  ])('$what', async ({ after, left }) => {
    const policy = (windowSeconds: number) =>
      guards({ maxRemovalsPerCluster: 2, maxRemovalPercentPerCluster: 100, windowSeconds });
    const world = await startedWorld({ ...base, 'fleet/policy.yaml': policy(60) });
    world.source.push({ 'apps/a.yaml': null, 'apps/b.yaml': null });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc.slice(2));
    await world.clock.advance(after);
    world.source.push({ 'apps/c.yaml': null, 'fleet/policy.yaml': policy(7200) });
    await world.settle();
    expect(names(world, 'east')).toEqual(left);
  });

  it('needs no more timers the more is removed', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 60 }, (_, index) => [`clusters/east/m${index}.yaml`, configMapYaml(`m${index}`, '1')]),
    );
    const world = await startedWorld({
      ...base,
      ...files,
      'fleet/policy.yaml': guards({
        maxRemovalsPerCluster: 1000,
        maxRemovalsPerFleet: 1000,
        maxRemovalPercentPerCluster: 100,
        maxRemovalPercentPerFleet: 100,
        windowSeconds: 60,
      }),
    });
    await world.clock.advance(30_000);
    const before = world.clock.waiting();
    for (const path of Object.keys(files)) {
      world.source.push({ [path]: null });
      await world.clock.advance(5_000);
    }
    expect(world.clock.waiting() - before).toBeLessThan(5);
  }, 20_000);

  it('does not count a removal twice that was lost on its way', async () => {
    const world = await startedWorld({ ...base, 'fleet/policy.yaml': policyYaml(2) });
    world.agent('east').pause();
    world.source.push({ 'apps/a.yaml': null, 'apps/b.yaml': null });
    await world.settle();
    world.agent('east').disconnect();
    world.agent('east').release('lost');
    world.agent('east').connect();
    await world.settle();
    expect(names(world, 'east')).toEqual(abc.slice(2));
  });
});

describe('the percentage of the guard', () => {
  it('counts an object once that is still being removed', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 17 }, (_, index) => [`clusters/east/m${index}.yaml`, configMapYaml(`m${index}`, '1')]),
    );
    // 20 owned; 8 leave and hang; 3 more make 11 of 20: 55 percent.
    const world = await startedWorld({
      ...base,
      ...files,
      'fleet/policy.yaml': guards({
        maxRemovalsPerCluster: 1000,
        maxRemovalPercentPerFleet: 100,
        maxRemovalPercentPerCluster: 50,
      }),
    });
    const paths = Object.keys(files);
    world.agent('east').pause();
    world.source.push(Object.fromEntries(paths.slice(0, 8).map((path) => [path, null])));
    await world.settle();
    world.source.push(Object.fromEntries(paths.slice(8, 11).map((path) => [path, null])));
    await world.settle();
    expect(world.server.api.removals()).toHaveLength(1);
  });
});
