import { expect, it } from 'vitest';
import { parseJsonBytes } from '../../../src/model/text/json.ts';
import { recordKey } from '../../../src/runtime/ledger/records.ts';
import { configMapYaml, policyYaml } from '../../support/manifests.ts';
import { createReplicaWorld, heldAt } from '../../support/replica-world.ts';
import { base, typo } from '../../support/started-world.ts';

const X = '/ConfigMap/web/x';
const x = { 'clusters/east/x.yaml': configMapYaml('x', '1') };

it('a replica that has missed a contender of an object, and leads next, waits for the proof of the contender as well', async () => {
  const sources = ['main', 'extra'];
  const world = await createReplicaWorld([]);
  for (const id of ['a', 'b']) await world.add(id, { sources });
  const extra = (changes: Readonly<Record<string, string | null>>): void => {
    for (const replica of world.replicas) replica.world.sourceNamed('extra').push(changes);
  };
  world.push({ ...base, ...x });
  extra(x);
  await world.pass();
  const [leader, [follower]] = [world.leader(), world.followers()];
  if (follower === undefined) throw new Error('there is no follower');
  leader.agent('east').connect({ instance: 'east' });
  await world.pass();
  // Its agent is told that one source wants the object, and goes.
  extra({ 'clusters/east/x.yaml': null });
  await world.pass();
  leader.agent('east').disconnect();
  await world.pass();
  const remembered = (): readonly string[] => world.memory.keys().filter((key) => key.startsWith('contenders/'));
  expect(remembered()).toEqual([]);
  follower.deafen();
  // It looks once a second, and sees only what is admitted last.
  leader.world.sourceNamed('extra').push(x);
  await world.pass(200);
  extra({ 'clusters/east/x.yaml': typo });
  await world.pass(2_000);
  expect(remembered()).toEqual([`contenders/east/${X}`]);
  leader.kill();
  await world.pass(30_000);
  expect(follower.leads()).toBe(true);
  expect(remembered()).toEqual([`contenders/east/${X}`]);
  follower.agent('east').connect({ instance: 'east' });
  world.push({ 'clusters/east/x.yaml': null });
  await world.pass();
  expect(heldAt(follower, 'east')).toContain(X);
});

it('a replica that has missed a declaration, and leads next, does not write an older one over it', async () => {
  const world = await createReplicaWorld();
  world.push({ ...base, 'fleet/policy.yaml': policyYaml(100) });
  await world.pass();
  const [leader, [follower]] = [world.leader(), world.followers()];
  if (follower === undefined) throw new Error('there is no follower');
  const remembered = async (): Promise<unknown> =>
    parseJsonBytes((await follower.store.get(recordKey.declared('FleetPolicy', '')))?.value ?? new Uint8Array());
  const limits = (most: number) => ({ value: { guards: { maxRemovalsPerCluster: most } } });
  expect(await remembered()).toMatchObject(limits(100));
  follower.deafen();
  leader.world.source.push({ 'fleet/policy.yaml': policyYaml(1) });
  await world.pass(200);
  world.push({ 'fleet/policy.yaml': typo });
  await world.pass(2_000);
  expect(await remembered()).toMatchObject(limits(1));
  leader.kill();
  await world.pass(30_000);
  expect(follower.leads()).toBe(true);
  expect(await remembered()).toMatchObject(limits(1));
});
