import { beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../../src/model/text/json.ts';
import { createEngineWorld } from '../../../../support/engine-world.ts';
import { dataplaneYaml, inbound, rowsOf } from './support.ts';

/** Declared data planes, over several commits of one engine. */

let world: ReturnType<typeof createEngineWorld>;
beforeEach(() => {
  world = createEngineWorld();
});

function declare(name: string, networking: JsonObject, mesh = 'default'): void {
  world.file(`dataplanes/${mesh}/${name}.yaml`, dataplaneYaml({ mesh, name, networking }));
}

function connect(name: string, connected = true, mesh = 'default'): void {
  world.engine.domainInputs.health?.connections?.set('', `${mesh}/${name}`, { connected, since: 1_767_603_600_000 });
}

function report(name: string, envoyHealthy: boolean, workloads: JsonObject, envoySince = 1_767_603_660_000): void {
  world.engine.domainInputs.health?.reports?.set('', `default/${name}`, { envoyHealthy, envoySince, workloads });
}

function rows(view: string): readonly JsonObject[] {
  world.engine.commit();
  return rowsOf(world.engine, view);
}

describe('declared data planes', () => {
  it('have the rows that people and programs read', () => {
    declare('db-07', {
      address: '10.0.0.4',
      inbound: [
        inbound('postgres', 5432, { health: { ready: false } }),
        inbound('metrics', 9090, { tags: { 'kuma.io/service': 'metrics', 'kuma.io/zone': 'east' } }),
      ],
    });
    connect('db-07');
    const notes = ['inbound[port=5432,svc=postgres] is not ready'];
    expect(rows('dataplanes')).toEqual([
      {
        mesh: 'default',
        name: 'db-07',
        status: 'Partially degraded',
        notes,
        connection: { state: 'connected', since: '2026-01-05T09:00:00Z' },
      },
    ]);
    expect(rows('services')).toEqual([
      {
        ...{ mesh: 'default', name: 'metrics', status: 'offline', serviceType: 'internal' },
        dataplanes: { total: 1, online: 0, offline: 1 },
        endpoints: { ready: 1, total: 1 },
        zones: ['east'],
      },
      {
        ...{ mesh: 'default', name: 'postgres', status: 'offline', serviceType: 'internal' },
        dataplanes: { total: 1, online: 0, offline: 1 },
        endpoints: { ready: 0, total: 1 },
        zones: [],
      },
    ]);
    expect(rows('endpoints')).toEqual([
      { mesh: 'default', service: 'metrics', address: '10.0.0.4', port: 9090, weight: 1, zone: 'east' },
    ]);
  });

  it('are never connected before a stream was seen, and stay in the set', () => {
    declare('a', { address: '10.0.0.1', inbound: [inbound('web', 80)] });
    expect(rows('dataplanes')).toMatchObject([{ status: 'Offline', notes: [], connection: { state: 'never' } }]);
    expect(rows('endpoints')).toHaveLength(1);
    connect('a', false);
    expect(rows('dataplanes')).toMatchObject([{ status: 'Offline', connection: { state: 'disconnected' } }]);
    expect(rows('endpoints')).toHaveLength(1);
  });

  it('with the name of one of Kubernetes are one data plane, and the first counts', () => {
    declare('web.shop', { address: '10.0.0.1', inbound: [inbound('universal', 80)] });
    world.file(
      'web.yaml',
      'apiVersion: kuma.io/v1alpha1\nkind: Dataplane\nmesh: default\nmetadata: {name: web, namespace: shop}\n' +
        'spec: {networking: {address: 10.0.0.2, inbound: [{port: 81, tags: {kuma.io/service: kubernetes}}]}}\n',
    );
    expect(rows('services').map(({ name }) => name)).toEqual(['kubernetes']);
    world.file('web.yaml', null);
    expect(rows('services').map(({ name }) => name)).toEqual(['universal']);
    expect(world.engine.derived.flatMap(({ failures }) => [...failures.partitions()])).toEqual([]);
  });

  it('go by the reports of their Envoy', () => {
    declare('a', {
      address: '10.0.0.1',
      inbound: [inbound('web', 80, { serviceProbe: { tcp: {} } }), inbound('api', 81)],
    });
    connect('a');
    const services = () => rows('endpoints').map(({ service }) => service);
    expect(services()).toEqual(['api']);
    report('a', true, { '10.0.0.1:80': true });
    expect(services()).toEqual(['api', 'web']);
    expect(rows('dataplanes')).toMatchObject([{ status: 'Online' }]);
    report('a', false, { '10.0.0.1:80': true });
    expect(services()).toEqual([]);
    expect(rows('dataplanes')).toMatchObject([
      { status: 'Offline', connection: { state: 'draining', since: '2026-01-05T09:01:00Z' } },
    ]);
    // The last report holds after the stream has ended.
    connect('a', false);
    expect(services()).toEqual([]);
    expect(rows('dataplanes')).toMatchObject([{ connection: { state: 'disconnected' } }]);
  });

  it('whose report is older than their stream drain since the stream began', () => {
    declare('a', { address: '10.0.0.1', inbound: [inbound('web', 80)] });
    connect('a');
    report('a', false, {}, 0);
    expect(rows('dataplanes')).toMatchObject([{ connection: { state: 'draining', since: '2026-01-05T09:00:00Z' } }]);
  });
});

describe('services', () => {
  it('count data planes, and one that is partially degraded is not online', () => {
    declare('dp1', { address: '10.0.0.1', inbound: [inbound('web', 80)] });
    declare('dp2', { address: '10.0.0.2', inbound: [inbound('web', 80), inbound('api', 81)] });
    declare('dp3', { address: '10.0.0.3', inbound: [inbound('web', 80), inbound('api', 81, { health: {} })] });
    declare('dp4', { address: '10.0.0.4', inbound: [inbound('web', 80)] });
    for (const name of ['dp1', 'dp2', 'dp3']) connect(name);
    connect('dp4', false);
    expect(rows('dataplanes').map(({ status }) => status)).toEqual([
      ...['Online', 'Online', 'Partially degraded', 'Offline'],
    ]);
    expect(rows('services')).toMatchObject([
      { name: 'api', status: 'partially_degraded', dataplanes: { total: 2, online: 1, offline: 1 } },
      { name: 'web', status: 'partially_degraded', dataplanes: { total: 4, online: 2, offline: 2 } },
    ]);
  });

  it('count a data plane once, and each of its inbounds', () => {
    declare('a', { address: '10.0.0.1', inbound: [inbound('web', 80), inbound('web', 81, { health: {} })] });
    connect('a');
    expect(rows('services')).toMatchObject([
      { dataplanes: { total: 1, online: 0, offline: 1 }, endpoints: { ready: 1, total: 2 } },
    ]);
  });

  it('are online if all their data planes are, per mesh', () => {
    declare('a', { address: '10.0.0.1', inbound: [inbound('web', 80)] });
    declare('a', { address: '10.0.0.1', inbound: [inbound('web', 80)] }, 'other');
    connect('a');
    expect(rows('services')).toMatchObject([
      { mesh: 'default', name: 'web', status: 'online' },
      { mesh: 'other', name: 'web', status: 'offline' },
    ]);
  });

  it('have endpoints in the zone of their label, in both forms, unless a tag names one', () => {
    const spec = { networking: { address: '10.0.0.1', inbound: [inbound('web', 80)] } };
    const tagged = inbound('web', 81, { tags: { 'kuma.io/service': 'web', 'kuma.io/zone': 'own' } });
    const labels = { 'kuma.io/zone': 'west' };
    world.file('a.yaml', JSON.stringify({ type: 'Dataplane', mesh: 'default', name: 'a', labels, ...spec }));
    const metadata = { name: 'b', namespace: 'shop', labels };
    const object = { apiVersion: 'kuma.io/v1alpha1', kind: 'Dataplane', metadata, spec };
    world.file('b.yaml', JSON.stringify(object));
    declare('c', { address: '10.0.0.1', inbound: [tagged, inbound('web', 82)] });
    expect(rows('endpoints').map(({ port, zone }) => [port, zone])).toEqual([
      [80, 'west'],
      [80, 'west'],
      [81, 'own'],
      [82, undefined],
    ]);
  });

  it('name the zones of their inbounds, each once and sorted', () => {
    const inZone = (zone: string) => ({ tags: { 'kuma.io/service': 'backend', 'kuma.io/zone': zone } });
    for (const [name, zone] of [
      ['a', 'west'],
      ['b', 'east'],
      ['c', 'west'],
    ] as const) {
      declare(name, { address: '10.0.0.1', inbound: [inbound('backend', 80, inZone(zone)), inbound('web', 81)] });
    }
    expect(rows('services').map(({ name, zones }) => [name, zones])).toEqual([
      ['backend', ['east', 'west']],
      ['web', []],
    ]);
    world.file('dataplanes/default/b.yaml', null);
    expect(rows('services')[0]?.zones).toEqual(['west']);
  });

  it('have the type of their data planes; if there are several, of the first data plane', () => {
    const gateway = (type: string) => ({ address: '10.0.0.1', gateway: { type, tags: { 'kuma.io/service': 'edge' } } });
    const types = () => rows('services').map(({ serviceType, endpoints }) => [serviceType, endpoints]);
    declare('m', gateway('DELEGATED'));
    expect(types()).toEqual([['gateway_delegated', { ready: 0, total: 0 }]]);
    declare('b', gateway('BUILTIN'));
    expect(types()).toEqual([['gateway_builtin', { ready: 0, total: 0 }]]);
    declare('a', { address: '10.0.0.1', inbound: [inbound('edge', 80)] });
    expect(types()).toEqual([['internal', { ready: 1, total: 1 }]]);
  });

  it('without a name are none, and their inbounds are in no set', () => {
    declare('a', { address: '10.0.0.1', inbound: [{ port: 80 }] });
    connect('a');
    expect(rows('services')).toEqual([]);
    expect(rows('endpoints')).toEqual([]);
    expect(rows('dataplanes')).toMatchObject([{ status: 'Online' }]);
  });

  it('are gone with their last data plane', () => {
    declare('a', { address: '10.0.0.1', inbound: [inbound('web', 80)] });
    expect(rows('services')).toHaveLength(1);
    world.file('dataplanes/default/a.yaml', null);
    expect([rows('services'), rows('dataplanes'), rows('endpoints')]).toEqual([[], [], []]);
  });
});

describe('the load-balancing set', () => {
  it('has the inbounds that are neither out by state nor by health', () => {
    const states: readonly JsonObject[] = [
      {},
      { health: { ready: true } },
      { state: 'Ready' },
      { health: { ready: false } },
      { state: 'NotReady' },
      { state: 'Ignored' },
    ];
    declare('a', { address: '10.0.0.1', inbound: states.map((state, at) => inbound('web', 80 + at, state)) });
    expect(rows('endpoints').map(({ port }) => port)).toEqual([80, 81, 82]);
    expect(rows('services')).toMatchObject([{ endpoints: { ready: 3, total: 5 } }]);
  });

  it('is ordered by mesh, service, data plane and position of the inbound', () => {
    declare('b', { address: '10.0.0.2', inbound: [inbound('web', 90), inbound('web', 80), inbound('api', 70)] });
    declare('a', { address: '10.0.0.1', inbound: [inbound('web', 95)] });
    declare('a.b', { address: '10.0.0.3', inbound: [inbound('web', 94)] });
    declare('z', { address: '10.0.0.4', inbound: [inbound('web', 93)] }, 'alpha');
    expect(rows('endpoints').map(({ mesh, service, port }) => [mesh, service, port])).toEqual([
      ['alpha', 'web', 93],
      ['default', 'api', 70],
      ['default', 'web', 95],
      ['default', 'web', 94],
      ['default', 'web', 90],
      ['default', 'web', 80],
    ]);
  });

  it('has no inbound that is not ready', () => {
    declare('dp1', { address: '192.168.0.1', inbound: [inbound('redis', 6379)] });
    declare('dp2', { address: '192.168.0.2', inbound: [inbound('redis', 6379, { health: { ready: false } })] });
    expect(rows('endpoints')).toEqual([
      { mesh: 'default', service: 'redis', address: '192.168.0.1', port: 6379, weight: 1 },
    ]);
  });

  it('keeps the order of many inbounds', () => {
    const ports = Array.from({ length: 12 }, (_none, at) => 80 + at);
    declare('a', { address: '10.0.0.1', inbound: ports.map((port) => inbound('web', port)) });
    expect(rows('endpoints').map(({ port }) => port)).toEqual(ports);
  });

  it("has the advertised address, else the inbound's, else the data plane's", () => {
    declare('a', {
      address: '10.0.0.1',
      advertisedAddress: '192.0.2.1',
      inbound: [inbound('a', 80, { address: '10.0.0.9' })],
    });
    declare('b', { address: '10.0.0.1', inbound: [inbound('b', 80, { address: '10.0.0.9' })] });
    declare('c', { address: '10.0.0.1', inbound: [inbound('c', 80)] });
    expect(rows('endpoints').map(({ address }) => address)).toEqual(['192.0.2.1', '10.0.0.9', '10.0.0.1']);
  });
});
