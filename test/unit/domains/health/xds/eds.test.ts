import { beforeEach, describe, expect, test } from 'vitest';
import { HealthStatus } from '../../../../../generated/envoy/config/core/v3/core_pb.ts';
import { createMemoryStore } from '../../../../../src/adapters/stores/memory.ts';
import { health } from '../../../../../src/domains/health/engine/health.ts';
import { clusterHealth, createFakeEnvoys, type FakeEnvoys } from '../../../../support/fake-envoys.ts';
import { createFleetWorld, type FleetWorld, shownBy } from '../../../../support/fleet-world.ts';
import { pod, service, stageLive } from '../engine/support.ts';
import { dataplaneRow, dbYaml, webYaml } from './support.ts';

const { HEALTHY, UNHEALTHY } = HealthStatus;
const healthy = clusterHealth('localhost:80', HEALTHY, '127.0.0.1');
const unhealthy = clusterHealth('localhost:80', UNHEALTHY, '127.0.0.1');
const POSTGRES = { postgres: ['10.0.0.4:5432'] };

let world: FleetWorld;
let envoys: FakeEnvoys;

async function start(given: Parameters<typeof createFleetWorld>[0] = {}, endpointsFromClusters: string[] = []) {
  envoys = createFakeEnvoys({ endpointsFromClusters });
  world = await createFleetWorld({ ...given, xds: envoys.setup });
  world.source.push({ 'db.yaml': dbYaml(), 'web.yaml': webYaml });
  await world.clock.advance(1_000);
}

const arrive = () => world.clock.advance(200);
const pushes = () => shownBy(world, 'fleetrelay_eds_pushes_total');

describe('EDS', () => {
  beforeEach(() => start());

  test('answers with the set of a service, and with nothing for one that has none', async () => {
    envoys.hds('default.db').report(healthy);
    await arrive();
    const web = envoys.ads('default.web', ['postgres', 'redis']);
    await arrive();
    expect(web.endpoints()).toEqual([{ ...POSTGRES, redis: [] }]);
    expect(dataplaneRow(world, 'web')).toMatchObject({ status: 'Online', connection: { state: 'connected' } });
  });

  test('knows the services of the mesh of the caller only', async () => {
    world.source.push({
      'other.yaml': webYaml.replace('"default"', '"other"'),
    });
    envoys.hds('default.db').report(healthy);
    await arrive();
    const web = envoys.ads('other.web', ['postgres']);
    await arrive();
    expect(web.endpoints()).toEqual([{ postgres: [] }]);
  });

  test('pushes what has changed, gathered for 100 ms, once the last response is answered', async () => {
    const db = envoys.hds('default.db');
    const web = envoys.ads('default.web', ['postgres', 'redis']);
    await arrive();
    web.answer();
    await arrive();
    db.report(healthy);
    await world.clock.advance(90);
    expect(web.endpoints()).toHaveLength(1);
    await world.clock.advance(20);
    expect(web.endpoints()).toEqual([{ postgres: [], redis: [] }, POSTGRES]);
    // The Envoy has not answered: changes are gathered until it does.
    db.report(unhealthy);
    await arrive();
    db.report(healthy);
    await arrive();
    db.report(unhealthy);
    await arrive();
    expect(web.endpoints()).toHaveLength(2);
    web.answer();
    await arrive();
    expect(web.endpoints().at(-1)).toEqual({ postgres: [] });
    expect(pushes()).toEqual({ sent: 3, accepted: 2 });
  });

  test('counts a refusal, and sends no refused endpoints again before they change', async () => {
    const db = envoys.hds('default.db');
    const web = envoys.ads('default.web', ['postgres']);
    await arrive();
    web.answer('malformed');
    await arrive();
    expect([web.endpoints().length, pushes()]).toEqual([1, { sent: 1, rejected: 1 }]);
    const connection = () => world.server.engine.reported(health)?.parts.declared.get('', 'default/web')?.connection;
    expect(connection()).toMatchObject({ state: 'connected', rejected: 'malformed' });
    db.report(healthy);
    await arrive();
    expect(web.endpoints().at(-1)).toEqual(POSTGRES);
    web.answer();
    await arrive();
    expect(connection()?.rejected).toBeUndefined();
  });

  test('answers a later request for the names that are new, and ignores answers to earlier responses', async () => {
    envoys.hds('default.db').report(healthy);
    await arrive();
    const web = envoys.ads('default.web', ['postgres']);
    await arrive();
    web.answer(undefined, ['postgres', 'redis']);
    await arrive();
    expect(web.endpoints()).toEqual([POSTGRES, { redis: [] }]);
    const [first] = web.responses();
    web.ask({ typeUrl: first?.typeUrl ?? '', resourceNames: ['x'], responseNonce: first?.nonce ?? '' });
    await arrive();
    expect(web.endpoints()).toHaveLength(2);
    // A service that is asked for again is answered again.
    web.answer(undefined, []);
    await arrive();
    web.answer(undefined, ['postgres']);
    await arrive();
    expect(web.endpoints().at(-1)).toEqual(POSTGRES);
  });

  test('answers other types of resources empty, once', async () => {
    const web = envoys.ads('default.web', []);
    await arrive();
    expect(web.responses()).toEqual([]);
    const typeUrl = 'type.googleapis.com/envoy.config.cluster.v3.Cluster';
    web.ask({ typeUrl });
    await arrive();
    web.answer(undefined, []);
    await arrive();
    expect(web.responses()).toMatchObject([{ typeUrl, resources: [] }]);
    expect(pushes()).toEqual({});
  });

  test('refuses a stream that asks for too many resources', async () => {
    const web = envoys.ads(
      'default.web',
      Array.from({ length: 2_001 }, (_, index) => `s${index}`),
    );
    await world.clock.advance(1_500);
    expect(web.end()).toMatchObject({ code: 'exhausted', reason: 'TooManyResources' });
  });

  test('leaves out a host name, which an Envoy would refuse', async () => {
    const inbound = [{ port: 80, tags: { 'kuma.io/service': 'shop' } }];
    world.source.push({
      'a.yaml': dbYaml({ address: 'db.example', inbound }, 'a'),
      'b.yaml': dbYaml({ inbound }, 'b'),
    });
    await arrive();
    const web = envoys.ads('default.web', ['shop']);
    await arrive();
    expect(web.endpoints()).toEqual([{ shop: ['10.0.0.4:80'] }]);
  });
});

test('endpoints of a cluster are included if they are configured to be', async () => {
  const live = {
    ...{ apiVersion: 'kuma.io/v1alpha1', kind: 'Dataplane', mesh: 'default' },
    metadata: { namespace: 'demo', name: 'db' },
    spec: { networking: { address: '10.1.0.1', inbound: [{ port: 5432, tags: { 'kuma.io/service': 'postgres' } }] } },
  };
  for (const [clusters, expected] of [
    [[], []],
    [['east'], ['10.1.0.1:5432']],
    [['west'], []],
  ] as const) {
    await start({}, [...clusters]);
    stageLive(world.server.engine, 'east', live);
    world.server.engine.commit();
    const web = envoys.ads('default.web', ['postgres']);
    await arrive();
    expect(web.endpoints()).toEqual([{ postgres: expected }]);
  }
});

test('what a cluster says of itself cannot break the endpoints of others', async () => {
  await start({}, ['east']);
  const inbounds = [-1, 1e9, '99999999999', 1.5, null, 70_000, 5433].map((port) => ({
    port,
    tags: { 'kuma.io/service': 'postgres', 'kuma.io/zone': '\ud800' },
  }));
  stageLive(world.server.engine, 'east', {
    ...{ apiVersion: 'kuma.io/v1alpha1', kind: 'Dataplane', mesh: 'default' },
    metadata: { namespace: 'demo', name: 'db' },
    spec: { networking: { address: '10.1.0.1', inbound: inbounds } },
  });
  for (const port of [-1, 1e9, 1.5]) {
    stageLive(
      world.server.engine,
      'east',
      service(`web${port}`, { ports: [{ port: 80, targetPort: port }, { port }] }),
    );
  }
  stageLive(world.server.engine, 'east', pod());
  world.server.engine.commit();
  envoys.hds('default.db').report(healthy);
  await arrive();
  const web = envoys.ads('default.web', ['postgres', 'web-1_demo_svc_80', 'example_demo_svc']);
  await arrive();
  expect(web.endpoints()).toEqual([
    {
      postgres: ['10.0.0.4:5432', '10.1.0.1:5433'],
      'web-1_demo_svc_80': [],
      example_demo_svc: ['10.0.0.1:49151'],
    },
  ]);
});

describe('after the loss of the store', () => {
  const lost = async (version: string) => {
    await start({ store: createMemoryStore() });
    const web = envoys.ads('default.web', ['postgres', 'redis'], version);
    await arrive();
    web.answer();
    await arrive();
    return web;
  };

  test('a reconnecting Envoy keeps the endpoints of a service until its data planes report', async () => {
    const web = await lost('0123');
    expect(web.endpoints()).toEqual([{ redis: [] }]);
    envoys.hds('default.db').report(unhealthy);
    await arrive();
    expect(web.endpoints().at(-1)).toEqual({ postgres: [] });
  });

  test('it keeps them for reportWaitSeconds at most', async () => {
    const web = await lost('0123');
    await world.clock.advance(170_000);
    expect(web.endpoints()).toHaveLength(1);
    await world.clock.advance(15_000);
    expect(web.endpoints().at(-1)).toEqual({ postgres: [] });
  });

  test('an Envoy that has just started is answered at once', async () => {
    const web = await lost('');
    expect(web.endpoints()).toEqual([{ postgres: [], redis: [] }]);
  });
});
