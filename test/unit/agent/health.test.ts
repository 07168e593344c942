import { expect, test } from 'vitest';
import type { ObjectHealth } from '../../../src/model/objects/object-health/health.ts';
import { configMap, createConnectedWorld, keyOf } from '../../support/agent-world.ts';

const a = configMap('a', '1');
const keyA = keyOf(a);
const current: ObjectHealth = { state: 'current', message: '' };
const rolling = (count: number): ObjectHealth => ({ state: 'inProgress', message: `${count} of 100 are updated` });

async function worldWithA() {
  const world = await createConnectedWorld();
  await world.server.say({ upserts: [a] });
  await world.settle();
  return { ...world, said: () => world.server.results.map(({ health }) => health) };
}

test('a result is reported again when the health of its object changes', async () => {
  const { cluster, clock, server, said } = await worldWithA();
  expect(said()).toEqual([undefined]);
  cluster.becomes(keyA, rolling(1));
  await clock.advance(2_000);
  cluster.becomes(keyA, current);
  await clock.advance(2_000);
  expect(said()).toEqual([undefined, rolling(1), current]);
  expect(server.lastResults()).toEqual({ [keyA]: 'applied Applied' });
  await clock.advance(600_000);
  expect(said()).toHaveLength(3);
});

test('changes within a second are reported once, and changes of the message only less often', async () => {
  const { cluster, clock, said } = await worldWithA();
  for (let count = 0; count < 100; count += 1) {
    cluster.becomes(keyA, rolling(count));
    await clock.advance(1_000);
  }
  await clock.advance(60_000);
  expect(said().length).toBeLessThan(10);
  expect(said().at(-1)).toEqual(rolling(99));
});

test('health from before a write is not reported for the written object', async () => {
  const { cluster, clock, server, said } = await worldWithA();
  cluster.becomes(keyA, current);
  await clock.advance(2_000);
  await server.say({ upserts: [configMap('a', '2')] });
  await clock.advance(500);
  expect(said().at(-1)).toBeUndefined();
  cluster.becomes(keyA, rolling(1));
  await clock.advance(2_000);
  expect(said().at(-1)).toEqual(rolling(1));
});

test('an agent that starts reports the health of unchanged objects', async () => {
  const world = await createConnectedWorld();
  await world.server.say({ upserts: [a] });
  await world.settle();
  world.cluster.becomes(keyA, current);
  await world.clock.advance(2_000);
  await world.restart();
  world.server.connect();
  await world.settle();
  expect(world.server.results.at(-1)).toMatchObject({ state: 'applied', health: current });
});

test('a cluster without health reports none', async () => {
  const { server, clock } = await worldWithA();
  await clock.advance(120_000);
  expect(server.results.every((result) => !('health' in result))).toBe(true);
});
