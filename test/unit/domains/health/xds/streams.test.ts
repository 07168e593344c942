import { beforeEach, describe, expect, test } from 'vitest';
import { HealthStatus } from '../../../../../generated/envoy/config/core/v3/core_pb.ts';
import { createMemoryStore } from '../../../../../src/adapters/stores/memory.ts';
import { dataplaneSubject } from '../../../../../src/domains/health/model/dataplane.ts';
import { hdsSettings } from '../../../../../src/domains/health/xds/hds-settings.ts';
import type { XdsSetup } from '../../../../../src/domains/health/xds/xds.ts';
import { connectionToken } from '../../../../../src/relay/trust/tokens.ts';
import { clusterHealth, createFakeEnvoys, type FakeEnvoys, healthRequest } from '../../../../support/fake-envoys.ts';
import { createFleetWorld, type FleetWorld, shownBy } from '../../../../support/fleet-world.ts';
import { createVirtualClock } from '../../../../support/virtual-clock.ts';
import { dataplaneRow, dbYaml, endpointsAt, stateOf, webYaml } from './support.ts';

const { HEALTHY, UNHEALTHY } = HealthStatus;
const SECRET = new Uint8Array(32).fill(7);
const healthy = clusterHealth('localhost:80', HEALTHY, '127.0.0.1');
const unhealthy = clusterHealth('localhost:80', UNHEALTHY, '127.0.0.1');

let world: FleetWorld;
let envoys: FakeEnvoys;

async function start(more: Partial<XdsSetup> = {}, given: Parameters<typeof createFleetWorld>[0] = {}): Promise<void> {
  envoys = createFakeEnvoys(more);
  world = await createFleetWorld({ ...given, xds: envoys.setup });
  world.source.push({ 'db.yaml': dbYaml(), 'web.yaml': webYaml });
  await world.clock.advance(1_000);
}

const state = (name = 'db') => stateOf(world, name);
const reports = () => shownBy(world, 'fleetrelay_hds_reports_total');
/** Lets messages arrive and their changes be committed. */
const arrive = () => world.clock.advance(200);

describe('HDS', () => {
  beforeEach(() => start());

  test('an inbound with a probe is not ready before a report, and follows the reports', async () => {
    expect([state(), dataplaneRow(world, 'db')?.status, endpointsAt(world)]).toEqual(['never', 'Offline', []]);
    const envoy = envoys.hds('default.db');
    await arrive();
    expect([state(), dataplaneRow(world, 'db')?.status]).toEqual(['connected', 'Offline']);
    expect(envoy.specifiers()).toHaveLength(1);
    envoy.report(healthy);
    await arrive();
    expect([dataplaneRow(world, 'db')?.status, endpointsAt(world)]).toEqual(['Online', ['10.0.0.4:5432']]);
    envoy.report(unhealthy);
    await arrive();
    expect([dataplaneRow(world, 'db')?.status, endpointsAt(world)]).toEqual(['Offline', []]);
  });

  test('a report without news causes no commit, and nothing is written', async () => {
    const envoy = envoys.hds('default.db');
    envoy.report(healthy);
    // The status that the first report has changed is written, and recorded in a commit.
    await world.clock.advance(5_000);
    expect(world.statusFiles.get('dataplanes/default/db.yaml')).toContain('status: Online');
    const updates = world.statusUpdates();
    const { revision } = world.server.engine.commit();
    for (let reports = 0; reports < 5; reports += 1) envoy.report(healthy);
    await world.clock.advance(5_000);
    expect(world.server.engine.commit().revision).toBe(revision + 1);
    expect(world.statusUpdates()).toBe(updates);
    expect(reports()).toEqual({ changed: 1, unchanged: 5 });
  });

  test('the last report holds after the end of the stream', async () => {
    const envoy = envoys.hds('default.db');
    envoy.report(healthy);
    await arrive();
    envoy.break();
    await arrive();
    expect([state(), dataplaneRow(world, 'db')?.status, endpointsAt(world)]).toEqual([
      ...['disconnected', 'Offline'],
      ['10.0.0.4:5432'],
    ]);
    expect(world.server.samples().get('fleetrelay_hds_streams')).toBe(0);
  });

  test('of several streams the newest counts', async () => {
    const old = envoys.hds('default.db');
    const newest = envoys.hds('default.db');
    old.report(healthy);
    await arrive();
    expect(endpointsAt(world)).toEqual([]);
    newest.report(healthy);
    old.report(unhealthy);
    await arrive();
    expect(endpointsAt(world)).toEqual(['10.0.0.4:5432']);
    expect(reports()).toEqual({ changed: 1, superseded: 2 });
    newest.break();
    await arrive();
    expect(state()).toBe('connected');
  });

  test('a changed specifier is pushed at once; what was reported of an application stays with its address', async () => {
    const envoy = envoys.hds('default.db');
    envoy.report(healthy);
    await arrive();
    const [{ inbound: [one] = [] } = {}] = [JSON.parse(dbYaml()).networking];
    world.source.push({ 'db.yaml': dbYaml({ inbound: [{ ...one, port: 5433 }] }) });
    await arrive();
    expect(envoy.specifiers()).toHaveLength(1);
    expect(endpointsAt(world)).toEqual(['10.0.0.4:5433']);
    world.source.push({ 'db.yaml': dbYaml({ inbound: [{ ...one, servicePort: 81 }] }) });
    await arrive();
    expect(envoy.specifiers()[1]?.clusterHealthChecks[1]?.clusterName).toBe('localhost:81');
    expect(endpointsAt(world)).toEqual([]);
    // It was sent before the Envoy knew of the change.
    envoy.report(healthy);
    await arrive();
    expect(endpointsAt(world)).toEqual([]);
  });

  test('a report never overrides the declaration', async () => {
    const [{ inbound: [one] = [] } = {}] = [JSON.parse(dbYaml()).networking];
    const declared = { 'db.yaml': dbYaml({ inbound: [{ ...one, state: 'NotReady' }] }) };
    world.source.push(declared);
    const envoy = envoys.hds('default.db');
    envoy.report(healthy);
    await arrive();
    expect(endpointsAt(world)).toEqual([]);
  });

  test('can be switched off', async () => {
    await start({ hds: hdsSettings({ KUMA_DP_SERVER_HDS_ENABLED: 'false' }) });
    const envoy = envoys.hds('default.db');
    await world.clock.advance(1_500);
    expect(envoy.end()).toMatchObject({ code: 'refused', reason: 'HdsDisabled' });
  });
});

describe('a restart', () => {
  test('keeps reports and connections; who has not come back after 30 s is disconnected', async () => {
    const store = createMemoryStore();
    await start({}, { store });
    for (const name of ['db', 'web']) envoys.hds(`default.${name}`).report(healthy);
    await world.clock.advance(1_000);
    const before = dataplaneRow(world, 'db');
    expect(before).toMatchObject({ status: 'Online', connection: { state: 'connected' } });
    await world.server.stop();

    await start({}, { store, clock: createVirtualClock(world.clock.now() + 5_000) });
    expect(dataplaneRow(world, 'db')).toEqual(before);
    expect([endpointsAt(world), state('web')]).toEqual([['10.0.0.4:5432'], 'connected']);
    await world.clock.advance(20_000);
    envoys.hds('default.db');
    await world.clock.advance(8_000);
    expect([dataplaneRow(world, 'db'), state('web')]).toEqual([before, 'connected']);
    await world.clock.advance(5_000);
    expect([dataplaneRow(world, 'db'), state('web')]).toEqual([before, 'disconnected']);
  });

  test('forgets what was reported of a data plane whose declaration has ended', async () => {
    const store = createMemoryStore();
    await start({}, { store });
    const envoy = envoys.hds('default.db');
    envoy.report(healthy);
    await world.clock.advance(1_000);
    world.source.push({ 'db.yaml': null });
    await world.clock.advance(1_000);
    expect(envoy.end()).toMatchObject({ reason: 'UnknownDataplane' });
    const left: string[] = [];
    for await (const { key } of store.list('dataplane-')) left.push(key);
    expect(left).toEqual([]);
    world.source.push({ 'db.yaml': dbYaml() });
    await arrive();
    expect([state(), endpointsAt(world)]).toEqual(['never', []]);
  });
});

describe('access', () => {
  const generations = new Map<string, number>();
  const changed = new Set<(subject: string) => void>();
  const trust: XdsSetup['trust'] = {
    secrets: [SECRET],
    generations: {
      current: (subject) => generations.get(subject) ?? 0,
      shown: () => undefined,
      watch: (listener) => {
        changed.add(listener);
        return () => changed.delete(listener);
      },
    },
  };
  const token = (name: string, generation = 0) =>
    connectionToken(SECRET, dataplaneSubject(`default/${name}`), generation);
  const refusalOf = async (stream: { readonly end: () => { readonly reason: string } | undefined }) => {
    await arrive();
    // The answer is delayed.
    const early = stream.end();
    await world.clock.advance(1_000);
    return [early, stream.end()?.reason];
  };
  beforeEach(async () => {
    generations.clear();
    await start({ trust });
  });

  test('needs the token of this data plane', async () => {
    expect(await refusalOf(envoys.hds('default.db'))).toEqual([undefined, 'WrongToken']);
    for (const authorization of [
      '',
      'Bearer ',
      token('web'),
      `Bearer ${token('web')}`,
      connectionToken(SECRET, 'db'),
    ]) {
      expect(await refusalOf(envoys.hds('default.db', { authorization }))).toEqual([undefined, 'WrongToken']);
    }
    expect(await refusalOf(envoys.hds('default.gone', { authorization: token('gone') }))).toEqual([
      undefined,
      'WrongToken',
    ]);
    expect(state()).toBe('never');
    expect(shownBy(world, 'fleetrelay_xds_refusals_total')).toEqual({ WrongToken: 7 });
    const accepted = [token('db'), `Bearer ${token('db')}`].map((authorization) =>
      envoys.hds('default.db', { authorization }),
    );
    await world.clock.advance(2_000);
    expect(accepted.map((envoy) => [envoy.end(), envoy.specifiers().length])).toEqual([
      [undefined, 1],
      [undefined, 1],
    ]);
  });

  test('ends with the token when it is renewed', async () => {
    const envoy = envoys.hds('default.db', { authorization: token('db') });
    const other = envoys.hds('default.web', { authorization: token('web') });
    await arrive();
    expect([envoy, other].map((each) => each.specifiers().length)).toEqual([1, 1]);
    generations.set(dataplaneSubject('default/db'), 1_780_000_000);
    for (const listener of changed) listener(dataplaneSubject('default/db'));
    expect([envoy.end()?.reason, other.end()]).toEqual(['TokenRenewed', undefined]);
    expect(await refusalOf(envoys.hds('default.db', { authorization: token('db') }))).toEqual([
      undefined,
      'TokenRenewed',
    ]);
    const renewed = envoys.hds('default.db', { authorization: token('db', 1_780_000_000) });
    await world.clock.advance(2_000);
    expect(renewed.end()).toBeUndefined();
  });
});

describe('a stream', () => {
  beforeEach(() => start());

  test('of no declared data plane is refused', async () => {
    for (const node of ['default.gone', 'default', 'db', 'other.db', 'default/db']) {
      const envoy = envoys.hds(node);
      await world.clock.advance(1_500);
      expect(envoy.end()).toMatchObject({ reason: 'UnknownDataplane' });
    }
  });

  test('waits until the declarations are known', async () => {
    envoys = createFakeEnvoys();
    world = await createFleetWorld({ xds: envoys.setup });
    const envoy = envoys.hds('default.db');
    await world.clock.advance(1_500);
    expect(envoy.end()).toMatchObject({ code: 'unavailable', reason: 'Starting' });
  });

  test('ends if its node id changes, a message cannot be read, or it names no node', async () => {
    const changing = envoys.hds('default.db');
    changing.send(healthRequest('default.db'));
    await arrive();
    expect(changing.end()).toBeUndefined();
    changing.send(healthRequest('default.web'));
    const broken = envoys.open('health');
    broken.send(Uint8Array.of(255, 255));
    const nameless = envoys.hds('');
    const silent = envoys.open('health');
    await world.clock.advance(1_500);
    expect([changing, broken, nameless, silent].map((each) => each.end()?.reason)).toEqual([
      ...['NodeChanged', 'Malformed', 'NoNode'],
      undefined,
    ]);
    await world.clock.advance(10_000);
    expect(silent.end()?.reason).toBe('NoNode');
    expect(state('web')).toBe('never');
  });

  test('of ADS may stay silent beside a known stream of its connection', async () => {
    const health = envoys.open('health', {}, 'one');
    health.send(healthRequest('default.db'));
    const silent = envoys.open('discovery', {}, 'one');
    await world.clock.advance(60_000);
    expect(silent.end()).toBeUndefined();
    health.break();
    await world.clock.advance(12_000);
    expect(silent.end()?.reason).toBe('NoNode');
  });

  test('with too many messages is slowed down', async () => {
    await start({ limits: { messages: { burst: 3, perSecond: 2 } } });
    const envoy = envoys.hds('default.db');
    for (let reports = 0; reports < 10; reports += 1) envoy.report(reports % 2 === 0 ? healthy : unhealthy);
    await arrive();
    expect(reports()).toEqual({ changed: 3 });
    await world.clock.advance(1_000);
    expect(reports()).toEqual({ changed: 5 });
  });

  test('beyond the bounds is refused', async () => {
    const limits = { streams: 4, streamsPerNode: 2 };
    await start({ limits });
    const of = (name: string) => envoys.hds(`default.${name}`);
    const streams = [of('db'), of('db'), of('db'), of('web'), of('web')];
    expect(streams[4]?.end()?.reason).toBe('TooManyStreams');
    await world.clock.advance(1_500);
    expect(streams.map((each) => each.end()?.reason)).toEqual([
      ...[undefined, undefined, 'TooManyStreams'],
      ...[undefined, 'TooManyStreams'],
    ]);
    // The refused one is over.
    const next = of('web');
    await world.clock.advance(1_500);
    expect(next.end()).toBeUndefined();
  });
});
