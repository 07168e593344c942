import { expect, it } from 'vitest';
import { canonicalJson, type JsonValue } from '../../../src/model/text/json.ts';
import { configMapYaml, placementYaml } from '../../support/manifests.ts';
import { discoverOne, kindsOf, liveService, liveSlice, mirrorYaml } from '../../support/mirrors.ts';
import { createReplicaWorld, type FakeReplica } from '../../support/replica-world.ts';
import { base } from '../../support/started-world.ts';

const SOURCES = ['main', 'other'];
const all = 'selector: {}';

/** The outputs that a replica has computed for every cluster, also for those that another replica serves. */
function outputsOf({ world: { server } }: FakeReplica): string {
  const { outputs } = server.engine;
  const ofCluster = (cluster: string): JsonValue =>
    Object.fromEntries([...outputs.entries(cluster)].map(({ key, value }) => [key, value])) as unknown as JsonValue;
  return canonicalJson(Object.fromEntries([...outputs.partitions()].map((cluster) => [cluster, ofCluster(cluster)])));
}

it('every replica computes the same bytes: contenders, what reads other clusters, what cannot be read, whenever it came', async () => {
  const world = await createReplicaWorld([]);
  const first = await world.add('a', { sources: SOURCES });
  const second = await world.add('b', { sources: SOURCES });
  const push = (name: string, changes: Readonly<Record<string, string | null>>): void => {
    for (const replica of world.replicas) replica.world.sourceNamed(name).push(changes);
  };
  const same = async (): Promise<string> => {
    await world.pass(10_000);
    const [one, ...more] = world.replicas.map(outputsOf);
    for (const other of more) expect(other).toBe(one);
    return one ?? '';
  };
  push('other', {
    'other/a.yaml': configMapYaml('a', 'other'),
    'p.yaml': placementYaml('others', 'other/**'),
    'm.yaml': mirrorYaml('both', all, all),
  });
  push('main', base);
  await world.pass();
  first.agent('east').connect({ instance: 'east' });
  second.agent('west').connect({ instance: 'west' });
  await world.pass();
  discoverOne(second.world, 'west', 'west-shop');
  discoverOne(first.world, 'east', 'shop');
  expect(await same()).toMatch(/shop.*west-shop/s);

  // Not readable any more, in one cluster; changed, in the other; a broken file, and one that is gone.
  second.agent('west').discovers({ kinds: kindsOf({ slice: 'unknown' }) });
  first.agent('east').discovers({ upserts: [liveService('bar'), liveSlice('bar', ['10.0.0.2', '10.0.0.1'])] });
  push('main', { 'apps/b.yaml': 'a: [', 'apps/c.yaml': null });
  const before = await same();
  expect(before).toContain('"keep"');

  await world.add('c', { sources: SOURCES });
  expect(await same()).toBe(before);
  first.kill();
  const [survivor] = world.replicas;
  await world.pass(20_000);
  survivor?.agent('east').connect({ instance: 'east' });
  await same();
});
