import { expect, test } from 'vitest';
import { objectDigest, snapshotDigest } from '../../../src/model/text/digest.ts';
import { type AgentWorld, configMap, createConnectedWorld, keyOf } from '../../support/agent-world.ts';

const a = configMap('a', '1');
const b = configMap('b', '1');
const [keyA, keyB] = [keyOf(a), keyOf(b)];
const drifted = configMap('a', 'drift');

/** An agent that held `a` and `b`, whose disk is lost, and that started anew on what a person had changed meanwhile. */
async function restartedOnDrift(lose: (world: AgentWorld) => void): Promise<AgentWorld> {
  const world = await createConnectedWorld();
  await world.server.say({ upserts: [a, b] });
  await world.settle();
  await world.agent.stop();
  lose(world);
  world.cluster.personPuts(keyA, drifted);
  await world.restart();
  return world;
}

const losses: readonly (readonly [string, (world: AgentWorld) => void])[] = [
  [
    'stored output',
    (world) => {
      world.disk.stored = undefined;
    },
  ],
  [
    'inventory',
    (world) => {
      world.cluster.inventory.current = undefined;
    },
  ],
];

test.each(losses)(
  'what was found after the %s was lost is no order, however often the agent restarts',
  async (_, lose) => {
    const world = await restartedOnDrift(lose);
    await world.restart();
    await world.restart();
    // The person reverts the edit; the agent must not write the object again.
    world.cluster.personPuts(keyA, a);
    await world.settle();
    expect(world.cluster.objects.get(keyA)?.value).toEqual(a);
    world.cluster.personRemoves(keyB);
    await world.settle();
    expect(world.cluster.objects.has(keyB)).toBe(false);
  },
);

test.each(losses)(
  'after the loss of the %s and a connect, drift is corrected also after a restart',
  async (_, lose) => {
    const world = await restartedOnDrift(lose);
    world.server.connect();
    const from = world.server.holding().digest;
    expect(await world.server.say({ upserts: [a, b], forged: { from } })).toEqual({ accepted: true });
    await world.clock.advance(5_000);
    await world.agent.stop();
    world.cluster.personRemoves(keyB);
    await world.restart();
    expect(world.cluster.objects.get(keyB)?.value).toEqual(b);
  },
);

test.each(losses)(
  'after the loss of the %s the agent reports that it does not correct drift, until a server connects',
  async (_, lose) => {
    const world = await restartedOnDrift(lose);
    expect(world.agent.health().repairs).toBe(false);
    expect(world.log.lines.at(-1)?.text).toMatch(/^warn: .*drift is not corrected before the server connects$/);
    world.server.connect();
    await world.settle();
    expect(world.agent.health().repairs).toBe(true);
  },
);

test('the first delta after the stored output was lost makes all of it durable', async () => {
  const world = await restartedOnDrift((lost) => {
    lost.disk.stored = undefined;
  });
  const from = world.server.holding().digest;
  expect(await world.server.say({ upserts: [a], forged: { from } })).toEqual({ accepted: true });
  await world.settle();
  const held = world.server.holding();
  await world.agent.stop();
  world.cluster.personRemoves(keyA);
  world.cluster.personRemoves(keyB);
  await world.restart();
  expect(world.server.holding()).toEqual(held);
  expect([world.cluster.objects.get(keyA)?.value, world.cluster.objects.get(keyB)?.value]).toEqual([a, b]);
});

test('a removal that is cancelled after a restart recreates the object from the stored content', async () => {
  const world = await createConnectedWorld();
  await world.server.say({ upserts: [a, b] });
  await world.settle();
  world.cluster.fail(keyA, 'waiting');
  await world.server.say({ removals: [keyA] });
  await world.settle();
  await world.restart();
  // The end of the removal was never entered.
  world.cluster.personRemoves(keyA);
  world.cluster.fail(keyA, undefined);
  world.server.connect();
  const both = snapshotDigest([
    [keyA, objectDigest(a)],
    [keyB, objectDigest(b)],
  ]);
  expect(await world.server.say({ keeps: [keyA], forged: { to: both } })).toEqual({ accepted: true });
  await world.settle();
  expect(world.cluster.objects.get(keyA)?.value).toEqual(a);
  await world.restart();
  world.cluster.personRemoves(keyA);
  await world.settle();
  expect(world.cluster.objects.get(keyA)?.value).toEqual(a);
});

test('the next delta drops removed objects from the stored output', async () => {
  const world = await createConnectedWorld();
  await world.server.say({ upserts: [a, b] });
  await world.settle();
  await world.server.say({ removals: [keyA] });
  await world.settle();
  await world.restart();
  world.server.connect();
  await world.settle();
  await world.server.say({ upserts: [configMap('c', '1')] });
  await world.settle();
  expect([...(world.disk.stored?.objects.keys() ?? [])].sort()).toEqual([keyB, keyOf(configMap('c', '1'))]);
});
