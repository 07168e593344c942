import { expect, it } from 'vitest';
import { discoverOne, kindsOf, mirrorYaml } from '../../support/mirrors.ts';
import { type FakeReplica, heldAt, type ReplicaWorld, startedReplicas } from '../../support/replica-world.ts';
import { base } from '../../support/started-world.ts';

const MIRRORS = { 'mirror.yaml': mirrorYaml('shared', 'selector: {}', 'selector: {}') };

function rolesOf(world: ReplicaWorld): readonly [FakeReplica, FakeReplica] {
  const [follower] = world.followers();
  if (follower === undefined) throw new Error('there is no follower');
  return [world.leader(), follower];
}

/** East, connected to the leader, holds the mirrors of west, which is connected to the follower. */
async function mirroring(): Promise<ReplicaWorld> {
  const world = await startedReplicas();
  const [leader, follower] = rolesOf(world);
  world.push(MIRRORS);
  leader.agent('east').connect();
  follower.agent('west').connect();
  await world.pass();
  leader.agent('east').discovers({ kinds: kindsOf() });
  discoverOne(follower.world, 'west');
  await world.pass();
  return world;
}

/** All servers and their store are gone, and others begin with nothing. */
async function loseAll(world: ReplicaWorld): Promise<readonly [FakeReplica, FakeReplica]> {
  for (const replica of [...world.replicas]) replica.kill();
  world.memory.lose();
  for (const id of ['c', 'd']) await world.add(id);
  world.push({ ...base, ...MIRRORS });
  await world.pass(20_000);
  return rolesOf(world);
}

/** Batches with such a key stay on their way, until they are let through. */
function holdWrites({ store }: FakeReplica, isHeld: (key: string) => boolean): () => void {
  const { write } = store;
  const gate = Promise.withResolvers<void>();
  store.write = async (batch) => {
    if (batch.some(({ key }) => isHeld(key))) await gate.promise;
    return write(batch);
  };
  return gate.resolve;
}

it('other replicas see the assumed-warm record of a cluster end together with the write of what its agent reported, not before', async () => {
  const world = await mirroring();
  const east = rolesOf(world)[0].agent('east');
  const held = heldAt(world.leader(), 'east');
  expect(held.filter((key) => key.includes('west-shop'))).toHaveLength(2);
  const [leader, follower] = await loseAll(world);
  const before = east.deltas.length;
  leader.agent('east').connect();
  await world.pass();
  expect(leader.world.server.engine.inputs.agents.get('', 'west')).toMatchObject({ warm: false, assumedWarm: true });
  const release = holdWrites(follower, (key) => key === 'cluster-leases/west');
  follower.agent('west').connect();
  discoverOne(follower.world, 'west');
  await world.pass(2_000);
  expect(heldAt(leader, 'east')).toEqual(held);
  release();
  await world.pass();
  expect(leader.world.server.engine.inputs.agents.get('', 'west')).toMatchObject({ warm: true, assumedWarm: false });
  expect(heldAt(leader, 'east')).toEqual(held);
  expect(east.deltas.slice(before)).toEqual([]);
});

it('a cluster stays assumed warm at other replicas if its registration is in the store before its assumed-warm record', async () => {
  const world = await mirroring();
  const east = rolesOf(world)[0].agent('east');
  const held = heldAt(world.leader(), 'east');
  const [leader, follower] = await loseAll(world);
  const before = east.deltas.length;
  const release = [leader, follower].map((replica) => holdWrites(replica, (key) => key.startsWith('assumed-warm/')));
  leader.agent('east').connect();
  follower.agent('west').connect();
  await world.pass();
  const west = () => leader.world.server.engine.inputs.agents.get('', 'west');
  expect(west()).toMatchObject({ warm: false, assumedWarm: true });
  expect(east.deltas.slice(before)).toEqual([]);
  for (const end of release) end();
  discoverOne(follower.world, 'west');
  await world.pass();
  expect(west()).toMatchObject({ warm: true, assumedWarm: false });
  expect(heldAt(leader, 'east')).toEqual(held);
  expect(east.deltas.slice(before)).toEqual([]);
});

it('a cluster that has been registered since the loss, and has sent no snapshot yet, is assumed warm as well', async () => {
  const world = await mirroring();
  const east = rolesOf(world)[0].agent('east');
  const [leader, follower] = await loseAll(world);
  const before = east.deltas.length;
  for (const replica of [leader, follower]) holdWrites(replica, (key) => key.startsWith('assumed-warm/'));
  follower.agent('west').connect();
  await world.pass();
  leader.agent('east').connect();
  await world.pass();
  expect(leader.world.server.engine.inputs.agents.get('', 'west')).toMatchObject({ warm: false, assumedWarm: true });
  expect(east.deltas.slice(before)).toEqual([]);
});
