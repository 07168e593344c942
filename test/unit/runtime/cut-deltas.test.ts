import { describe, expect, it } from 'vitest';
import type { SequencedDelta } from '../../../src/model/fleet/output.ts';
import { createFleetWorld, type FleetWorld } from '../../support/fleet-world.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../../support/manifests.ts';
import { guards, names, restart, startedWorld } from '../../support/started-world.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

/** Room for one of the objects below, not for two. */
const ONE = { deltaBytes: 1_500 };
const BIG = 'x'.repeat(1_000);
const fleet = {
  'clusters/east/cluster.yaml': clusterYaml('east', { env: 'prod' }),
  'fleet/placement.yaml': placementYaml('apps', 'apps/**'),
};
const named = (name: string): string => `/ConfigMap/web/${name}`;
const files = (of: readonly string[], datum = BIG): Record<string, string> =>
  Object.fromEntries(of.map((name) => [`apps/${name}.yaml`, configMapYaml(name, datum)]));
const gone = (of: readonly string[]): Record<string, null> =>
  Object.fromEntries(of.map((name) => [`apps/${name}.yaml`, null]));
const changesOf = ({ upserts, touches, removals }: SequencedDelta): readonly string[] => [
  ...upserts.map(({ key }) => `+${key}`),
  ...touches.map(({ key }) => `~${key}`),
  ...removals.map((key) => `-${key}`),
];
const sentTo = (world: FleetWorld, from = 0): readonly (readonly string[])[] =>
  world.agent('east').deltas.slice(from).map(changesOf);
const heldIn = (world: FleetWorld): readonly string[] =>
  (world.server.api.removals()[0]?.removals ?? []).map(({ object }) => object);

async function started(more: Record<string, string> = {}): Promise<FleetWorld> {
  const world = await createFleetWorld(ONE);
  world.source.push({ ...fleet, ...more });
  world.agent('east').connect();
  await world.settle();
  return world;
}

describe('a change that is too large for one delta', () => {
  it('is sent in several, each from what the agent has accepted of the one before', async () => {
    const world = await started(files(['a', 'b', 'c']));
    const { deltas } = world.agent('east');
    expect(deltas.map(changesOf)).toEqual([[`+${named('a')}`], [`+${named('b')}`], [`+${named('c')}`]]);
    for (const [place, { from, position }] of deltas.entries()) {
      const before = deltas[place - 1];
      if (before === undefined) continue;
      expect(from).toBe(before.to);
      expect(position.sequence).toBe(before.position.sequence + 1);
    }
  });

  it('waits for the answer to each delta, and takes over what has changed meanwhile', async () => {
    const world = await createFleetWorld(ONE);
    world.source.push({ ...fleet, ...files(['a', 'b', 'c']) });
    world.agent('east').pause();
    world.agent('east').connect();
    await world.settle();
    expect(sentTo(world)).toEqual([[`+${named('a')}`]]);
    world.source.push({ ...gone(['b']), ...files(['c'], `${BIG}2`) });
    await world.settle();
    world.agent('east').release('accepted');
    await world.settle();
    expect(sentTo(world, 1)).toEqual([[`+${named('c')}`]]);
    expect(JSON.stringify(world.agent('east').deltas[1]?.upserts[0]?.value)).toContain(`"${BIG}2"`);
  });

  it('goes on from what was accepted after the stream or the server has ended', async () => {
    const world = await createFleetWorld(ONE);
    world.source.push({ ...fleet, ...files(['a', 'b', 'c']) });
    const east = world.agent('east');
    east.pause();
    east.connect();
    await world.settle();
    east.onDelta = east.pause;
    east.release('accepted');
    await world.settle();
    east.onDelta = () => undefined;
    east.disconnect();
    east.release('lost');
    await world.settle();
    expect(names(world, 'east')).toEqual([named('a')]);
    east.connect();
    await world.settle();
    expect(names(world, 'east')).toEqual([named('a'), named('b'), named('c')]);
    expect(sentTo(world, 2)).toEqual([[`+${named('b')}`], [`+${named('c')}`]]);
  });

  it('brings Namespaces and definitions first, webhooks last, and removals after all of them', async () => {
    const world = await started(files(['old']));
    const { length } = world.agent('east').deltas;
    const object = (apiVersion: string, kind: string, name: string): string =>
      `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: ${name}, annotations: {x: ${BIG}}}\n`;
    world.source.push({
      ...files(['a', 'b']),
      ...gone(['old']),
      'apps/hook.yaml': object('admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration', 'hook'),
      'apps/ns.yaml': object('v1', 'Namespace', 'web'),
      'apps/crd.yaml': object('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'things.example.com'),
    });
    await world.settle();
    expect(sentTo(world, length)).toEqual([
      ['+/Namespace//web'],
      ['+apiextensions.k8s.io/CustomResourceDefinition//things.example.com'],
      [`+${named('a')}`],
      [`+${named('b')}`],
      ['+admissionregistration.k8s.io/ValidatingWebhookConfiguration//hook', `-${named('old')}`],
    ]);
  });

  it('sends an object above the limit alone, and then the others', async () => {
    const world = await started({ ...files(['b'], 'x'.repeat(5_000)), ...files(['a', 'c']) });
    expect(sentTo(world)).toEqual([[`+${named('a')}`], [`+${named('b')}`], [`+${named('c')}`]]);
  });
});

describe('the removals of a large change', () => {
  const limits = { maxRemovalsPerCluster: 2, maxRemovalPercentPerCluster: 100, maxRemovalPercentPerFleet: 100 };
  const before = { 'fleet/policy.yaml': guards(limits), ...files(['a', 'b', 'c', 'd'], '1') };

  it('are judged together: more than the limit are held however many deltas there are', async () => {
    const world = await started(before);
    world.source.push({ ...gone(['a', 'b', 'c']), ...files(['p', 'q', 'r']) });
    await world.settle();
    expect(names(world, 'east')).toEqual(['a', 'b', 'c', 'd', 'p', 'q', 'r'].map(named));
    expect(heldIn(world)).toEqual(['ConfigMap/web/a', 'ConfigMap/web/b', 'ConfigMap/web/c']);
  });

  it('that the guards let pass together are sent together, and counted once', async () => {
    const world = await started(before);
    const { length } = world.agent('east').deltas;
    world.source.push({ ...gone(['a', 'b']), ...files(['p', 'q', 'r']) });
    await world.settle();
    expect(sentTo(world, length)).toEqual([
      [`+${named('p')}`],
      [`+${named('q')}`],
      [`+${named('r')}`, `-${named('a')}`, `-${named('b')}`],
    ]);
    // The limit is used up: the next removal within the window is one too many.
    world.source.push(gone(['c']));
    await world.settle();
    expect(heldIn(world)).toEqual(['ConfigMap/web/c']);
  });

  it('that the percentage holds stay held when new objects have arrived', async () => {
    const percent = { maxRemovalPercentPerCluster: 40, maxRemovalPercentPerFleet: 40, percentFromOwned: 1 };
    const world = await started({ ...before, 'fleet/policy.yaml': guards(percent) });
    world.source.push({ ...gone(['a', 'b']), ...files(['p', 'q', 'r', 's']) });
    await world.settle();
    expect(names(world, 'east')).toEqual(['a', 'b', 'c', 'd', 'p', 'q', 'r', 's'].map(named));
    expect(heldIn(world)).toEqual(['ConfigMap/web/a', 'ConfigMap/web/b']);
  });
});

describe('removals that have passed the guards and wait for the last delta', () => {
  const old = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'];

  /** The last delta is not sent yet. */
  async function waiting(policy: Readonly<Record<string, number>>): Promise<FleetWorld> {
    const world = await started({ 'fleet/policy.yaml': guards(policy), ...files(old, '1') });
    const east = world.agent('east');
    east.onDelta = east.pause;
    world.source.push({ ...gone(['a', 'b']), ...files(['p', 'q', 'r']) });
    await world.settle();
    east.release('accepted');
    await world.settle();
    expect(names(world, 'east')).toEqual([...old, 'p'].map(named));
    return world;
  }
  async function go(world: FleetWorld): Promise<void> {
    const east = world.agent('east');
    east.onDelta = () => undefined;
    east.release('accepted');
    await world.settle();
  }
  const few = { maxRemovalsPerCluster: 2, maxRemovalPercentPerCluster: 100, maxRemovalPercentPerFleet: 100 };

  it('are not held by a percentage that counts only since new objects have arrived', async () => {
    const world = await waiting({
      percentFromOwned: 10,
      maxRemovalPercentPerCluster: 10,
      maxRemovalPercentPerFleet: 10,
    });
    await go(world);
    expect(heldIn(world)).toEqual([]);
    expect(names(world, 'east')).toEqual([...old.slice(2), 'p', 'q', 'r'].map(named));
  });

  it('are not held by removals of a later push, which count them', async () => {
    const world = await waiting(few);
    world.source.push(gone(['c']));
    await world.settle();
    await go(world);
    expect(heldIn(world)).toEqual(['ConfigMap/web/c']);
    expect(names(world, 'east')).toEqual([...old.slice(2), 'p', 'q', 'r'].map(named));
  });

  it('go on after the stream was lost, and are counted once', async () => {
    const world = await waiting(few);
    const east = world.agent('east');
    east.disconnect();
    east.release('lost');
    world.source.push(gone(['c']));
    await world.settle();
    east.onDelta = () => undefined;
    east.connect();
    await world.settle();
    expect(heldIn(world)).toEqual(['ConfigMap/web/c']);
    expect(names(world, 'east')).toEqual([...old.slice(2), 'p', 'q', 'r'].map(named));
  });

  it('go on after the server was killed', async () => {
    const world = await restart(await waiting(few));
    const east = world.agent('east');
    east.onDelta = () => undefined;
    world.source.push({
      'fleet/policy.yaml': guards(few),
      ...fleet,
      ...files(old.slice(3), '1'),
      ...files(['p', 'q', 'r']),
    });
    east.connect();
    await world.settle();
    expect(heldIn(world)).toEqual(['ConfigMap/web/c']);
    expect(names(world, 'east')).toEqual([...old.slice(2), 'p', 'q', 'r'].map(named));
  });

  it('go once their source can be read completely again, also with a push that removes too much', async () => {
    const world = await waiting(few);
    world.source.push({ 'apps/broken.yaml': 'kind: [' });
    await world.settle();
    await go(world);
    expect(names(world, 'east')).toEqual([...old, 'p', 'q', 'r'].map(named));
    world.source.push({ 'apps/broken.yaml': null, ...gone(['c']) });
    await world.settle();
    expect(heldIn(world)).toEqual(['ConfigMap/web/c']);
    expect(names(world, 'east')).toEqual([...old.slice(2), 'p', 'q', 'r'].map(named));
  });

  it('that are undone do not go', async () => {
    const world = await waiting(few);
    world.source.push(files(['a'], '1'));
    await world.settle();
    await go(world);
    expect(names(world, 'east')).toEqual(['a', ...old.slice(2), 'p', 'q', 'r'].map(named));
  });

  it('are no longer counted once they are undone', async () => {
    const world = await waiting(few);
    world.source.push(files(['a', 'b'], '1'));
    await go(world);
    world.source.push(gone(['c', 'd']));
    await world.settle();
    expect(heldIn(world)).toEqual([]);
    expect(names(world, 'east')).toEqual(['a', 'b', ...old.slice(4), 'p', 'q', 'r'].map(named));
  });

  it('are no longer counted in the revision that undoes them', async () => {
    const world = await waiting(few);
    world.source.push({ ...files(['a', 'b'], '1'), ...gone(['c', 'd']) });
    await go(world);
    expect(heldIn(world)).toEqual([]);
    expect(names(world, 'east')).toEqual(['a', 'b', ...old.slice(4), 'p', 'q', 'r'].map(named));
  });

  describe('while the guards are tightened', () => {
    const tight = { ...few, maxRemovalsPerCluster: 1 };
    const held = ['ConfigMap/web/a', 'ConfigMap/web/b'];
    const policy = (limits: Readonly<Record<string, number>>) => ({ 'fleet/policy.yaml': guards(limits) });
    const tightened = async (limits: Readonly<Record<string, number>>): Promise<FleetWorld> => {
      const world = await waiting(few);
      world.source.push(policy(limits));
      await world.settle();
      return world;
    };

    it.each([
      ['the count of a cluster', { maxRemovalsPerCluster: 1 }],
      ['the count of the fleet', { maxRemovalsPerFleet: 1 }],
      ['the percentage of a cluster', { maxRemovalPercentPerCluster: 10 }],
      ['the percentage of the fleet', { maxRemovalPercentPerFleet: 10 }],
    ])('are held by %s', async (_, limits) => {
      const world = await tightened({ ...few, percentFromOwned: 1, ...limits });
      await go(world);
      expect(heldIn(world)).toEqual(held);
      expect(names(world, 'east')).toEqual([...old, 'p', 'q', 'r'].map(named));
    });

    it('go if they stay below the new limits, and are counted once', async () => {
      const world = await tightened({ ...few, maxRemovalsPerFleet: 2 });
      await go(world);
      expect(heldIn(world)).toEqual([]);
      expect(names(world, 'east')).toEqual([...old.slice(2), 'p', 'q', 'r'].map(named));
      world.source.push(gone(['c']));
      await world.settle();
      expect(heldIn(world)).toEqual(['ConfigMap/web/c']);
    });

    it('go if the guards are loosened', async () => {
      const world = await tightened({ ...few, maxRemovalsPerCluster: 3 });
      await go(world);
      expect(names(world, 'east')).toEqual([...old.slice(2), 'p', 'q', 'r'].map(named));
    });

    it('stay held when the guards are loosened again', async () => {
      const world = await tightened(tight);
      world.source.push(policy(few));
      await world.settle();
      await go(world);
      expect(heldIn(world)).toEqual(held);
      expect(names(world, 'east')).toEqual([...old, 'p', 'q', 'r'].map(named));
    });

    it('are held once their source can be read completely again', async () => {
      const world = await tightened({ ...few, percentFromOwned: 1 });
      world.source.push({ ...policy(tight), 'apps/broken.yaml': 'kind: [' });
      await world.settle();
      await go(world);
      world.source.push({ 'apps/broken.yaml': null });
      await world.settle();
      expect(heldIn(world)).toEqual(held);
      expect(names(world, 'east')).toEqual([...old, 'p', 'q', 'r'].map(named));
    });

    it('are held after the stream was lost', async () => {
      const world = await waiting(few);
      const east = world.agent('east');
      east.disconnect();
      east.release('lost');
      world.source.push(policy(tight));
      await world.settle();
      east.onDelta = () => undefined;
      east.connect();
      await world.settle();
      expect(heldIn(world)).toEqual(held);
      expect(names(world, 'east')).toEqual([...old, 'p', 'q', 'r'].map(named));
    });

    it('are held by a server that reads the new policy first when it starts', async () => {
      const world = await restart(await waiting(few));
      const east = world.agent('east');
      east.onDelta = () => undefined;
      world.source.push({ ...policy(tight), ...fleet, ...files(old.slice(2), '1'), ...files(['p', 'q', 'r']) });
      east.connect();
      await world.settle();
      expect(heldIn(world)).toEqual(held);
      expect(names(world, 'east')).toEqual([...old, 'p', 'q', 'r'].map(named));
    });

    it('are held by a server whose bounds allow less', async () => {
      const before = await waiting(few);
      for (const agent of before.agents.known.values()) agent.abandon();
      const world = await createFleetWorld({
        ...ONE,
        ...{ store: before.store, agents: before.agents, clock: createVirtualClock(before.clock.now()) },
        guardBounds: { maxRemovalsPerCluster: 1 },
      });
      const east = world.agent('east');
      east.onDelta = () => undefined;
      world.source.push({ ...policy(few), ...fleet, ...files(old.slice(2), '1'), ...files(['p', 'q', 'r']) });
      east.connect();
      await world.settle();
      expect(heldIn(world)).toEqual(held);
      expect(names(world, 'east')).toEqual([...old, 'p', 'q', 'r'].map(named));
    });

    it('are not counted while they are held, and go uncounted when a person approves them', async () => {
      const world = await tightened(tight);
      await go(world);
      const digest = world.server.api.removals()[0]?.digest ?? '';
      expect(await world.server.api.approve(digest, 'a person')).toMatchObject({ ok: true });
      await world.settle();
      expect(names(world, 'east')).toEqual([...old.slice(2), 'p', 'q', 'r'].map(named));
      world.source.push(gone(['c']));
      await world.settle();
      expect(heldIn(world)).toEqual([]);
      expect(names(world, 'east')).toEqual([...old.slice(3), 'p', 'q', 'r'].map(named));
    });
  });
});

describe('the history of a large change', () => {
  it('gives every delta the reason of the change, and says how much follows', async () => {
    const world = await started(files(['a', 'b', 'c']));
    world.source.push(files(['a', 'b'], `${BIG}2`));
    await world.settle();
    const answer = await world.server.api.history({ cluster: 'east', limit: 100 });
    if (!answer.ok) throw new Error(answer.message);
    const told = answer.value.map(({ reasons, counts, rest, revisions }) => ({
      reasons: reasons.join(),
      objects: counts.create + counts.change,
      rest,
      isNew: revisions[0]?.isNew,
    }));
    expect(told.reverse()).toEqual([
      { reasons: 'firstContact', objects: 1, rest: 2, isNew: true },
      { reasons: 'firstContact', objects: 1, rest: 1, isNew: false },
      { reasons: 'firstContact', objects: 1, rest: 0, isNew: false },
      { reasons: 'revision', objects: 1, rest: 1, isNew: true },
      { reasons: 'revision', objects: 1, rest: 0, isNew: false },
    ]);
  });
});

it('a change below the limit is one delta', async () => {
  const world = await startedWorld();
  expect(world.agent('east').deltas).toHaveLength(1);
});
