import { expect, test } from 'vitest';
import { configMap, createConnectedWorld, keyOf, namespace } from '../../support/agent-world.ts';

const a = configMap('a', '1');
const b = configMap('b', '1');
const [keyA, keyB] = [keyOf(a), keyOf(b)];

test('identities of new objects delay neither results nor the queue, and are written together', async () => {
  const { cluster, clock, server, settle } = await createConnectedWorld();
  cluster.identify = true;
  await server.say({ upserts: [a, b] });
  await settle();
  expect(server.lastResults()).toEqual({ [keyA]: 'applied Applied', [keyB]: 'applied Applied' });
  expect(cluster.calls).toEqual(['inventory', `apply ${keyA}`, `apply ${keyB}`]);
  await clock.advance(1_000);
  expect(cluster.calls.slice(3)).toEqual(['inventory']);
  expect(cluster.inventory.current?.records.get(keyA)?.identity).toBe('id-2');
  expect(cluster.inventory.current?.records.get(keyB)?.identity).toBe('id-3');
});

test('a failed write of identities is retried', async () => {
  const { cluster, clock, server, settle } = await createConnectedWorld();
  cluster.identify = true;
  await server.say({ upserts: [a] });
  cluster.inventoryGate = Promise.reject(new Error('away'));
  cluster.inventoryGate.catch(() => undefined);
  await settle();
  await clock.advance(1_000);
  expect(cluster.inventory.current?.records.get(keyA)?.identity).toBeUndefined();
  cluster.inventoryGate = undefined;
  await clock.advance(10_000);
  expect(cluster.inventory.current?.records.get(keyA)?.identity).toBe('id-2');
});

test('waiting identities are written when the agent stops', async () => {
  const { agent, cluster, server, settle } = await createConnectedWorld();
  cluster.identify = true;
  await server.say({ upserts: [a] });
  await settle();
  await agent.stop();
  expect(cluster.inventory.current?.records.get(keyA)?.identity).toBe('id-2');
});

test('an object that a person has exempted is not retried at each list', async () => {
  const { cluster, clock, server, settle } = await createConnectedWorld();
  await server.say({ upserts: [a] });
  await settle();
  const exempt = { type: 'exempt', reason: 'ReconcileDisabled', message: 'an annotation says so' } as const;
  let tries = 0;
  cluster.fail(keyA, {
    ...exempt,
    get reason() {
      tries += 1;
      return exempt.reason;
    },
  });
  cluster.personPuts(keyA, configMap('a', 'theirs'));
  await settle();
  expect(server.lastResults()).toEqual({ [keyA]: 'paused ReconcileDisabled' });
  const before = tries;
  await clock.advance(600_000);
  expect(tries).toBe(before);
  cluster.fail(keyA, undefined);
  cluster.personPuts(keyA, configMap('a', 'released'));
  await settle();
  expect(server.lastResults()).toEqual({ [keyA]: 'applied Applied' });
});

test('an agent whose cluster another agent has taken over stops, and writes nothing more', async () => {
  const { agent, cluster, clock, server, settle, takenOver } = await createConnectedWorld();
  await server.say({ upserts: [a] });
  await settle();
  cluster.takenOver = true;
  expect(await server.say({ upserts: [b] })).toMatchObject({ accepted: false });
  await settle();
  expect(takenOver).toHaveLength(1);
  const before = [...cluster.calls];
  cluster.personPuts(keyA, configMap('a', 'theirs'));
  await clock.advance(120_000);
  expect(cluster.calls).toEqual(before);
  await agent.stop();
  expect(takenOver).toHaveLength(1);
});

test('a removal that waits for a finalizer ends as soon as a list lacks the object', async () => {
  const world = await createConnectedWorld();
  await world.server.say({ upserts: [a] });
  await world.settle();
  world.cluster.fail(keyA, 'waiting');
  await world.server.say({ removals: [keyA] });
  // Long enough for the pauses between two tries to be long.
  await world.clock.advance(600_000);
  expect(world.server.lastResults()).toMatchObject({ [keyA]: 'removing Waiting' });
  world.cluster.fail(keyA, undefined);
  world.cluster.personRemoves(keyA);
  await world.settle();
  expect(world.server.lastResults()).toMatchObject({ [keyA]: 'removed Removed' });
});

test.each(['done', 'under way'])('an object that was made anew is removed, its making %s', async (making) => {
  const { cluster, clock, server, settle } = await createConnectedWorld();
  cluster.identify = true;
  await server.say({ upserts: [a] });
  await clock.advance(1_000);
  const gate = Promise.withResolvers<void>();
  if (making === 'under way') cluster.writeGate = gate.promise;
  cluster.personRemoves(keyA);
  await settle();
  expect(cluster.objects.has(keyA)).toBe(true);
  // Its new id has not been entered.
  await server.say({ removals: [keyA] });
  cluster.writeGate = undefined;
  gate.resolve();
  await settle();
  expect(cluster.objects.has(keyA)).toBe(false);
  expect(server.lastResults()).toEqual({ [keyA]: 'removed Removed' });
  await clock.advance(10_000);
  expect(cluster.inventory.current?.records.size).toBe(0);
});

test('a retried identity does not replace a newer one, with which the object can be removed', async () => {
  const { cluster, clock, server, settle } = await createConnectedWorld();
  cluster.identify = true;
  await server.say({ upserts: [a] });
  const gate = Promise.withResolvers<void>();
  // The inventory does not answer for so long that the object is made anew meanwhile.
  cluster.inventoryGate = gate.promise;
  await clock.advance(1_000);
  cluster.personRemoves(keyA);
  await settle();
  expect(cluster.objects.has(keyA)).toBe(true);
  cluster.inventoryGate = undefined;
  gate.reject(new Error('the API server does not answer'));
  await clock.advance(10_000);
  await server.say({ removals: [keyA] });
  await settle();
  expect(cluster.objects.has(keyA)).toBe(false);
});

test('changes that a failed comparison missed are compared with the next state', async () => {
  const { cluster, server, settle } = await createConnectedWorld();
  cluster.view();
  await server.say({ upserts: [a, b] });
  await settle();
  const broken = Object.defineProperty({ ...a }, 'data', {
    enumerable: true,
    get: () => {
      throw new Error('broken');
    },
  });
  // The first look sees this one alone, the second one both of the others.
  cluster.personPuts(keyOf(configMap('c', '1')), configMap('c', '1'));
  cluster.personPuts(keyA, broken);
  cluster.personPuts(keyB, configMap('b', 'drift'));
  await settle();
  cluster.personPuts(keyA, a);
  await settle();
  expect(cluster.objects.get(keyB)?.value).toEqual(b);
});

test('an object whose kind or Namespace is missing is retried as soon as the kind or Namespace exists', async () => {
  const { cluster, server, settle } = await createConnectedWorld();
  const gadget = { apiVersion: 'example.com/v1', kind: 'Gadget', metadata: { name: 'g', namespace: 'web' } };
  const failed = { type: 'failed', message: 'missing' } as const;
  cluster.fail(keyOf(gadget), { ...failed, reason: 'NoSuchKind' });
  cluster.fail(keyA, { ...failed, reason: 'NamespaceNotFound' });
  await server.say({ upserts: [gadget, a] });
  await settle();
  expect(server.lastResults()).toEqual({ [keyOf(gadget)]: 'failed NoSuchKind', [keyA]: 'failed NamespaceNotFound' });
  cluster.fail(keyOf(gadget), undefined);
  cluster.fail(keyA, undefined);
  const other = { apiVersion: 'example.com/v1', kind: 'Gadget', metadata: { name: 'other', namespace: 'web' } };
  cluster.personPuts(keyOf(other), other);
  await settle();
  expect(server.lastResults()).toMatchObject({ [keyOf(gadget)]: 'applied Applied' });
  expect(server.lastResults()).not.toHaveProperty([keyA], 'applied Applied');
  cluster.personPuts(keyOf(namespace('web')), namespace('web'));
  await settle();
  expect(server.lastResults()).toMatchObject({ [keyA]: 'applied Applied' });
});
