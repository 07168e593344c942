import { describe, expect, test } from 'vitest';
import type { ObjectKey } from '../../src/model/objects/object-key.ts';
import type { JsonObject } from '../../src/model/text/json.ts';
import {
  type AgentWorld,
  configMap,
  createAgentWorld,
  createConnectedWorld,
  fleet,
  keyOf,
  meta,
} from '../support/agent-world.ts';

const a = configMap('a', '1');
const keyA = keyOf(a);
const theirs = configMap('a', 'of a tenant');

/** A tenant makes an object, or changes it, with the stamp that an agent of this fleet would write. */
function stamps(world: AgentWorld, value: JsonObject, nonce = '0'.repeat(32)): void {
  const key = keyOf(value);
  world.cluster.objects.set(key, { key, value, stamp: { fleet, key, nonce, ...meta }, where: 'memory' });
  world.cluster.forgetState();
}

const liveValue = (world: AgentWorld, key: ObjectKey) => world.cluster.objects.get(key)?.value;

describe('an object of a tenant that carries a stamp of this fleet', () => {
  test('is a conflict, and is neither changed nor removed', async () => {
    const world = await createConnectedWorld();
    stamps(world, theirs);
    await world.server.say({ upserts: [a] });
    await world.settle();
    expect(world.server.lastResults()).toEqual({ [keyA]: 'conflict Conflict' });
    await world.server.say({ removals: [keyA] });
    await world.settle();
    expect(world.server.lastResults()).toEqual({ [keyA]: 'removed Released' });
    expect(liveValue(world, keyA)).toEqual(theirs);
  });

  test('is a conflict also if it was stamped before the first start of the agent, or while the inventory was lost', async () => {
    const world = await createAgentWorld();
    stamps(world, theirs);
    await world.agent.start();
    world.server.connect();
    expect(world.server.holding().entries).toMatchObject([{ key: keyA, lost: true }]);
    const { digest: from } = world.server.holding();
    expect(await world.server.say({ upserts: [a], forged: { from } })).toEqual({ accepted: true });
    await world.settle();
    expect(world.server.lastResults()).toMatchObject({ [keyA]: 'conflict Conflict' });
    expect(liveValue(world, keyA)).toEqual(theirs);
  });

  test('is released and not removed, if only its stamp has brought it into the inventory', async () => {
    const world = await createAgentWorld();
    stamps(world, theirs);
    await world.agent.start();
    world.server.connect();
    const { digest: from } = world.server.holding();
    expect(await world.server.say({ removals: [keyA], forged: { from } })).toEqual({ accepted: true });
    await world.settle();
    expect(world.server.lastResults()).toMatchObject({ [keyA]: 'removed Released' });
    expect([liveValue(world, keyA), world.server.holding().entries]).toEqual([theirs, []]);
  });

  test('is a conflict after a removal of ours, even with the stamp that our object had', async () => {
    const world = await createConnectedWorld();
    await world.server.say({ upserts: [a] });
    await world.settle();
    const ours = world.cluster.objects.get(keyA)?.stamp?.nonce;
    await world.server.say({ removals: [keyA] });
    await world.settle();
    stamps(world, theirs, ours);
    await world.server.say({ upserts: [a] });
    await world.settle();
    expect(world.server.lastResults()).toEqual({ [keyA]: 'conflict Conflict' });
    expect(liveValue(world, keyA)).toEqual(theirs);
  });
});

describe('an object of ours', () => {
  test('stays ours if the agent ends before it has entered what it has created', async () => {
    const world = await createConnectedWorld();
    world.cluster.identify = true;
    await world.server.say({ upserts: [a] });
    await world.settle();
    await world.agent.stop();
    const records = world.cluster.inventory.current?.records;
    for (const [key, { identity: _, ...record }] of records ?? []) records?.set(key, record);
    await world.restart();
    world.server.connect();
    const a2 = configMap('a', '2');
    expect(await world.server.say({ upserts: [a2] })).toEqual({ accepted: true });
    await world.settle();
    expect(liveValue(world, keyA)).toEqual(a2);
  });

  test('stays ours if it is restored with another identity, and its new identity is entered', async () => {
    const world = await createConnectedWorld();
    world.cluster.identify = true;
    await world.server.say({ upserts: [a] });
    await world.settle();
    const backup = world.cluster.objects.get(keyA);
    world.cluster.personRemoves(keyA);
    world.cluster.objects.set(keyA, { ...backup!, value: configMap('a', 'of the backup') });
    world.cluster.forgetState();
    await world.settle();
    expect(liveValue(world, keyA)).toEqual(a);
  });

  test('is ours again after the loss of the inventory, as soon as the server sends what its stamp says', async () => {
    const world = await createConnectedWorld();
    await world.server.say({ upserts: [a] });
    await world.settle();
    const stamp = world.cluster.objects.get(keyA)?.stamp;
    await world.agent.stop();
    world.cluster.inventory.current = undefined;
    world.cluster.calls.length = 0;
    await world.restart();
    world.server.connect();
    const { digest: from } = world.server.holding();
    expect(await world.server.say({ upserts: [a], forged: { from } })).toEqual({ accepted: true });
    await world.settle();
    expect(world.cluster.objects.get(keyA)).toMatchObject({ value: a, stamp });
    expect(world.cluster.calls).not.toContain(`apply ${keyA}`);
    await world.server.say({ removals: [keyA] });
    await world.settle();
    expect(world.cluster.objects.has(keyA)).toBe(false);
  });
});
