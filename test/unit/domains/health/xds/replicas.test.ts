import { beforeEach, expect, test } from 'vitest';
import { HealthStatus } from '../../../../../generated/envoy/config/core/v3/core_pb.ts';
import { clusterHealth, createFakeEnvoys, type FakeEnvoys } from '../../../../support/fake-envoys.ts';
import { createReplicaWorld, type FakeReplica, type ReplicaWorld } from '../../../../support/replica-world.ts';
import { dataplaneRow, dbYaml, endpointsAt, stateOf, webYaml } from './support.ts';

const { HEALTHY, UNHEALTHY } = HealthStatus;
const healthy = clusterHealth('localhost:80', HEALTHY, '127.0.0.1');
const unhealthy = clusterHealth('localhost:80', UNHEALTHY, '127.0.0.1');

let world: ReplicaWorld;
const envoysAt = new Map<string, FakeEnvoys>();

async function add(id: string): Promise<FakeReplica> {
  const envoys = createFakeEnvoys();
  envoysAt.set(id, envoys);
  return world.add(id, { xds: envoys.setup });
}

beforeEach(async () => {
  world = await createReplicaWorld([]);
  for (const id of ['a', 'b']) await add(id);
  world.push({ 'db.yaml': dbYaml(), 'web.yaml': webYaml });
  await world.pass();
});

const at = (id: string): FakeEnvoys => envoysAt.get(id) ?? createFakeEnvoys();
const states = () => world.replicas.map((replica) => stateOf(replica.world, 'db'));
const sets = () => world.replicas.map((replica) => endpointsAt(replica.world));
const SET = ['10.0.0.4:5432'];

test('every replica knows the reports and connections of all', async () => {
  const db = at('a').hds('default.db');
  const web = at('b').ads('default.web', ['postgres']);
  await world.pass();
  web.answer();
  db.report(healthy);
  await world.pass();
  expect([states(), sets()]).toEqual([
    ['connected', 'connected'],
    [SET, SET],
  ]);
  expect(web.endpoints().at(-1)).toEqual({ postgres: SET });
  db.break();
  await world.pass();
  expect([states(), sets()]).toEqual([
    ['disconnected', 'disconnected'],
    [SET, SET],
  ]);
});

test('a data plane is connected as long as one replica has a stream; the newest stream counts', async () => {
  const old = at('a').hds('default.db');
  old.report(healthy);
  await world.pass();
  const newest = at('b').hds('default.db');
  await world.pass();
  newest.report(unhealthy);
  await world.pass();
  expect(sets()).toEqual([[], []]);
  old.report(healthy);
  await world.pass();
  expect(sets()).toEqual([[], []]);
  newest.break();
  await world.pass();
  expect(states()).toEqual(['connected', 'connected']);
  old.break();
  await world.pass();
  expect(states()).toEqual(['disconnected', 'disconnected']);
});

test.each(['older', 'newer'])(
  'the newest stream counts if the report of the %s one is written first',
  async (first) => {
    const old = at('a').hds('default.db');
    await world.pass();
    const newest = at('b').hds('default.db');
    await world.pass();
    // Neither replica knows the report of the other one yet.
    if (first === 'newer') newest.report(unhealthy);
    old.report(healthy);
    if (first === 'older') newest.report(unhealthy);
    await world.pass();
    expect(sets()).toEqual([[], []]);
    await add('c');
    await world.pass();
    expect(sets()).toEqual([[], [], []]);
  },
);

test('a replica that is killed has 30 s until its data planes are disconnected', async () => {
  const leader = world.leader();
  const [follower] = world.followers();
  at(leader.id).hds('default.db').report(healthy);
  await world.pass();
  leader.kill();
  await world.pass(30_000);
  expect([states(), sets()]).toEqual([['connected'], [SET]]);
  await world.pass(25_000);
  expect([follower?.leads(), states(), sets()]).toEqual([true, ['disconnected'], [SET]]);
  at(follower?.id ?? '').hds('default.db');
  await world.pass();
  expect(states()).toEqual(['connected']);
});

test('an Envoy that comes back to another replica was connected all the time', async () => {
  const leader = world.leader();
  const [follower] = world.followers();
  at(leader.id).hds('default.db').report(healthy);
  await world.pass();
  const before = world.replicas.map((replica) => dataplaneRow(replica.world, 'db'))[0];
  leader.kill();
  await world.pass();
  at(follower?.id ?? '').hds('default.db');
  await world.pass(60_000);
  expect(follower && dataplaneRow(follower.world, 'db')).toEqual(before);
});

test('a store that was emptied has all of it again', async () => {
  at('a').hds('default.db').report(healthy);
  await world.pass();
  world.memory.lose();
  await world.pass(10_000);
  expect(world.memory.keys().filter((key) => key.startsWith('dataplane-'))).toEqual([
    'dataplane-reports/default/db',
    'dataplane-streams/default/db',
  ]);
  const third = await add('c');
  await world.pass();
  expect([states(), sets(), third.leads()]).toEqual([['connected', 'connected', 'connected'], [SET, SET, SET], false]);
});

test('a replica that has only read the reports writes them to a store that was emptied', async () => {
  const leader = world.leader();
  const [reader] = world.followers();
  at(leader.id).hds('default.db').report(healthy);
  await world.pass();
  leader.kill();
  await world.pass();
  world.memory.lose();
  await world.pass(40_000);
  expect(world.memory.keys()).toContain('dataplane-reports/default/db');
  await add('c');
  await world.pass();
  expect([reader?.leads(), sets()]).toEqual([true, [SET, SET]]);
});
