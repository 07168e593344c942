import { beforeEach, expect, test } from 'vitest';
import type { ObjectKey } from '../../../src/model/objects/object-key.ts';
import { type AgentWorld, configMap, createConnectedWorld, keyOf, meta } from '../../support/agent-world.ts';

const refusal = { type: 'failed', reason: 'Invalid', message: 'provided port is already allocated' } as const;
const failing = configMap('failing', '1');
const failingKey = keyOf(failing);
const other = configMap('other', '1');
const otherKey = keyOf(other);
/** Long after the first failures: the next try is minutes away. */
const LATE_MS = 3_600_000;

let world: AgentWorld;
beforeEach(async () => {
  world = await createConnectedWorld();
  world.cluster.view();
  world.cluster.fail(failingKey, refusal);
  await world.server.say({ upserts: [failing, other] });
  await world.clock.advance(LATE_MS);
  world.cluster.fail(failingKey, undefined);
});

const isApplied = (): boolean => world.cluster.objects.has(failingKey);

/** The removal of an object waits for long, so that its back-off is long. */
async function removeLater(): Promise<void> {
  world.cluster.fail(otherKey, 'waiting');
  await world.server.say({ removals: [otherKey] });
  await world.clock.advance(1_800_000);
}

test('a refusal is tried again within ten minutes, however often it was refused', async () => {
  expect(isApplied()).toBe(false);
  await world.clock.advance(600_000);
  expect(isApplied()).toBe(true);
});

test('after a removal of ours what was refused is tried at once', async () => {
  await world.server.say({ removals: [otherKey] });
  await world.settle();
  expect(isApplied()).toBe(true);
});

test('what was refused is tried once after several removals, and after more of them a minute later', async () => {
  const more = Array.from({ length: 40 }, (_, at) => configMap(`more-${at}`, '1'));
  await world.server.say({ upserts: more });
  await world.settle();
  world.cluster.fail(failingKey, refusal);
  await world.server.say({ removals: more.map(keyOf) });
  await world.settle();
  const tries = world.cluster.tries(failingKey);
  await world.server.say({ removals: [otherKey] });
  await world.settle();
  expect(world.cluster.tries(failingKey)).toBe(tries);
  await world.clock.advance(60_000);
  expect(world.cluster.tries(failingKey)).toBe(tries + 1);
});

test('removals that never end try what never succeeds once a minute at most', async () => {
  world.cluster.fail(failingKey, refusal);
  const tries = world.cluster.tries(failingKey);
  for (let second = 0; second < 300; second += 1) {
    const passing = configMap(`passing-${second}`, '1');
    await world.server.say({ upserts: [passing] });
    await world.server.say({ removals: [keyOf(passing)] });
    await world.clock.advance(1_000);
  }
  expect(world.cluster.tries(failingKey) - tries).toBeLessThanOrEqual(6);
});

test('after others have removed an object of its kind it is tried at once, and not more often than once a minute', async () => {
  world.cluster.fail(failingKey, refusal);
  const before = world.cluster.tries(failingKey);
  for (let round = 0; round < 5; round += 1) {
    world.cluster.personPuts(keyOf(configMap('of-others', '1')), configMap('of-others', '1'));
    await world.settle();
    world.cluster.personRemoves(keyOf(configMap('of-others', '1')));
    await world.settle();
  }
  expect(world.cluster.tries(failingKey)).toBe(before + 1);
  world.cluster.fail(failingKey, undefined);
  await world.clock.advance(60_000);
  expect(isApplied()).toBe(true);
});

const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'web' } };
const terminating = { type: 'failed', reason: 'NamespaceTerminating', message: 'it is being terminated' } as const;

test.each([
  ['is gone', () => world.cluster.personRemoves(keyOf(namespace))],
  ['is a new one', () => world.cluster.becomes(keyOf(namespace), { state: 'current', message: '' })],
])('what failed in a Namespace that was being deleted is tried at once when that %s', async (_, end) => {
  world.cluster.personPuts(keyOf(namespace), namespace);
  world.cluster.fail(failingKey, terminating);
  await world.clock.advance(LATE_MS);
  const tries = world.cluster.tries(failingKey);
  world.cluster.becomes(keyOf(namespace), { state: 'inProgress', message: 'it is being deleted' });
  await world.settle();
  expect(world.cluster.tries(failingKey)).toBe(tries);
  world.cluster.fail(failingKey, undefined);
  end();
  await world.settle();
  expect(isApplied()).toBe(true);
});

test('after a change of the definition of its own kind it is tried at once, and of another kind it is not', async () => {
  world.cluster.redefine('example.com/Widget');
  await world.settle();
  expect(isApplied()).toBe(false);
  world.cluster.redefine('/ConfigMap');
  await world.settle();
  expect(isApplied()).toBe(true);
});

test('a change of the object by others is a reason to try at once', async () => {
  world.cluster.fail(failingKey, refusal);
  const before = world.cluster.tries(failingKey);
  world.cluster.personPuts(failingKey, configMap('failing', 'of others'));
  await world.settle();
  expect(world.cluster.tries(failingKey)).toBe(before + 1);
});

const touch = (key: ObjectKey, attempt: number) => ({ forged: { touches: [{ key, ...meta, attempt }] } });

test('another attempt is made at once, and only by a new one', async () => {
  expect(await world.server.say(touch(failingKey, 1))).toEqual({ accepted: true });
  await world.settle();
  expect(isApplied()).toBe(true);
  expect(world.server.holding().entries.find(({ key }) => key === failingKey)).toMatchObject({ attempt: 1 });
});

test('another attempt of a removal is made at once, and one of an object that is gone meanwhile changes nothing', async () => {
  world.cluster.fail(otherKey, refusal);
  await world.server.say({ removals: [otherKey] });
  await world.clock.advance(LATE_MS);
  world.cluster.fail(otherKey, undefined);
  expect(world.cluster.objects.has(otherKey)).toBe(true);
  expect(await world.server.say(touch(otherKey, 1))).toEqual({ accepted: true });
  await world.settle();
  expect(world.cluster.objects.has(otherKey)).toBe(false);
  expect(await world.server.say(touch(otherKey, 2))).toEqual({ accepted: true });
  expect(await world.server.say({ forged: { touches: [{ key: otherKey, ...meta }] } })).toMatchObject({
    accepted: false,
    reason: 'UnknownTouch',
  });
});

test('a removal is tried again soon after its object is gone', async () => {
  await removeLater();
  world.cluster.fail(otherKey, undefined);
  world.cluster.personRemoves(otherKey);
  await world.clock.advance(60_000);
  expect(world.server.lastResults()[otherKey]).toBe('removed Removed');
});

test('a removal is tried once a minute at most while states lack an object that exists', async () => {
  await removeLater();
  const tries = world.cluster.tries(otherKey);
  for (let second = 0; second < 300; second += 1) {
    world.cluster.personPuts(otherKey, other);
    await world.settle();
    world.cluster.personRemoves(otherKey);
    await world.clock.advance(950);
  }
  expect(world.cluster.tries(otherKey) - tries).toBeGreaterThanOrEqual(1);
  expect(world.cluster.tries(otherKey) - tries).toBeLessThanOrEqual(6);
});
