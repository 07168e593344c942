import { describe, expect, it } from 'vitest';
import { configMapYaml, policyYaml } from '../../support/manifests.ts';
import { createReplicaWorld, type FakeReplica, heldAt, type ReplicaWorld } from '../../support/replica-world.ts';
import { abc, base } from '../../support/started-world.ts';

/** Kills a replica at its nth write from now: before the write takes effect, or after it and before the answer. */
function killAtWrite(replica: FakeReplica, nth: number, when: 'before' | 'after'): { wasKilled(): boolean } {
  const { store } = replica;
  const { write } = store;
  let writes = 0;
  let killed = false;
  store.write = async (batch) => {
    writes += 1;
    if (writes !== nth) return write(batch);
    if (when === 'after') await write(batch);
    killed = true;
    replica.kill();
    return new Promise(() => undefined);
  };
  return { wasKilled: () => killed };
}

async function comeBack(world: ReplicaWorld): Promise<void> {
  for (let tries = 0; tries < 10; tries += 1) {
    for (const cluster of ['east', 'west']) {
      const [first] = world.replicas;
      if (first !== undefined && !first.agent(cluster).isConnected())
        first.agent(cluster).connect({ instance: cluster });
    }
    await world.pass(3_000);
  }
}

/** Something is admitted, then something is removed and something else changed; the leader dies somewhere in it. */
async function story(nth: number, when: 'before' | 'after', from: 'start' | 'change'): Promise<boolean> {
  const world = await createReplicaWorld(['a', 'b', 'c']);
  await world.pass();
  const leader = world.leader();
  let death = from === 'start' ? killAtWrite(leader, nth, when) : undefined;
  world.push({ ...base, 'policy.yaml': policyYaml(1) });
  leader.agent('east').connect({ instance: 'east' });
  await world.pass(1_000);
  world.replicas
    .find((replica) => !replica.leads())
    ?.agent('west')
    .connect({ instance: 'west' });
  await comeBack(world);
  if (from === 'change' && world.replicas.length === 3) death = killAtWrite(leader, nth, when);
  world.push({ 'apps/c.yaml': null, 'apps/a.yaml': configMapYaml('a', '2') });
  await world.pass(10_000);
  await comeBack(world);
  world.push({ 'apps/b.yaml': configMapYaml('b', '2') });
  await world.pass();
  const survivor = world.leader();
  for (const cluster of ['east', 'west']) {
    expect(heldAt(survivor, cluster), `${cluster}, ${when} write ${nth} of ${from}`).toEqual(abc.slice(0, 2));
    const removals = survivor.agent(cluster).deltas.flatMap((delta) => delta.removals);
    expect([...new Set(removals)]).toEqual([abc[2]]);
    const values = survivor
      .agent(cluster)
      .deltas.flatMap(({ upserts }) => upserts.map(({ key, value }) => [key, value.data]));
    expect(values.findLast(([key]) => key === abc[0])?.[1]).toEqual({ value: '2' });
    expect(values.findLast(([key]) => key === abc[1])?.[1]).toEqual({ value: '2' });
  }
  return death?.wasKilled() === true;
}

describe.each(['before', 'after'] as const)('a leader that is killed %s one of its writes', (when) => {
  it.each(['start', 'change'] as const)(
    'of its %s leaves a fleet that goes on, and nothing is removed without leave',
    async (from) => {
      let deaths = 0;
      // Before the third write the store holds what it holds after the second one: both halves together leave out no moment.
      for (let nth = 1; nth <= 14; nth += 2) if (await story(nth, when, from)) deaths += 1;
      expect(deaths).toBeGreaterThan(4);
    },
    60_000,
  );
});
