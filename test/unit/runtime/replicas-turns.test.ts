import { describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/engine/graph.ts';
import type { ObjectKey } from '../../../src/model/objects/object-key.ts';
import { sha256 } from '../../../src/model/text/digest.ts';
import type { Lease } from '../../../src/ports/lease.ts';
import type { FakeAgent } from '../../support/fleet-world.ts';
import { configMapYaml, policyYaml } from '../../support/manifests.ts';
import { createMemoryLease } from '../../support/memory-lease.ts';
import { createReplicaWorld, type FakeReplica, heldAt, type ReplicaWorld } from '../../support/replica-world.ts';
import { abc, base } from '../../support/started-world.ts';

const [KEY_A, KEY_B, KEY_C] = abc as [string, string, string];

/** The only replica that follows, or the first of them. */
function followerOf(world: ReplicaWorld): FakeReplica {
  const [follower] = world.followers();
  if (follower === undefined) throw new Error('there is no follower');
  return follower;
}

/** Batches with such a key never reach the store. */
function holdWrites({ store }: FakeReplica, isHeld: (key: string) => boolean): void {
  const { write } = store;
  store.write = (batch) => (batch.some(({ key }) => isHeld(key)) ? new Promise(() => undefined) : write(batch));
}

/** The first commit for which the condition holds fails. Returns whether that was. */
function failOnce(engine: Engine, isDue: () => boolean): () => boolean {
  const { advance } = engine;
  let hasFailed = false;
  const failing: Engine['advance'] = (isUp) => {
    if (hasFailed || !isDue()) return advance(isUp);
    hasFailed = true;
    throw new Error('a defect');
  };
  Object.assign(engine, { advance: failing });
  return () => hasFailed;
}

/** The agent reports a removal: at that moment staged writes are committed at once. */
function saysRemoved(agent: FakeAgent, key: string): void {
  const { cluster } = agent.hello();
  agent
    .at()
    ?.results(cluster, [{ key: key as ObjectKey, digest: sha256(key), state: 'removed', reason: '', message: '' }]);
}

describe('a turn as leader', () => {
  it('ends by the clock, also for a replica that was stopped then: the deltas that it had judged are not sent', async () => {
    const world = await createReplicaWorld();
    world.push(base);
    await world.pass();
    const leader = world.leader();
    const east = leader.agent('east');
    east.connect({ instance: 'east' });
    await world.pass();
    east.pause();
    world.push({ 'apps/b.yaml': null });
    await world.pass(1_000);
    // This one waits for the slot, judged and let pass.
    world.push({ 'apps/c.yaml': null });
    await world.pass(1_000);
    expect(leader.world.server.engine.outputs.get('east', KEY_C)).toMatchObject({ type: 'remove' });
    const wake = leader.freeze();
    await world.pass(7_000);
    // What has arrived meanwhile is read before the timers that fell due meanwhile run.
    east.release('accepted');
    await world.clock.settle();
    saysRemoved(east, KEY_B);
    saysRemoved(east, KEY_B);
    await world.clock.settle();
    expect(east.deltas.flatMap(({ removals }) => removals)).toEqual([KEY_B]);
    wake();
    await world.pass(20_000);
    expect(heldAt(leader, 'east')).toEqual([KEY_A]);
  });

  it('ends also for deltas that wait for their count to be on record: they are not sent any more', async () => {
    const world = await createReplicaWorld();
    world.push(base);
    await world.pass();
    const [leader, other] = [world.leader(), followerOf(world)];
    const east = leader.agent('east');
    east.connect({ instance: 'east' });
    await world.pass();
    holdWrites(leader, (key) => key.startsWith('windows/'));
    world.push({ 'apps/c.yaml': null });
    await world.pass(400);
    expect(leader.world.server.engine.inputs.ledger.get('east', KEY_C)?.phase).toBe('removing');
    const wake = leader.freeze();
    await world.pass(12_000);
    expect(other.leads()).toBe(true);
    world.push({ 'apps/c.yaml': configMapYaml('c', '1') });
    await world.pass(2_000);
    wake();
    await world.pass(20_000);
    expect(east.deltas.flatMap(({ removals }) => removals)).toEqual([]);
  });

  it('ends soon after a commit at its end has failed: the former leader holds nothing any more', async () => {
    const world = await createReplicaWorld();
    world.push({ ...base, 'fleet/policy.yaml': policyYaml(1) });
    await world.pass();
    const leader = world.leader();
    leader.agent('east').connect({ instance: 'east' });
    await world.pass();
    world.push({ 'apps/b.yaml': null, 'apps/c.yaml': null });
    await world.pass();
    const { inputs } = leader.world.server.engine;
    const held = () => [...inputs.heldRemovals.partitions()];
    expect(held()).toEqual(['east']);
    const hasFailed = failOnce(leader.world.server.engine, () => !leader.leads());
    holdWrites(leader, (key) => key === 'leader');
    await world.pass(30_000);
    expect([hasFailed(), leader.leads()]).toEqual([true, false]);
    expect([held(), inputs.fleet.get('', '')?.role]).toEqual([[], 'follower']);
  });

  it.each(['in the store', 'elsewhere'])(
    'with a lease %s is handed over at once by a replica that is stopped',
    async (where) => {
      const world = await createReplicaWorld([]);
      const lease = createMemoryLease(world.clock);
      for (const id of ['a', 'b']) await world.add(id, where === 'elsewhere' ? { lease: lease.of(id) } : {});
      world.push(base);
      await world.pass();
      const [leader, follower] = [world.leader(), followerOf(world)];
      leader.agent('east').connect({ instance: 'east' });
      await world.pass();
      const stopping = leader.world.server.stop();
      // It asks once a second whether it can have the lease.
      await world.pass(1_200);
      await stopping;
      expect([leader.leads(), follower.leads()]).toEqual([false, true]);
      follower.agent('east').connect({ instance: 'east' });
      world.push({ 'apps/c.yaml': null });
      await world.pass(1_000);
      expect(heldAt(follower, 'east')).toEqual([KEY_A, KEY_B]);
    },
  );

  it('begins with permits for waiting removals: a follower continues without any other event', async () => {
    const world = await createReplicaWorld(['a', 'b', 'c']);
    world.push(base);
    await world.pass();
    const leader = world.leader();
    const follower = followerOf(world);
    follower.agent('west').connect({ instance: 'west' });
    await world.pass();
    holdWrites(leader, (key) => key.startsWith('removal-permits/') || key === 'leader');
    // The third one is to lead next.
    holdWrites(follower, (key) => key === 'leader');
    world.push({ 'apps/c.yaml': null });
    await world.pass();
    expect(heldAt(follower, 'west')).toEqual(abc);
    await world.pass(30_000);
    expect(leader.leads()).toBe(false);
    expect(follower.leads()).toBe(false);
    expect(world.leader().leads()).toBe(true);
    expect(heldAt(follower, 'west')).toEqual([KEY_A, KEY_B]);
  });

  it('does not judge before it has read the holds and approvals, although the lease elsewhere lets it admit', async () => {
    const world = await createReplicaWorld([]);
    const lease = createMemoryLease(world.clock);
    for (const id of ['a', 'b']) await world.add(id, { lease: lease.of(id) });
    world.push(base);
    await world.pass();
    const leader = world.leader();
    const follower = followerOf(world);
    follower.agent('west').connect({ instance: 'west' });
    await world.pass();
    world.memory.down();
    leader.kill();
    await world.pass(20_000);
    follower.world.source.push({ 'apps/a.yaml': configMapYaml('a', '2'), 'apps/c.yaml': null });
    await world.pass(20_000);
    const { deltas } = follower.agent('west');
    expect(deltas.at(-1)?.upserts.map(({ key }) => key)).toEqual([KEY_A]);
    expect(heldAt(follower, 'west')).toEqual(abc);
    expect(follower.leads()).toBe(false);
    expect(follower.world.server.engine.outputs.get('west', KEY_C)).toMatchObject({
      type: 'keep',
      reason: 'WaitsForLeader',
    });
    world.memory.up();
    await world.pass(20_000);
    expect(follower.leads()).toBe(true);
    expect(heldAt(follower, 'west')).toEqual([KEY_A, KEY_B]);
  });

  it('writes to the store the revisions that an earlier turn of the same replica has admitted without it', async () => {
    const world = await createReplicaWorld([]);
    const lease = createMemoryLease(world.clock);
    const never: Lease = { ...lease.of('b'), acquire: async () => ({ type: 'failed', message: 'not this one' }) };
    const leader = await world.add('a', { lease: lease.of('a') });
    const follower = await world.add('b', { lease: never });
    world.push(base);
    await world.pass();
    follower.agent('west').connect({ instance: 'west' });
    await world.pass();
    leader.store.cut();
    world.push({ 'apps/a.yaml': configMapYaml('a', '2') });
    await world.pass();
    lease.problem = 'the store does not answer';
    await world.pass(20_000);
    expect(leader.leads()).toBe(false);
    leader.store.mend();
    lease.problem = undefined;
    await world.pass(20_000);
    expect(leader.leads()).toBe(true);
    expect(
      follower
        .agent('west')
        .deltas.at(-1)
        ?.upserts.map(({ key }) => key),
    ).toEqual([KEY_A]);
  });

  it('begins with what it had held, although the store has lost the records meanwhile', async () => {
    const world = await createReplicaWorld(['a']);
    world.push({ ...base, 'fleet/policy.yaml': policyYaml(1) });
    await world.pass();
    const leader = world.leader();
    leader.agent('east').connect({ instance: 'east' });
    await world.pass();
    world.push({ 'apps/b.yaml': null, 'apps/c.yaml': null });
    await world.pass(1_000);
    const records = world.memory.keys().filter((key) => key.startsWith('held/'));
    expect(records).toHaveLength(2);
    for (const key of records) world.memory.evict(key);
    // Its lease cannot be renewed, and the records cannot be written again.
    world.memory.refusing = 'the memory is full';
    await world.pass(20_000);
    expect(leader.leads()).toBe(false);
    world.push({ 'fleet/policy.yaml': policyYaml(1_000) });
    world.memory.refusing = undefined;
    await world.pass(20_000);
    expect(leader.leads()).toBe(true);
    expect(heldAt(leader, 'east')).toEqual(abc);
  });
});
