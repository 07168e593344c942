import { describe, expect, it } from 'vitest';
import { placementYaml } from '../../support/manifests.ts';
import {
  createReplicaWorld,
  type FakeReplica,
  type ReplicaWorld,
  startedReplicas,
} from '../../support/replica-world.ts';
import { base } from '../../support/started-world.ts';

const observedBy = ({ world }: FakeReplica) => world.server.engine.inputs.observed.get('Placement', 'apps');

/** Two replicas, of which the leader serves both clusters and has written every status. */
async function written(): Promise<ReplicaWorld> {
  const world = await startedReplicas();
  for (const cluster of ['east', 'west']) world.leader().agent(cluster).connect({ instance: cluster });
  await world.pass(30_000);
  return world;
}

describe('the status written last', () => {
  it('is known to followers as to the leader, also to one that starts later', async () => {
    const world = await written();
    await world.add('c');
    await world.pass();
    const known = observedBy(world.leader()) ?? expect.fail();
    expect(known.fields).toMatchObject({ selectedClusters: 2 });
    expect(world.followers().map(observedBy)).toEqual([known, known]);
    world.push({ 'fleet/placement.yaml': placementYaml('apps', 'apps/**', 'selector: {matchLabels: {env: none}}') });
    await world.pass(30_000);
    const changed = observedBy(world.leader()) ?? expect.fail();
    expect(changed.fields).toMatchObject({ selectedClusters: 0 });
    expect(world.followers().map(observedBy)).toEqual([changed, changed]);
  });

  it('is forgotten by followers when its declaration has ended', async () => {
    const world = await written();
    world.push({ 'fleet/placement.yaml': null });
    await world.pass();
    expect([world.leader(), ...world.followers()].map(observedBy)).toEqual([undefined, undefined]);
    expect(world.memory.keys()).not.toContain('observed/Placement/apps');
  });

  it('is known to followers although they receive no notification of the store', async () => {
    const world = await startedReplicas();
    for (const follower of world.followers()) follower.deafen();
    for (const cluster of ['east', 'west']) world.leader().agent(cluster).connect({ instance: cluster });
    await world.pass(150_000);
    expect(world.followers().map(observedBy)).toEqual([observedBy(world.leader()) ?? expect.fail()]);
  });

  it('reaches followers from the status branch, after a loss of the store, before the new leader admits anything', async () => {
    const before = await written();
    const { lastTransitionTime } = observedBy(before.leader())?.conditions[0] ?? expect.fail();
    const statusFiles = new Map(before.leader().world.statusFiles);
    const world = await createReplicaWorld([]);
    const readStatus = (): Promise<void> => world.clock.sleep(3_000);
    for (const id of ['a', 'b']) await world.add(id, { statusFiles: new Map(statusFiles), readStatus });
    world.push(base);
    await world.pass(2_800);
    const admitted = () => world.replicas.map((replica) => replica.world.server.replica.mayStart());
    expect(admitted()).toEqual([false, false]);
    await world.pass(400);
    expect(admitted()).toEqual([true, true]);
    for (const replica of world.replicas) {
      expect(observedBy(replica)?.conditions[0]?.lastTransitionTime).toBe(lastTransitionTime);
    }
  });

  it('is forgotten with its declaration, although the store had lost it before the leader began its next turn', async () => {
    const world = await startedReplicas(['a']);
    for (const cluster of ['east', 'west']) world.leader().agent(cluster).connect({ instance: cluster });
    await world.pass(30_000);
    world.memory.evict('observed/Placement/apps');
    // Its lease cannot be renewed, and the record cannot be written again.
    world.memory.refusing = 'the memory is full';
    await world.pass(20_000);
    expect(world.replicas.map((replica) => replica.leads())).toEqual([false]);
    world.push({ 'fleet/placement.yaml': null });
    world.memory.refusing = undefined;
    // Each half minute the store is compared with what the leader remembers.
    await world.pass(60_000);
    expect(observedBy(world.leader())).toBeUndefined();
    expect(world.memory.keys()).not.toContain('observed/Placement/apps');
  });
});
