import { expect, it } from 'vitest';
import { createReplicaWorld, type FakeReplica } from '../../support/replica-world.ts';
import { base, names } from '../../support/started-world.ts';

interface Moment {
  readonly isStaged: boolean;
  readonly isCommitted: boolean;
  readonly reasons: readonly string[];
  /** What the hello of an agent is answered. */
  readonly hello: string;
}

/** Two replicas. The second one's commits are cut after each record, and the moment between two slices is noted. */
async function createScene() {
  const world = await createReplicaWorld(['a']);
  const moments: Moment[] = [];
  const cut: FakeReplica[] = [];
  const note = (): void => {
    for (const { world, agent } of cut) {
      const { engine, notReady } = world.server;
      moments.push({
        isStaged: engine.inputs.sources.latest('', 'main')?.read === true,
        isCommitted: engine.clusters.get('', 'east') !== undefined,
        reasons: notReady(),
        hello: agent('east').connect().type,
      });
    }
  };
  const follower = await world.add('b', {
    beginSlice: () => () => {
      queueMicrotask(note);
      return true;
    },
  });
  return { world, follower, moments, begin: () => void cut.push(follower) };
}

it('a follower is ready once what the leader has admitted is committed here, and not while it is only staged', async () => {
  const { world, follower, moments, begin } = await createScene();
  begin();
  world.push(base);
  await world.pass();
  expect(follower.leads()).toBe(false);
  const staged = moments.filter(({ isStaged, isCommitted }) => isStaged && !isCommitted);
  expect(staged.length).toBeGreaterThan(3);
  const why = ['what the sources declare is not committed yet'];
  for (const moment of staged) expect(moment).toMatchObject({ reasons: why, hello: 'retry' });
  expect(follower.world.server.notReady()).toEqual([]);
  expect(moments.filter(({ isCommitted, reasons }) => isCommitted && reasons.length > 0)).toEqual([]);
});

it('a follower that has read its own sources is not ready before the leader has admitted something', async () => {
  const { world, follower } = await createScene();
  follower.world.source.push(base);
  await world.pass();
  expect(follower.world.server.notReady()).toEqual(['what the sources declare is not committed yet']);
  expect(follower.agent('east').connect()).toMatchObject({ type: 'retry', reason: 'ServerStarting' });
  world.leader().world.source.push(base);
  await world.pass();
  expect(follower.world.server.notReady()).toEqual([]);
  expect(follower.agent('east').connect().type).toBe('admitted');
  await world.pass();
  expect(names(follower.world, 'east')).toEqual(names(world.leader().world, 'east'));
});
