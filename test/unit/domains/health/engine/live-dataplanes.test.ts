import { beforeEach, describe, expect, it } from 'vitest';
import { engineDiagnostics } from '../../../../../src/engine/status/diagnostics.ts';
import type { JsonObject, JsonValue } from '../../../../../src/model/text/json.ts';
import { createEngineWorld } from '../../../../support/engine-world.ts';
import { inbound, pod, removeLive, rowsOf, service, stageLive } from './support.ts';

/** Live Dataplanes of Kuma and their insights. */

const C = 'east';
let world: ReturnType<typeof createEngineWorld>;
beforeEach(() => {
  world = createEngineWorld();
});

function live(...objects: readonly JsonObject[]): void {
  for (const object of objects) stageLive(world.engine, C, object);
}

function rows(view: string): readonly JsonObject[] {
  world.engine.commit();
  return rowsOf(world.engine, view);
}

function dataplane(networking: JsonValue, more: JsonObject = {}): JsonObject {
  return {
    ...{ apiVersion: 'kuma.io/v1alpha1', kind: 'Dataplane', mesh: 'default' },
    metadata: { name: 'example', namespace: 'demo', ownerReferences: [{ kind: 'Pod', name: 'example' }] },
    spec: { networking },
    ...more,
  };
}

function insight(subscriptions: JsonValue): JsonObject {
  return {
    ...{ apiVersion: 'kuma.io/v1alpha1', kind: 'DataplaneInsight', mesh: 'default' },
    metadata: { name: 'example', namespace: 'demo' },
    status: { subscriptions },
  };
}

const networking = { address: '10.0.0.9', inbound: [inbound('kuma', 8080, { health: { ready: true } })] };
const T = (seconds: number) => `2026-01-05T09:00:0${seconds}Z`;

describe('a live Dataplane', () => {
  it('replaces the data plane of the Pod with its name, until it is gone', () => {
    const services = () => rows('services').map(({ name }) => name);
    live(pod(), service('web', {}));
    expect(services()).toEqual(['web_demo_svc_80']);
    live(dataplane(networking));
    expect(services()).toEqual(['kuma']);
    expect(rows('dataplanes')).toEqual([
      {
        ...{ mesh: 'default', name: 'example.demo', cluster: C, status: 'Offline', notes: [] },
        connection: { state: 'never' },
      },
    ]);
    removeLive(world.engine, C, dataplane(networking));
    expect(services()).toEqual(['web_demo_svc_80']);
  });

  it('has only the zone of its tag without a label', () => {
    const zoned = { tags: { 'kuma.io/service': 'b', 'kuma.io/zone': 'zone-2' } };
    live(dataplane({ address: '10.0.0.9', inbound: [inbound('a', 80), inbound('b', 81, zoned)] }));
    expect(rows('endpoints').map(({ zone }) => zone)).toEqual([undefined, 'zone-2']);
  });

  it('has the zone of its label where no tag names one, and its services do not', () => {
    const zoned = (tags: JsonObject) => ({ tags: { 'kuma.io/service': 'b', ...tags } });
    const inbounds = [inbound('a', 80), inbound('b', 81, zoned({ 'kuma.io/zone': 'own' })), { port: 82, ...zoned({}) }];
    const labelled = (labels: JsonObject) =>
      dataplane(
        { address: '10.0.0.9', inbound: inbounds },
        { metadata: { name: 'example', namespace: 'demo', labels } },
      );
    live(labelled({ 'kuma.io/zone': 'west' }));
    expect(rows('endpoints').map(({ zone }) => zone)).toEqual(['west', 'own', 'west']);
    expect(rows('services').map(({ zones }) => zones)).toEqual([[], ['own']]);
    live(labelled({ 'kuma.io/zone': 'north' }));
    expect(rows('endpoints').map(({ zone }) => zone)).toEqual(['north', 'own', 'north']);
  });

  it('is taken as written: health and state of the inbound count, in both spellings of names', () => {
    live(
      dataplane({
        address: '10.0.0.9',
        advertised_address: '192.0.2.1',
        inbound: [
          inbound('a', 80, { health: {} }),
          inbound('b', 81, { state: 1 }),
          inbound('c', 82, { serviceProbe: {} }),
          inbound('d', 83, { state: 'Ignored', health: {} }),
        ],
      }),
    );
    expect(rows('endpoints')).toMatchObject([{ service: 'c', address: '192.0.2.1' }]);
    expect(rows('services').map(({ name }) => name)).toEqual(['a', 'b', 'c']);
  });

  it.each<[string, JsonValue, JsonObject]>([
    ['without subscription', [], { state: 'never' }],
    ['with an open subscription', [{ connectTime: T(1) }], { state: 'connected', since: T(1) }],
    ['with a closed one', [{ connectTime: T(1), disconnectTime: T(2) }], { state: 'disconnected', since: T(2) }],
    [
      'with an open one before a closed one',
      [{ connectTime: T(1) }, { connectTime: T(2), disconnectTime: T(3) }],
      { state: 'connected', since: T(1) },
    ],
    [
      'with several closed ones',
      [
        { connectTime: T(1), disconnectTime: T(5) },
        { connectTime: T(2), disconnectTime: T(3) },
      ],
      { state: 'disconnected', since: T(5) },
    ],
    [
      'with null as the time of its end',
      [{ connectTime: T(1), disconnectTime: null }],
      { state: 'connected', since: T(1) },
    ],
    ['with a time that is none', [{ connectTime: 'soon' }], { state: 'connected' }],
    ['with values of wrong types', [7, { connectTime: {} }, null], { state: 'never' }],
    ['with subscriptions that are no list', 'all', { state: 'never' }],
  ])('%s', (_what, subscriptions, connection) => {
    live(dataplane(networking), insight(subscriptions));
    expect(rows('dataplanes')[0]?.connection).toEqual(connection);
  });

  it('drains while its Pod is to be deleted', () => {
    live(dataplane(networking), insight([{ connectTime: T(1) }]));
    live(pod({ metadata: { deletionTimestamp: T(9), deletionGracePeriodSeconds: 5 } }));
    expect(rows('dataplanes')).toMatchObject([{ status: 'Online', connection: { state: 'draining', since: T(4) } }]);
    // It is taken as written.
    expect(rows('endpoints')).toHaveLength(1);
  });

  it('that cannot be read is a warning, and the Pod counts', () => {
    for (const wrong of [undefined, null, [], 'text']) {
      live(pod(), dataplane(networking, { spec: wrong === undefined ? null : { networking: wrong } }));
      expect(rows('services').map(({ name }) => name)).toEqual(['example_demo_svc']);
      expect(engineDiagnostics(world.engine)).toMatchObject([
        {
          ...{ severity: 'warning', reason: 'UnreadableDataplane', at: [] },
          message: 'Dataplane.kuma.io/demo/example of cluster east has no networking: it is no data plane',
        },
      ]);
    }
  });

  it('of any content makes nothing fail', () => {
    const odd: readonly JsonValue[] = [{}, { inbound: 7 }, { inbound: [null] }];
    for (const networking of [
      ...odd,
      { gateway: 'x', listeners: [{ type: 9 }] },
      {
        address: '10.0.0.9',
        inbound: [{ port: 80, tags: { 'kuma.io/service': 'a\u0000set', 'kuma.io/zone': '\u0000' } }],
      },
    ]) {
      live(dataplane(networking, { mesh: 'x\u0000online' }));
      rows('dataplanes');
      expect(rows('services').length).toBeLessThan(2);
      expect(engineDiagnostics(world.engine)).toEqual([]);
    }
  });

  it.each<[string, JsonObject, string]>([
    ['a negative port', { port: -1 }, 'has no port from 1 to 65535'],
    ['a port beyond the range', { port: 1e9 }, 'has no port from 1 to 65535'],
    ['a port as text beyond the range', { port: '99999999999999999999' }, 'has no port from 1 to 65535'],
    ['no port', { port: null }, 'has no port from 1 to 65535'],
    ['a port that is no integer', { port: 1.5 }, 'has no port from 1 to 65535'],
    ['an address that is none', { address: 'x y' }, 'has no valid address'],
    ['a very long address', { address: 'a'.repeat(100_000) }, 'has no valid address'],
  ])('leaves out an inbound with %s, and says so', (_what, wrong, problem) => {
    const broken = inbound('kuma', 8081, wrong);
    live(dataplane({ address: '10.0.0.9', inbound: [broken, inbound('kuma', 8080), broken] }));
    expect(rows('endpoints')).toMatchObject([{ address: '10.0.0.9', port: 8080 }]);
    expect(rows('services')).toMatchObject([{ endpoints: { ready: 1, total: 1 } }]);
    expect(engineDiagnostics(world.engine).map(({ reason, message }) => `${reason}: ${message}`)).toEqual([
      `UnreadableDataplane: Dataplane.kuma.io/demo/example of cluster east: inbound 0 ${problem}; 1 more: it counts nowhere`,
    ]);
  });

  it('without an address has no inbound that counts', () => {
    live(dataplane({ inbound: [inbound('kuma', 8080)] }));
    expect(rows('endpoints')).toEqual([]);
    expect(engineDiagnostics(world.engine)).toMatchObject([{ reason: 'UnreadableDataplane' }]);
  });

  it('has at most 1,000 inbounds', () => {
    const many = Array.from({ length: 20_000 }, (_, at) => inbound('kuma', at + 1));
    live(dataplane({ address: '10.0.0.9', inbound: many }));
    expect(rows('endpoints')).toHaveLength(1_000);
    expect(engineDiagnostics(world.engine)).toMatchObject([
      { message: expect.stringContaining('it has 20000 inbounds: only the first 1000 count') },
    ]);
  });

  it('that is declared, too, and that no Pod owns is the declared one', () => {
    const metadata = { name: 'example', namespace: 'demo' };
    const own = dataplane(networking, { metadata });
    world.file('dp.yaml', JSON.stringify(own));
    live(own);
    expect(rows('dataplanes')).toHaveLength(1);
    expect(rows('dataplanes')[0]).not.toHaveProperty('cluster');
    world.file('dp.yaml', null);
    expect(rows('dataplanes')).toMatchObject([{ cluster: C }]);
    // What a Pod owns is a data plane of its own.
    world.file('dp.yaml', JSON.stringify(own));
    live(dataplane(networking));
    expect(rows('dataplanes').map(({ cluster }) => cluster)).toEqual([undefined, C]);
  });

  it('is never counted with a service whose name is a part of its own', () => {
    live(
      dataplane({
        address: '10.0.0.9',
        inbound: ['a', 'a\u0000set', 'a\u0000online'].map((name, at) => inbound(name, 80 + at, { health: {} })),
      }),
    );
    expect(rows('services')).toMatchObject([
      { name: 'a', dataplanes: { total: 1, online: 0 }, endpoints: { ready: 0, total: 1 } },
      { name: 'aonline', endpoints: { ready: 0, total: 1 } },
      { name: 'aset', endpoints: { ready: 0, total: 1 } },
    ]);
  });
});
