import { expect, test } from 'vitest';
import { diagnosticOf } from '../../../src/model/fleet/diagnostic.ts';
import { type ClusterName, parseFleetName } from '../../../src/model/fleet/ids.ts';
import type { ObjectKey } from '../../../src/model/objects/object-key.ts';
import { objectDigest, snapshotDigest } from '../../../src/model/text/digest.ts';
import { must } from '../../../src/model/values/result.ts';
import {
  configMap,
  createAgentWorld,
  createConnectedWorld,
  fleet,
  keyOf,
  meta,
  namespace,
} from '../../support/agent-world.ts';

const a = configMap('a', '1');
const b = configMap('b', '1');
const [keyA, keyB] = [keyOf(a), keyOf(b)];
const fault = { type: 'failed', reason: 'Broken', message: 'no' } as const;

test('an accepted object is in the inventory before it is written; then it is reported and discovered', async () => {
  const { server, cluster, settle } = await createConnectedWorld();
  expect(await server.say({ upserts: [a] })).toEqual({ accepted: true });
  await settle();
  expect(cluster.calls).toEqual(['inventory', `apply ${keyA}`]);
  expect(cluster.objects.get(keyA)).toMatchObject({ value: a, stamp: { fleet, key: keyA, ...meta } });
  expect(server.results).toEqual([
    { key: keyA, digest: objectDigest(a), state: 'applied', reason: 'Applied', message: '' },
  ]);
  expect([...(server.inputs.at(-1)?.objects.values() ?? [])]).toEqual([
    { key: keyA, value: a, digest: objectDigest(a) },
  ]);
  expect(server.holding()).toEqual({
    position: { epoch: 1, sequence: 1 },
    digest: snapshotDigest([[keyA, objectDigest(a)]]),
    entries: [{ key: keyA, digest: objectDigest(a), phase: 'held', ...meta }],
  });
});

test('accepting does not wait for applying', async () => {
  const { server, cluster, settle } = await createConnectedWorld();
  cluster.fail(keyA, fault);
  expect(await server.say({ upserts: [a] })).toEqual({ accepted: true });
  expect(await server.say({ upserts: [b] })).toEqual({ accepted: true });
  await settle();
  expect(server.lastResults()).toEqual({ [keyA]: 'failed Broken', [keyB]: 'applied Applied' });
});

test('a failing object is retried with back-off until it succeeds, and is reported on change only', async () => {
  const { server, cluster, clock, settle } = await createConnectedWorld();
  cluster.fail(keyA, fault);
  await server.say({ upserts: [a] });
  await clock.advance(60_000);
  expect(server.results).toHaveLength(1);
  cluster.fail(keyA, undefined);
  await settle();
  expect(cluster.objects.has(keyA)).toBe(false);
  await clock.advance(600_000);
  expect(cluster.objects.has(keyA)).toBe(true);
  expect(server.results.map(({ state }) => state)).toEqual(['failed', 'applied']);
});

test('a stopped object gets no requests until its content or its attempt changes, also over a restart', async () => {
  const world = await createConnectedWorld();
  const { cluster, clock } = world;
  const touch = async (stopped: boolean) => {
    const touches = [{ key: keyA, ...meta, ...(stopped ? ({ stopped } as const) : {}) }];
    expect(await world.server.say({ forged: { touches } })).toEqual({ accepted: true });
  };
  cluster.fail(keyA, fault);
  await world.server.say({ upserts: [a] });
  await world.settle();
  await touch(true);
  expect(world.server.holding().entries).toMatchObject([{ key: keyA, stopped: true }]);
  // From now on a request would succeed.
  cluster.fail(keyA, undefined);
  await clock.advance(900_000);
  await world.restart();
  world.server.connect();
  await clock.advance(900_000);
  expect(cluster.calls).not.toContain(`apply ${keyA}`);
  expect(world.server.results.filter(({ state }) => state !== 'failed')).toEqual([]);
  await touch(false);
  await world.settle();
  expect(cluster.calls).toContain(`apply ${keyA}`);
  expect(world.server.holding().entries[0]).not.toHaveProperty('stopped');
  // Another content is another attempt.
  await touch(true);
  expect(await world.server.say({ upserts: [configMap('a', '2')] })).toEqual({ accepted: true });
  await world.settle();
  expect(cluster.objects.get(keyA)?.value).toEqual(configMap('a', '2'));
});

test('an object whose name differs from its key fails alone', async () => {
  const { server, settle } = await createConnectedWorld();
  const upserts = [
    { key: keyA, value: configMap('other', '1'), digest: objectDigest(a), ...meta },
    { key: keyB, value: b, digest: objectDigest(b), ...meta },
  ];
  const to = snapshotDigest(upserts.map(({ key, digest }) => [key, digest]));
  expect(await server.say({ forged: { upserts, to } })).toEqual({ accepted: true });
  await settle();
  expect(server.lastResults()).toEqual({ [keyA]: 'failed InvalidObject', [keyB]: 'applied Applied' });
});

test.each([
  ['OldPosition', { position: { epoch: 1, sequence: 1 } }],
  ['OldPosition', { position: { epoch: 0, sequence: 99 } }],
  ['DifferentBase', { from: objectDigest('other') }],
  ['DigestMismatch', { to: objectDigest('other') }],
  ['UnknownRemoval', { removals: [keyB] }],
  ['UnknownTouch', { touches: [{ key: keyB, ...meta }] }],
  ['RepeatedKey', { removals: [keyA, keyA] }],
])('a delta with %s is refused, and nothing changes', async (reason, forged) => {
  const { server, cluster, settle } = await createConnectedWorld();
  await server.say({ upserts: [a] });
  await settle();
  const before = [server.holding(), [...cluster.calls]];
  expect(await server.say({ forged })).toMatchObject({ accepted: false, reason });
  await settle();
  expect([server.holding(), cluster.calls]).toEqual(before);
  expect(await server.say({ upserts: [b] })).toEqual({ accepted: true });
});

test('a delta of an earlier admission is refused; a delta of the same, a later or no admission is accepted', async () => {
  const { server } = await createConnectedWorld();
  const admitted = { epoch: 7, sequence: 3 };
  expect(await server.say({ upserts: [a], forged: { admitted, tag: 'c3'.repeat(32) } })).toEqual({ accepted: true });
  expect(server.holding()).toMatchObject({ admitted, tag: 'c3'.repeat(32) });
  for (const earlier of [
    { epoch: 7, sequence: 2 },
    { epoch: 6, sequence: 99 },
  ]) {
    const refused = await server.say({ upserts: [b], forged: { admitted: earlier } });
    expect(refused).toMatchObject({ accepted: false, reason: 'AdmissionBehind' });
    expect(server.holding().admitted).toEqual(admitted);
  }
  expect(await server.say({ upserts: [b], forged: { admitted } })).toEqual({ accepted: true });
  expect(await server.say({ removals: [keyB], forged: { admitted: { epoch: 8, sequence: 1 } } })).toEqual({
    accepted: true,
  });
  expect(await server.say({ upserts: [b] })).toEqual({ accepted: true });
  expect(server.holding()).not.toHaveProperty('admitted');
  expect(server.holding()).not.toHaveProperty('tag');
});

test('a delta that cannot be made durable is not accepted and changes nothing', async () => {
  const { server, cluster, disk, settle } = await createConnectedWorld();
  disk.fault = new Error('disk full');
  expect(await server.say({ upserts: [a] })).toMatchObject({ accepted: false, reason: 'NotDurable' });
  await settle();
  expect([server.holding().entries, cluster.calls]).toEqual([[], []]);
  disk.fault = undefined;
  expect(await server.say({ upserts: [a] })).toEqual({ accepted: true });
});

test('a removal removes the objects that the delta names and no others', async () => {
  const { server, cluster, settle } = await createConnectedWorld();
  await server.say({ upserts: [a, b] });
  await settle();
  await server.say({ removals: [keyA] });
  await settle();
  expect([...cluster.objects.keys()]).toEqual([keyB]);
  expect(server.lastResults()[keyA]).toBe('removed Removed');
  expect(server.holding().entries.map(({ key }) => key)).toEqual([keyB]);
});

test('an object with a pending removal stays in the inventory as removing, and blocks no other object', async () => {
  const { server, cluster, clock, settle } = await createConnectedWorld();
  await server.say({ upserts: [a, b] });
  await settle();
  cluster.fail(keyA, 'waiting');
  await server.say({ removals: [keyA, keyB] });
  await settle();
  expect(server.lastResults()).toEqual({ [keyA]: 'removing Waiting', [keyB]: 'removed Removed' });
  expect(server.holding()).toMatchObject({ digest: snapshotDigest([]), entries: [{ key: keyA, phase: 'removing' }] });
  cluster.fail(keyA, undefined);
  await clock.advance(10_000);
  expect(server.lastResults()[keyA]).toBe('removed Removed');
  expect(server.holding().entries).toEqual([]);
});

test('a removal is not retried while the server is away', async () => {
  const { server, cluster, clock, settle } = await createConnectedWorld();
  await server.say({ upserts: [a] });
  await settle();
  cluster.fail(keyA, 'waiting');
  await server.say({ removals: [keyA] });
  await settle();
  server.connect('waiting');
  cluster.fail(keyA, undefined);
  await clock.advance(600_000);
  expect(cluster.objects.has(keyA)).toBe(true);
  server.connect();
  await settle();
  // The server may still call it off.
  expect(cluster.objects.has(keyA)).toBe(true);
  await clock.advance(2_000);
  expect(cluster.objects.has(keyA)).toBe(false);
});

test('namespaces are created first and removed last, and stay while they contain an owned object', async () => {
  const { server, cluster, settle } = await createConnectedWorld();
  const [web, keyWeb] = [namespace('web'), keyOf(namespace('web'))];
  await server.say({ upserts: [a, b, web] });
  await settle();
  expect(cluster.calls.filter((call) => call.startsWith('apply'))[0]).toBe(`apply ${keyWeb}`);
  await server.say({ removals: [keyWeb, keyA] });
  await settle();
  expect(server.lastResults()[keyWeb]).toBe('removing Occupied');
  await server.say({ removals: [keyB] });
  await settle();
  expect(cluster.calls.filter((call) => call.startsWith('remove'))).toEqual([
    `remove ${keyA}`,
    `remove ${keyB}`,
    `remove ${keyWeb}`,
  ]);
});

test('drift of a changed and of a removed object is corrected, also without a server', async () => {
  const { server, cluster, agent, settle } = await createConnectedWorld();
  await server.say({ upserts: [a, b] });
  await settle();
  expect(agent.health().driftCorrections).toEqual({ changed: 0, removed: 0 });
  server.connect('waiting');
  cluster.personPuts(keyA, configMap('a', 'drift'));
  cluster.personRemoves(keyB);
  await settle();
  expect([cluster.objects.get(keyA)?.value, cluster.objects.get(keyB)?.value]).toEqual([a, b]);
  expect(agent.health().driftCorrections).toEqual({ changed: 1, removed: 1 });
  expect(server.results).toHaveLength(2);
});

test('drift without a hint is found by the periodic list', async () => {
  const { server, cluster, clock, settle } = await createConnectedWorld();
  await server.say({ upserts: [a] });
  await settle();
  cluster.objects.delete(keyA);
  cluster.forgetState();
  await clock.advance(45_000);
  expect(cluster.objects.get(keyA)?.value).toEqual(a);
});

test('an object of a person is a conflict, is not changed, and is applied after the person removes it', async () => {
  const { server, cluster, settle } = await createConnectedWorld();
  cluster.personPuts(keyA, configMap('a', 'theirs'), 'drop');
  await server.say({ upserts: [a] });
  await settle();
  expect(server.lastResults()[keyA]).toBe('conflict Conflict');
  expect(cluster.objects.get(keyA)?.value).toEqual(configMap('a', 'theirs'));
  cluster.personRemoves(keyA);
  await settle();
  expect(server.lastResults()[keyA]).toBe('applied Applied');
});

test('removing an object that a person has taken over releases it', async () => {
  const { server, cluster, settle } = await createConnectedWorld();
  await server.say({ upserts: [a] });
  await settle();
  cluster.personPuts(keyA, configMap('a', 'taken'), 'drop');
  await settle();
  await server.say({ removals: [keyA] });
  await settle();
  expect(server.lastResults()[keyA]).toBe('removed Released');
  expect(cluster.objects.has(keyA)).toBe(true);
  expect(server.holding().entries).toEqual([]);
});

test('while paused nothing is written and deltas are accepted; after the release they are applied', async () => {
  const { server, cluster, settle } = await createConnectedWorld();
  await server.say({ upserts: [a, b] });
  await settle();
  cluster.pause(true);
  await settle();
  const writes = () => cluster.calls.filter((call) => call !== 'inventory').length;
  const before = writes();
  expect(await server.say({ upserts: [configMap('a', '2')], removals: [keyB] })).toEqual({ accepted: true });
  cluster.personPuts(keyA, configMap('a', 'drift'));
  await settle();
  expect(writes()).toBe(before);
  expect(server.lastResults()).toEqual({ [keyA]: 'paused Paused', [keyB]: 'paused Paused' });
  cluster.pause(false);
  await settle();
  expect(cluster.objects.get(keyA)?.value).toEqual(configMap('a', '2'));
  expect(server.lastResults()).toEqual({ [keyA]: 'applied Applied', [keyB]: 'removed Removed' });
});

test('a keep changes nothing; a keep of an object that is being removed cancels the removal', async () => {
  const { server, cluster, settle } = await createConnectedWorld();
  await server.say({ upserts: [a, b] });
  await settle();
  const calls = cluster.calls.length;
  await server.say({ keeps: [keyA] });
  await settle();
  expect(cluster.calls.slice(calls)).toEqual(['inventory']);
  cluster.fail(keyA, 'waiting');
  await server.say({ removals: [keyA] });
  await settle();
  const to = snapshotDigest([
    [keyA, objectDigest(a)],
    [keyB, objectDigest(b)],
  ]);
  expect(await server.say({ keeps: [keyA], forged: { to } })).toEqual({ accepted: true });
  cluster.fail(keyA, undefined);
  await settle();
  expect(server.holding().entries.map(({ phase }) => phase)).toEqual(['held', 'held']);
  cluster.personRemoves(keyA);
  await settle();
  expect(cluster.objects.get(keyA)?.value).toEqual(a);
});

test('objects derived from live state are not discovered, objects from a source are', async () => {
  const { server, cluster, settle } = await createConnectedWorld();
  await server.say({ upserts: [a, b] });
  await server.say({ touches: [{ key: keyB, scope: ['east' as ClusterName] }] });
  cluster.unknownKinds.add('apps/Deployment');
  cluster.personPuts('/ConfigMap/web/theirs' as ObjectKey, configMap('theirs', '1'));
  await settle();
  expect([...(server.inputs.at(-1)?.objects.keys() ?? [])].sort()).toEqual([keyA, '/ConfigMap/web/theirs']);
  expect(server.inputs.at(-1)?.kinds).toContainEqual({ kind: 'apps/Deployment', state: 'unknown', message: '' });
  expect(cluster.objects.get(keyB)?.stamp?.scope).toEqual(['east']);
});

test('an object of another owner stays discovered when a derived object of its name is sent', async () => {
  const { server, cluster, settle } = await createConnectedWorld();
  cluster.personPuts(keyA, configMap('a', 'theirs'));
  await settle();
  await server.say({ upserts: [a] });
  await server.say({ touches: [{ key: keyA, scope: ['east' as ClusterName] }] });
  await settle();
  expect(server.lastResults()[keyA]).toMatch(/^conflict /);
  expect([...(server.inputs.at(-1)?.objects.keys() ?? [])]).toEqual([keyA]);
});

test.each(['v1', 'v1beta1'])('values of Secrets of the version %s do not leave the cluster', async (apiVersion) => {
  const { server, cluster, settle } = await createConnectedWorld();
  const secret = {
    apiVersion,
    kind: 'Secret',
    metadata: { name: 's', namespace: 'web' },
    data: { p: 'aHVudGVy' },
  };
  cluster.personPuts(keyOf(secret), { ...secret, stringData: { q: 'hunter2' } });
  await settle();
  const told = JSON.stringify([...(server.inputs.at(-1)?.objects.values() ?? [])]);
  expect(told).toContain('"name":"s"');
  expect(told).not.toMatch(/aHVudGVy|hunter2/);
});

test('after its own restart the agent repairs without a server, and removes nothing', async () => {
  const world = await createConnectedWorld();
  await world.server.say({ upserts: [a, b] });
  await world.settle();
  world.cluster.fail(keyB, 'waiting');
  await world.server.say({ removals: [keyB] });
  await world.settle();
  world.cluster.fail(keyB, undefined);
  world.cluster.personPuts(keyA, configMap('a', 'drift'));
  await world.agent.stop();
  world.cluster.personPuts(keyA, configMap('a', 'drift'));
  await world.restart();
  expect(world.cluster.objects.get(keyA)?.value).toEqual(a);
  await world.clock.advance(60_000);
  expect(world.cluster.objects.has(keyB)).toBe(true);
  world.server.connect();
  await world.clock.advance(2_000);
  expect(world.cluster.objects.has(keyB)).toBe(false);
  expect(world.server.lastResults()).toEqual({ [keyA]: 'applied Applied', [keyB]: 'removed Removed' });
});

test('a server that reconnects receives every result once more', async () => {
  const { server, settle } = await createConnectedWorld();
  await server.say({ upserts: [a, b] });
  await settle();
  server.connect('waiting');
  server.results.length = 0;
  server.connect();
  expect(server.lastResults()).toEqual({ [keyA]: 'applied Applied', [keyB]: 'applied Applied' });
});

test('a stored output that is older than the inventory is ignored: drift is not corrected before the server connects', async () => {
  const world = await createConnectedWorld();
  await world.server.say({ upserts: [a, b] });
  await world.settle();
  const old = world.disk.stored;
  await world.server.say({ upserts: [configMap('a', '2')] });
  await world.settle();
  await world.agent.stop();
  world.disk.stored = old;
  world.cluster.personPuts(keyA, configMap('a', 'drift'));
  world.cluster.personRemoves(keyB);
  await world.restart();
  expect(world.cluster.objects.get(keyA)?.value).toEqual(configMap('a', 'drift'));
  expect(world.cluster.objects.has(keyB)).toBe(false);
  // The tag of the inventory stays valid, and the server learns which contents to send again.
  const told = world.server.holding();
  expect(told.position).toEqual({ epoch: 1, sequence: 2 });
  expect(told.entries.map(({ key, digest, lost }) => [key, digest, lost])).toEqual([
    [keyA, objectDigest(configMap('a', '2')), true],
    [keyB, objectDigest(b), true],
  ]);
  expect(told.digest).toBe(snapshotDigest(told.entries.map(({ key, digest }) => [key, digest])));
});

test('contents that the disk cannot read any more are told with one hello, after which the server sends them again', async () => {
  const { cluster, clock, disk, server, settle } = await createConnectedWorld();
  await server.say({ upserts: [a, b] });
  await settle();
  for (const key of [keyA, keyB]) {
    disk.unreadable.add(key);
    cluster.personRemoves(key);
    await settle();
  }
  expect(server.lastResults()).toMatchObject({ [keyA]: 'failed ContentUnknown', [keyB]: 'failed ContentUnknown' });
  expect(server.holding().entries.map(({ lost }) => lost)).toEqual([true, true]);
  await clock.advance(60_000);
  expect(server.reconnects).toBe(1);
  disk.unreadable.clear();
  await server.say({ upserts: [a, b] });
  await settle();
  expect(server.lastResults()).toMatchObject({ [keyA]: 'applied Applied', [keyB]: 'applied Applied' });
});

test('a lost stored output changes nothing in a cluster without drift', async () => {
  const world = await createConnectedWorld();
  await world.server.say({ upserts: [a, b] });
  await world.settle();
  const held = world.server.holding();
  await world.agent.stop();
  world.disk.stored = undefined;
  await world.restart();
  expect(world.server.holding()).toEqual(held);
  world.cluster.personRemoves(keyA);
  await world.settle();
  expect(world.cluster.objects.has(keyA)).toBe(false);
  world.server.connect();
  await world.settle();
  expect(world.cluster.objects.get(keyA)?.value).toEqual(a);
});

test('without an inventory, it is rebuilt from the objects with our stamp, and no others', async () => {
  const world = await createConnectedWorld();
  await world.server.say({ upserts: [a, b] });
  await world.settle();
  await world.agent.stop();
  world.cluster.inventory.current = undefined;
  world.cluster.personPuts('/ConfigMap/web/copy' as ObjectKey, configMap('copy', '1'));
  const [stampOfB, copy] = [world.cluster.objects.get(keyB)?.stamp, '/ConfigMap/web/copied' as ObjectKey];
  if (stampOfB === undefined) throw new Error('b has no stamp');
  world.cluster.objects.set(copy, { key: copy, value: configMap('copied', '1'), stamp: stampOfB, where: 'memory' });
  await world.restart();
  expect(world.server.holding().entries.map(({ key, origins }) => [key, origins])).toEqual([
    [keyA, meta.origins],
    [keyB, meta.origins],
  ]);
  expect(world.server.holding().position).toEqual({ epoch: 0, sequence: 0 });
});

test('a new agent reports an empty inventory', async () => {
  const world = await createAgentWorld();
  await world.agent.start();
  expect(world.server.holding()).toEqual({
    position: { epoch: 0, sequence: 0 },
    digest: snapshotDigest([]),
    entries: [],
  });
  expect(world.server.inputs).toHaveLength(1);
  expect(world.agent.health()).toMatchObject({ clusterReadable: true, paused: false, objects: { owned: 0 } });
  await world.agent.stop();
  expect(world.clock.waiting()).toBe(0);
});

test('the fleet of the server is stamped, and kept through a restart without a server', async () => {
  const world = await createConnectedWorld();
  await world.server.say({ upserts: [a] });
  await world.settle();
  await world.restart();
  expect(world.server.fleet()).toBe(fleet);
  world.cluster.personRemoves(keyA);
  await world.settle();
  expect(world.cluster.objects.get(keyA)?.stamp).toMatchObject({ fleet });
});

test('a server of another fleet changes nothing while the cluster has owned objects, and may take an empty cluster', async () => {
  const { server, cluster, settle } = await createConnectedWorld();
  expect(server.fleet()).toBeUndefined();
  await server.say({ upserts: [a] });
  await settle();
  const before = [server.holding(), [...cluster.calls]];
  const other = must(parseFleetName('other'));
  expect(await server.say({ fleet: other, removals: [keyA] })).toMatchObject({ accepted: false, reason: 'OtherFleet' });
  expect(await server.say({ fleet: other, upserts: [b] })).toMatchObject({ accepted: false, reason: 'OtherFleet' });
  await settle();
  expect([server.holding(), cluster.calls]).toEqual(before);
  await server.say({ removals: [keyA] });
  await settle();
  expect(server.fleet()).toBeUndefined();
  expect(await server.say({ fleet: other, upserts: [b] })).toEqual({ accepted: true });
  await settle();
  expect(cluster.objects.get(keyB)?.stamp).toMatchObject({ fleet: other });
});

test('without an inventory, stamps of several fleets do not decide the fleet of the cluster', async () => {
  const world = await createAgentWorld();
  world.cluster.objects.set(keyA, {
    key: keyA,
    value: a,
    stamp: { fleet, key: keyA, nonce: 'n', ...meta },
    where: 'a',
  });
  const other = must(parseFleetName('other'));
  world.cluster.objects.set(keyB, {
    key: keyB,
    value: b,
    stamp: { fleet: other, key: keyB, nonce: 'n', ...meta },
    where: 'b',
  });
  await world.agent.start();
  expect([world.server.fleet(), world.server.holding().entries]).toEqual([undefined, []]);
  expect(world.log.lines.map(({ text }) => text)).toContainEqual(expect.stringContaining('several fleets'));
  await world.agent.stop();
});

test('a change of an owned object is applied before the inventory is durable; a creation or removal is not', async () => {
  const { server, cluster, settle } = await createConnectedWorld();
  const a2 = configMap('a', '2');
  await server.say({ upserts: [a, b] });
  await settle();
  const said = async (what: Parameters<typeof server.say>[0]): Promise<string[]> => {
    const gate = Promise.withResolvers<void>();
    cluster.inventoryGate = gate.promise;
    cluster.calls.length = 0;
    const answer = server.say(what);
    await settle();
    gate.resolve();
    expect(await answer).toEqual({ accepted: true });
    await settle();
    return [...cluster.calls];
  };
  expect(await said({ upserts: [a2] })).toEqual([`apply ${keyA}`, 'inventory']);
  const c = configMap('c', '1');
  expect(await said({ upserts: [a, c] })).toEqual(['inventory', `apply ${keyA}`, `apply ${keyOf(c)}`]);
  expect((await said({ upserts: [a2], removals: [keyB] })).indexOf('inventory')).toBe(0);
});

test('a change whose inventory cannot be written is not accepted, and is reverted', async () => {
  const { server, cluster, settle } = await createConnectedWorld();
  await server.say({ upserts: [a] });
  await settle();
  const before = server.holding();
  const gate = Promise.withResolvers<void>();
  cluster.inventoryGate = gate.promise;
  const answer = server.say({ upserts: [configMap('a', '2')] });
  await settle();
  expect(cluster.objects.get(keyA)?.value).toEqual(configMap('a', '2'));
  gate.reject(new Error('disk full'));
  expect(await answer).toMatchObject({ accepted: false, reason: 'NotDurable' });
  cluster.inventoryGate = undefined;
  await settle();
  expect(cluster.objects.get(keyA)?.value).toEqual(a);
  expect(server.holding()).toEqual(before);
  expect(server.results.at(-1)).toMatchObject({ key: keyA, digest: objectDigest(a), state: 'applied' });
});

test('removals that end together are one write of the inventory', async () => {
  const { server, cluster, settle } = await createConnectedWorld();
  const many = Array.from({ length: 40 }, (_, index) => configMap(`m${index}`, '1'));
  await server.say({ upserts: many });
  await settle();
  cluster.calls.length = 0;
  await server.say({ removals: many.map(keyOf) });
  await settle();
  expect(cluster.inventory.current?.records.size).toBe(0);
  expect(server.results.slice(-40).every(({ state }) => state === 'removed')).toBe(true);
  // Eight are worked on at a time.
  expect(cluster.calls.filter((call) => call === 'inventory').length).toBeLessThanOrEqual(1 + 10);
});

test('diagnostics of the cluster are logged once for each change, and counted', async () => {
  const { cluster, agent, log, settle } = await createConnectedWorld();
  const lines = () => log.lines.flatMap(({ data }) => (typeof data.diagnostic === 'string' ? [data.diagnostic] : []));
  const broken = diagnosticOf({
    severity: 'error',
    reason: 'UnreadableLiveFile',
    message: 'no YAML',
    at: { path: 'x.yaml' },
  });
  cluster.diagnostics.push(broken);
  cluster.personPuts(keyA, a);
  await settle();
  cluster.personPuts(keyB, b);
  await settle();
  expect([lines(), agent.health().diagnostics]).toEqual([['x.yaml: error: no YAML'], 1]);
  cluster.diagnostics.push({ ...broken, message: 'no text' });
  cluster.personRemoves(keyB);
  await settle();
  expect([lines().at(-1), agent.health().diagnostics]).toEqual(['x.yaml: error: no text', 2]);
  cluster.diagnostics.length = 0;
  cluster.personRemoves(keyA);
  await settle();
  expect([lines().length, agent.health().diagnostics]).toEqual([2, 0]);
});

test('the agent reports the version of its cluster as of the newest list', async () => {
  const { cluster, server, settle } = await createConnectedWorld();
  expect(server.kubernetesVersion()).toBeUndefined();
  cluster.kubernetesVersion = 'v1.36.3';
  cluster.personPuts(keyA, a);
  await settle();
  expect(server.kubernetesVersion()).toBe('v1.36.3');
});
