import { describe, expect, it } from 'vitest';
import { clusterMapName } from '../../../src/runtime/ledger/cluster-state.ts';
import { clusterYaml } from '../../support/manifests.ts';
import { discoverOne, liveSlice, mirrorYaml } from '../../support/mirrors.ts';
import { createReplicaWorld, type FakeReplica, type ReplicaWorld } from '../../support/replica-world.ts';

const SLICE = 'discovery.k8s.io/EndpointSlice/web/west-shop-1';
const files = {
  'clusters/east/cluster.yaml': clusterYaml('east'),
  'clusters/west/cluster.yaml': clusterYaml('west'),
  'mirror.yaml': mirrorYaml('shared', 'names: [west]', 'names: [east]'),
};
const instance = (cluster: string) => ({ instance: cluster });

interface Moves extends ReplicaWorld {
  /** Serves both agents. */
  readonly first: FakeReplica;
  readonly second: FakeReplica;
  /** The address of the service that `west` exports becomes this one. */
  moveService(address: string): Promise<void>;
  /** The addresses that the deltas to `east` contained, one text for each delta. */
  sent(): readonly string[];
  /** Ends the session of the agent, which then connects to the second replica. */
  move(cluster: string): ReturnType<ReturnType<FakeReplica['agent']>['reach']>;
}

/** `west` exports a service to `east`. Both replicas know it with the address 10.0.0.1. */
async function mirroredService(): Promise<Moves> {
  const world = await createReplicaWorld();
  world.push(files);
  await world.pass();
  const [first, [second]] = [world.leader(), world.followers()];
  if (second === undefined) throw new Error('no replica follows');
  for (const cluster of ['east', 'west']) first.agent(cluster).connect(instance(cluster));
  discoverOne(first.world, 'west');
  await world.pass();
  return {
    ...{ ...world, first, second },
    moveService: async (address) => {
      first.agent('west').discovers({ upserts: [liveSlice('shop', [address])] });
      await world.pass();
    },
    sent: () => first.agent('east').deltas.map(({ upserts }) => addressesIn(upserts)),
    move: (cluster) => {
      first.agent(cluster).disconnect();
      return second.agent(cluster).reach(instance(cluster));
    },
  };
}

function addressesIn(upserts: readonly { readonly key: string; readonly value: unknown }[]): string {
  const slices = upserts.filter(({ key }) => key === SLICE).map(({ value }) => JSON.stringify(value));
  return slices.flatMap((text) => text.match(/10\.0\.0\.\d/g) ?? []).join(' ');
}

/** The store does not answer reads of such keys until the returned function is called. */
function holdReads({ store }: FakeReplica, isHeld: (key: string) => boolean): () => void {
  const { get } = store;
  const gate = Promise.withResolvers<void>();
  store.get = async (key) => {
    if (isHeld(key)) await gate.promise;
    return get(key);
  };
  return gate.resolve;
}

describe('an agent that moves to a replica which has not read the last changes of another cluster', () => {
  it('is sent nothing that was computed from the older copy of the other cluster', async () => {
    const world = await mirroredService();
    const deliver = world.second.delayNotices();
    await world.moveService('10.0.0.2');
    const moved = world.move('east');
    await world.pass(2_000);
    expect(world.sent()).toEqual(['10.0.0.1', '10.0.0.2']);
    deliver();
    expect(await moved).toEqual({ type: 'admitted' });
    await world.pass();
    expect(world.sent()).toEqual(['10.0.0.1', '10.0.0.2']);
    await world.moveService('10.0.0.3');
    expect(world.sent()).toEqual(['10.0.0.1', '10.0.0.2', '10.0.0.3']);
  });

  it('is sent nothing older either if the agent of the other cluster moves as well, and no older copy is written', async () => {
    const world = await mirroredService();
    const deliver = world.second.delayNotices();
    await world.moveService('10.0.0.2');
    const written = await world.first.store.get(clusterMapName('west', 'live'));
    const moved = Promise.all(['west', 'east'].map(world.move));
    await world.pass(2_000);
    deliver();
    expect(await moved).toEqual([{ type: 'admitted' }, { type: 'admitted' }]);
    await world.pass();
    expect(world.sent()).toEqual(['10.0.0.1', '10.0.0.2']);
    expect((await world.first.store.get(clusterMapName('west', 'live')))?.value).toEqual(written?.value);
  });

  it('is sent nothing older by a replica that served both agents, was suspended, and resumes', async () => {
    const world = await mirroredService();
    for (const cluster of ['west', 'east']) await world.move(cluster);
    await world.pass();
    const resume = world.second.freeze();
    for (const cluster of ['west', 'east']) {
      const agent = world.first.agent(cluster);
      agent.abandon();
      agent.connect(instance(cluster));
    }
    await world.moveService('10.0.0.2');
    await world.pass(20_000);
    expect(world.sent()).toEqual(['10.0.0.1', '10.0.0.2']);
    // Until it has read them, it takes both clusters for its own.
    const answer = holdReads(world.second, (key) => key.startsWith('cluster-leases/'));
    const moved = Promise.all(['west', 'east'].map(world.move));
    resume();
    await world.pass(2_000);
    answer();
    await world.pass();
    expect(await moved).toEqual([{ type: 'admitted' }, { type: 'admitted' }]);
    expect(world.sent()).toEqual(['10.0.0.1', '10.0.0.2']);
  });

  it('is sent nothing older if the other cluster was served elsewhere before this replica had released its lease', async () => {
    const world = await mirroredService();
    await world.move('west');
    await world.pass();
    const answer = holdReads(world.second, (key) => key === 'cluster-leases/west');
    world.second.agent('west').disconnect();
    world.first.agent('west').connect(instance('west'));
    await world.moveService('10.0.0.2');
    world.first.agent('west').disconnect();
    await world.pass();
    expect(world.memory.keys()).not.toContain('cluster-leases/west');
    const moved = world.move('east');
    await world.pass(2_000);
    answer();
    await world.pass();
    expect(await moved).toEqual({ type: 'admitted' });
    expect(world.sent()).toEqual(['10.0.0.1', '10.0.0.2']);
  });

  it('backs off while the replica cannot read them in time', async () => {
    const world = await mirroredService();
    const deliver = world.second.delayNotices();
    await world.moveService('10.0.0.2');
    const moved = world.move('east');
    await world.pass(6_000);
    expect(await moved).toBeUndefined();
    deliver();
    const again = world.second.agent('east').reach(instance('east'));
    await world.pass();
    expect(await again).toEqual({ type: 'admitted' });
    expect(world.sent()).toEqual(['10.0.0.1', '10.0.0.2']);
  });

  it('is served without them while the store does not answer', async () => {
    const world = await mirroredService();
    world.memory.down();
    await world.pass();
    const moved = Promise.all(['west', 'east'].map(world.move));
    await world.pass(6_000);
    expect(await moved).toEqual([{ type: 'admitted' }, { type: 'admitted' }]);
    await world.moveService('10.0.0.2');
    expect(world.sent()).toEqual(['10.0.0.1', '10.0.0.2']);
  });
});
