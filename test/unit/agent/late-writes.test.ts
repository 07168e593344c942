import { beforeEach, expect, test } from 'vitest';
import type { ObservedObject } from '../../../src/ports/cluster-api.ts';
import { type AgentWorld, configMap, createConnectedWorld, keyOf } from '../../support/agent-world.ts';

const a = configMap('a', '1');
const keyA = keyOf(a);

let world: AgentWorld;
let written: ObservedObject;
beforeEach(async () => {
  world = await createConnectedWorld();
  await world.server.say({ upserts: [a] });
  await world.settle();
  written = world.cluster.objects.get(keyA) as ObservedObject;
});

/** An agent starts while requests of the one before may be under way. */
async function nextAgent(): Promise<void> {
  await world.restart();
  world.server.connect();
  await world.settle();
}

/** A request of an agent that has ended arrives. */
async function arrives(object: ObservedObject): Promise<void> {
  world.cluster.personPuts(keyA, object.value, object.stamp ?? 'drop');
  await world.settle();
}

const isLive = (): boolean => world.cluster.objects.has(keyA);

test('what a late write brings back after the removal is removed again, also after a refusal', async () => {
  await nextAgent();
  await world.server.say({ removals: [keyA] });
  await world.settle();
  expect(isLive()).toBe(false);
  await world.clock.advance(60_000);
  world.cluster.fail(keyA, { type: 'failed', reason: 'Refused', message: 'not now' });
  await arrives(written);
  expect(isLive()).toBe(true);
  world.cluster.fail(keyA, undefined);
  await world.clock.advance(30_000);
  expect(isLive()).toBe(false);
  expect(world.server.lastResults()[keyA]).toBe('removed Removed');
});

test('what others create under its name stays, and so does what comes later than any request of ours', async () => {
  await nextAgent();
  await world.server.say({ removals: [keyA] });
  await world.settle();
  const { stamp: _, ...ofOthers } = written;
  await arrives(ofOthers);
  await world.clock.advance(30_000);
  expect(isLive()).toBe(true);
  world.cluster.personRemoves(keyA);
  await world.clock.advance(180_000);
  await arrives(written);
  await world.clock.advance(60_000);
  expect(isLive()).toBe(true);
});

test('an object that is declared again takes the place of what a late write brought back', async () => {
  await nextAgent();
  await world.server.say({ removals: [keyA] });
  await world.settle();
  await arrives(written);
  const again = configMap('a', '2');
  await world.server.say({ upserts: [again] });
  await world.clock.advance(30_000);
  expect(world.cluster.objects.get(keyA)?.value).toEqual(again);
  expect(world.server.lastResults()[keyA]).toBe('applied Applied');
});

test.each([
  ['more than a minute after the start', nextAgent, 61_000],
  ['by the agent that has created it', async () => undefined, 0],
])('what people restore after a removal %s stays', async (_, prepare, wait) => {
  await prepare();
  await world.clock.advance(wait);
  await world.server.say({ removals: [keyA] });
  await world.settle();
  await arrives(written);
  await world.clock.advance(60_000);
  expect(isLive()).toBe(true);
});
