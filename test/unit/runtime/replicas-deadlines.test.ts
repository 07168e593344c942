import { expect, it } from 'vitest';
import { jsonWrite } from '../../../src/runtime/stored/json-record.ts';
import { safeModeYaml } from '../../support/mirrors.ts';
import { createReplicaWorld, type FakeReplica, startedReplicas } from '../../support/replica-world.ts';
import { base } from '../../support/started-world.ts';

const X = 'elapsed/test/some/x';

const elapsedAt = (replica: FakeReplica, key = 'some/x'): number | undefined =>
  replica.world.server.engine.inputs.elapsed.get('test', key);

async function twoReplicas() {
  const world = await startedReplicas();
  const [leader, [follower]] = [world.leader(), world.followers()];
  if (follower === undefined) throw new Error('there is no follower');
  return { world, leader, follower };
}

it('a follower stages the passed moments that the leader has written', async () => {
  const { world, leader, follower } = await twoReplicas();
  await leader.store.write([jsonWrite(X, { at: 5 }), jsonWrite('elapsed/test/damaged', { at: 'soon' })]);
  await world.pass(400);
  expect(elapsedAt(follower)).toBe(5);
  expect(elapsedAt(follower, 'damaged')).toBeUndefined();
  await leader.store.write([jsonWrite(X, { at: 7 })]);
  await world.pass(400);
  expect(elapsedAt(follower)).toBe(7);
  await leader.store.write([jsonWrite(X, null)]);
  await world.pass(400);
  expect(elapsedAt(follower)).toBeUndefined();
});

it('a follower stages a thousand records that change at once', async () => {
  const { world, leader, follower } = await twoReplicas();
  const keys = Array.from({ length: 1_000 }, (_, index) => `many${index}`);
  await leader.store.write(keys.map((key, at) => jsonWrite(`elapsed/test/${key}`, { at })));
  await world.pass(400);
  expect(keys.map((key) => elapsedAt(follower, key))).toEqual(keys.map((_, at) => at));
});

it('a follower that missed the event of a change reads all records at the next sweep', async () => {
  const { world, leader, follower } = await twoReplicas();
  follower.deafen();
  await leader.store.write([jsonWrite(X, { at: 5 })]);
  await world.pass(130_000);
  expect(elapsedAt(follower)).toBe(5);
  await leader.store.write([jsonWrite(X, null)]);
  await world.pass(130_000);
  expect(elapsedAt(follower)).toBeUndefined();
});

it('a replica stages the stored records when it starts, and a new leader deletes the ones without a deadline', async () => {
  const { world, leader, follower } = await twoReplicas();
  follower.deafen();
  await leader.store.write([jsonWrite(X, { at: 5 })]);
  const third = await world.add('c');
  expect(elapsedAt(third)).toBe(5);
  third.world.source.push(base);
  leader.kill();
  await world.pass(30_000);
  expect(elapsedAt(world.leader())).toBeUndefined();
  expect(world.memory.keys()).not.toContain(X);
  for (const replica of world.replicas) expect(elapsedAt(replica)).toBeUndefined();
});

it('each replica has its own safe start window, and writes no record of it', async () => {
  const world = await createReplicaWorld();
  world.push({ ...base, 'fleet/policy.yaml': safeModeYaml('off', 60) });
  await world.pass(50_000);
  const third = await world.add('c');
  const inForce = (replica: FakeReplica) => replica.world.server.engine.safeMode.mode.get('', '')?.inForce;
  await world.pass(15_000);
  expect(world.replicas.map(inForce)).toEqual(['none', 'none', 'scoped']);
  await world.pass(40_000);
  expect(inForce(third)).toBe('scoped');
  await world.pass(10_000);
  expect(inForce(third)).toBe('none');
  expect(world.memory.keys().filter((key) => key.startsWith('elapsed/'))).toEqual([]);
});
