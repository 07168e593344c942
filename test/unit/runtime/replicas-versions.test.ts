import { describe, expect, it } from 'vitest';
import { ENGINE_GENERATION } from '../../../src/runtime/replica/admission.ts';
import { configMapYaml } from '../../support/manifests.ts';
import { createReplicaWorld, type FakeReplica, heldAt } from '../../support/replica-world.ts';
import { abc, base } from '../../support/started-world.ts';

const [KEY_A] = abc as [string];

function dataOf(replica: FakeReplica, cluster: string, key: string): unknown {
  const upserts = replica.agent(cluster).deltas.flatMap((delta) => delta.upserts);
  return upserts.findLast((object) => object.key === key)?.value.data;
}

describe('replicas of different versions', () => {
  it('do not send at the same time', async () => {
    const world = await createReplicaWorld(['a']);
    world.push(base);
    await world.pass();
    const old = world.leader();
    const young = await world.add('b', { engine: ENGINE_GENERATION + 1 });
    young.world.source.push(base);
    old.agent('east').connect();
    young.agent('west').connect();
    await world.pass();
    expect(heldAt(old, 'east')).toEqual(abc);
    expect(young.agent('west').deltas).toEqual([]);
    expect(young.world.server.api.clusters().find(({ name }) => name === 'west')?.problem).toMatch(/^OtherGeneration/);
    old.kill();
    await world.pass(20_000);
    expect(young.leads()).toBe(true);
    expect(heldAt(young, 'west')).toEqual(abc);
    const older = await world.add('c', { engine: ENGINE_GENERATION });
    older.agent('east').connect();
    world.push({ 'apps/a.yaml': configMapYaml('a', '2') });
    await world.pass();
    expect(older.agent('east').deltas).toHaveLength(1);
    expect(dataOf(young, 'west', KEY_A)).toEqual({ value: '2' });
  });

  it('do not go on from what another version has made of the files: the new leader reads them as its own does', async () => {
    const world = await createReplicaWorld(['a']);
    world.push(base);
    await world.pass();
    const old = world.leader();
    const understands = (text: string): string => text.replace('value: "1"', 'value: "one"');
    const addYoung = async (id: string): Promise<FakeReplica> => {
      const young = await world.add(id, { engine: ENGINE_GENERATION + 1 });
      young.world.source.understands = understands;
      return young;
    };
    const young = await addYoung('b');
    young.world.source.push(base);
    // It is slow to say that what it has read is what is there.
    let look = (): void => undefined;
    young.world.source.onLook = () =>
      new Promise((resolve) => {
        look = resolve;
      });
    young.agent('west').connect({ instance: 'west' });
    old.kill();
    await world.pass(20_000);
    expect(young.leads()).toBe(true);
    look();
    await world.pass();
    expect(dataOf(young, 'west', KEY_A)).toEqual({ value: 'one' });
    const late = await addYoung('c');
    late.agent('east').connect({ instance: 'east' });
    await world.pass();
    expect(dataOf(late, 'east', KEY_A)).toEqual({ value: 'one' });
  });
});
