import { expect, test } from 'vitest';
import { objectDigest, snapshotDigest } from '../../../src/model/text/digest.ts';
import { configMap, createAgentWorld, createConnectedWorld, keyOf, namespace } from '../../support/agent-world.ts';

const a = configMap('a', '1');
const b = configMap('b', '1');
const [keyA, keyB] = [keyOf(a), keyOf(b)];
const both = snapshotDigest([
  [keyA, objectDigest(a)],
  [keyB, objectDigest(b)],
]);

test('a removal that is cancelled before its first attempt gets a new result: the server has dropped the last one', async () => {
  const { server, settle } = await createConnectedWorld();
  await server.say({ upserts: [a, b, namespace('web')] });
  await settle();
  server.results.length = 0;
  // In one turn, so that nothing is done in between.
  const removed = server.say({ removals: [keyA] });
  const calledOff = removed.then(() =>
    server.say({
      keeps: [keyA],
      forged: {
        to: snapshotDigest([
          [keyOf(namespace('web')), objectDigest(namespace('web'))],
          [keyA, objectDigest(a)],
          [keyB, objectDigest(b)],
        ]),
      },
    }),
  );
  expect([await removed, await calledOff]).toEqual([{ accepted: true }, { accepted: true }]);
  await settle();
  expect(server.lastResults()[keyA]).toBe('applied Applied');
});

test('an object that is sent again gets a new result', async () => {
  const { server, settle } = await createConnectedWorld();
  await server.say({ upserts: [a, b] });
  await settle();
  server.results.length = 0;
  await server.say({ upserts: [a] });
  await settle();
  expect(server.lastResults()).toEqual({ [keyA]: 'applied Applied' });
});

test('the end of a removal is not reported once the object is owned again', async () => {
  const { server, cluster, settle } = await createConnectedWorld();
  await server.say({ upserts: [a, b] });
  await settle();
  const gate = Promise.withResolvers<void>();
  cluster.writeGate = gate.promise;
  await server.say({ removals: [keyA] });
  await settle();
  server.results.length = 0;
  expect(await server.say({ keeps: [keyA], forged: { to: both } })).toEqual({ accepted: true });
  gate.resolve();
  cluster.writeGate = undefined;
  await settle();
  expect(server.results.map(({ state }) => state)).not.toContain('removed');
  expect(cluster.objects.get(keyA)?.value).toEqual(a);
  expect(server.lastResults()[keyA]).toBe('applied Applied');
});

test('the end of a removal that waits for the inventory is not reported once a newer delta declares the object again', async () => {
  const { server, cluster, settle } = await createConnectedWorld();
  await server.say({ upserts: [a, b] });
  await settle();
  cluster.fail(keyA, 'waiting');
  await server.say({ removals: [keyA] });
  await settle();
  // The delta takes its turn at the inventory before the removal does.
  const gate = Promise.withResolvers<void>();
  cluster.inventoryGate = gate.promise;
  const answer = server.say({ keeps: [keyA], forged: { to: both } });
  cluster.fail(keyA, undefined);
  server.connect('waiting');
  server.connect();
  await settle();
  gate.resolve();
  server.results.length = 0;
  expect(await answer).toEqual({ accepted: true });
  await settle();
  expect(server.results.map(({ state }) => state)).not.toContain('removed');
  expect(server.lastResults()[keyA]).toBe('applied Applied');
});

test('a delta before the connection is complete does not hide other owned objects', async () => {
  const world = await createConnectedWorld();
  await world.server.say({ upserts: [a, b] });
  await world.settle();
  await world.agent.stop();
  world.disk.stored = undefined;
  await world.restart();
  expect(await world.server.say({ upserts: [configMap('c', '1')] })).toEqual({ accepted: true });
  world.server.connect();
  await world.settle();
  expect(world.server.lastResults()).toMatchObject({ [keyA]: 'applied Applied', [keyB]: 'applied Applied' });
});

test('an object whose content is lost is reported as such', async () => {
  const world = await createConnectedWorld();
  await world.server.say({ upserts: [a, b] });
  await world.settle();
  await world.agent.stop();
  world.disk.stored = undefined;
  world.cluster.personRemoves(keyA);
  await world.restart();
  world.server.connect();
  await world.settle();
  // The server is given time to send it again.
  expect(world.server.lastResults()[keyA]).toBeUndefined();
  await world.clock.advance(1_000);
  expect(world.server.lastResults()).toEqual({ [keyA]: 'failed ContentUnknown', [keyB]: 'applied Applied' });
});

test('a removal that waits for the server is reported as waiting, not as applied', async () => {
  const world = await createAgentWorld();
  await world.agent.start();
  world.server.connect();
  await world.settle();
  await world.server.say({ upserts: [a] });
  await world.settle();
  const gate = Promise.withResolvers<void>();
  world.cluster.inventoryGate = gate.promise;
  const answer = world.server.say({ removals: [keyA] });
  world.server.connect('waiting');
  gate.resolve();
  expect(await answer).toEqual({ accepted: true });
  await world.clock.advance(60_000);
  // Without a server nothing is removed, though the delta was accepted.
  expect(world.cluster.objects.has(keyA)).toBe(true);
  expect(world.server.lastResults()[keyA]).toBe('removing ServerAway');
  world.server.connect();
  await world.clock.advance(2_000);
  expect(world.server.lastResults()[keyA]).toBe('removed Removed');
});

test('the removals of a refused delta get their last results again', async () => {
  const { server, disk, settle } = await createConnectedWorld();
  await server.say({ upserts: [a, b] });
  await settle();
  server.results.length = 0;
  disk.fault = new Error('disk full');
  expect(await server.say({ removals: [keyA] })).toMatchObject({ accepted: false });
  expect(server.lastResults()).toEqual({ [keyA]: 'applied Applied' });
});
