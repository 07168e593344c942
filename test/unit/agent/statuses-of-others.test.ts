import { expect, test } from 'vitest';
import { statusKey } from '../../../src/model/objects/object-key.ts';
import type { JsonObject } from '../../../src/model/text/json.ts';
import { type AgentWorld, configMap, createConnectedWorld, keyOf, namespace } from '../../support/agent-world.ts';

/** A person's object: the agent applies its status. */
const theirs: JsonObject = {
  ...{ apiVersion: 'example.com/v1', kind: 'Flower', metadata: { name: 'rose', namespace: 'garden' } },
  spec: { colour: 'red' },
};
const object = keyOf(theirs);
const key = statusKey(object);

function said(seen: number): JsonObject {
  return {
    ...{ apiVersion: 'example.com/v1', kind: 'Flower', metadata: { name: 'rose', namespace: 'garden' } },
    status: { seen },
  };
}

const live = ({ cluster }: AgentWorld) => cluster.objects.get(object)?.value;

async function applied(): Promise<AgentWorld> {
  const world = await createConnectedWorld();
  world.cluster.personPuts(object, { ...theirs, status: { theirs: true } });
  await world.server.say({ statuses: [said(1)] });
  await world.settle();
  return world;
}

test('the status is applied beside what others wrote, is reported, and is no owned object', async () => {
  const world = await applied();
  expect(live(world)).toEqual({ ...theirs, status: { theirs: true, seen: 1 } });
  expect(world.cluster.objects.get(object)?.stamp).toBeUndefined();
  expect(world.server.lastResults()).toEqual({ [key]: 'applied Applied' });
  const { objects, statuses } = world.agent.health();
  expect([objects.owned, objects.applied, statuses]).toEqual([0, 0, { total: 1, applied: 1, failed: 0 }]);
});

test('its end takes our fields away, and the key after that', async () => {
  const world = await applied();
  await world.server.say({ removals: [key] });
  await world.settle();
  expect(live(world)).toEqual({ ...theirs, status: { theirs: true } });
  expect(world.server.lastResults()).toEqual({ [key]: 'removed Removed' });
  expect(world.server.holding().entries).toEqual([]);
});

test('an object that is missing is waited for, without being tried again before it is there', async () => {
  const world = await createConnectedWorld();
  await world.server.say({ statuses: [said(1)] });
  await world.settle();
  expect(world.server.lastResults()).toEqual({ [key]: 'paused NoObject' });
  const tries = world.cluster.tries(key);
  await world.clock.advance(3_600_000);
  expect(world.cluster.tries(key)).toBeLessThanOrEqual(tries + 1);
  expect(world.cluster.objects.size).toBe(0);
  world.cluster.personPuts(object, theirs);
  await world.settle();
  expect(live(world)).toEqual({ ...theirs, status: { seen: 1 } });
  expect(world.server.lastResults()).toEqual({ [key]: 'applied Applied' });
});

test.each(['all', 'view'])('an object that was made anew gets its status again (%s)', async (states) => {
  const world = await applied();
  if (states === 'view') world.cluster.view();
  world.cluster.personRemoves(object);
  await world.settle();
  world.cluster.personPuts(object, theirs);
  await world.settle();
  expect(live(world)).toEqual({ ...theirs, status: { seen: 1 } });
});

test('what others change of our fields is put back, also if drift is only reported', async () => {
  const world = await applied();
  world.server.settings({
    discovery: { excludedNamespaces: [], excludedKinds: [] },
    ignoredFields: [],
    driftMode: 'Report',
  });
  await world.settle();
  world.cluster.personPuts(object, { ...theirs, status: { theirs: false, seen: 7 } });
  await world.settle();
  expect(live(world)).toEqual({ ...theirs, status: { theirs: false, seen: 1 } });
});

test.each(['keeps', 'loses'])('an end is not missed by an agent that starts anew and %s its disk', async (disk) => {
  const world = await applied();
  world.server.connect('waiting');
  if (disk === 'loses') world.disk.stored = undefined;
  await world.restart();
  expect(world.server.holding().entries).toMatchObject([{ key, phase: 'held' }]);
  world.server.connect();
  await world.server.say({ removals: [key] });
  await world.clock.advance(5_000);
  expect(live(world)).toEqual({ ...theirs, status: { theirs: true } });
});

test('an end that was accepted is done by the next agent', async () => {
  const world = await applied();
  world.cluster.fail(key, { type: 'failed', reason: 'Unreachable', message: 'not now' });
  await world.server.say({ removals: [key] });
  await world.settle();
  await world.agent.stop();
  world.cluster.fail(key, undefined);
  await world.restart();
  world.server.connect();
  await world.clock.advance(5_000);
  expect(live(world)).toEqual({ ...theirs, status: { theirs: true } });
  expect(world.server.holding().entries).toEqual([]);
});

test('statuses are applied after objects, end before them, and keep no Namespace', async () => {
  const world = await createConnectedWorld();
  world.cluster.personPuts(object, theirs);
  const mine = [namespace('garden'), configMap('a', '1', 'garden')];
  await world.server.say({ statuses: [said(1)], upserts: mine });
  await world.settle();
  await world.server.say({ removals: [key, ...mine.map(keyOf)] });
  await world.settle();
  const [garden, map] = mine.map(keyOf);
  expect(world.cluster.calls.filter((call) => call !== 'inventory')).toEqual([
    ...[`apply ${garden}`, `apply ${map}`, `apply ${key}`],
    ...[`remove ${key}`, `remove ${map}`, `remove ${garden}`],
  ]);
});

test('a Namespace goes although a status of an object in it cannot be ended', async () => {
  const world = await createConnectedWorld();
  const garden = namespace('garden');
  world.cluster.personPuts(object, theirs);
  await world.server.say({ statuses: [said(1)], upserts: [garden] });
  await world.settle();
  world.cluster.fail(key, { type: 'failed', reason: 'Forbidden', message: 'no right' });
  await world.server.say({ removals: [key, keyOf(garden)] });
  await world.settle();
  expect(world.server.lastResults()).toEqual({ [key]: 'removing Forbidden', [keyOf(garden)]: 'removed Removed' });
});

test('a status whose value is another one is refused', async () => {
  const world = await createConnectedWorld();
  world.cluster.personPuts(object, theirs);
  await world.server.say({ statuses: [{ ...said(1), spec: { colour: 'blue' } }] });
  await world.settle();
  expect(world.server.lastResults()).toEqual({ [key]: 'failed InvalidObject' });
  expect(live(world)).toEqual(theirs);
});
