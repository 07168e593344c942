import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { connect as connectPlain } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createXdsTransport } from '../../src/adapters/grpc/xds-server.ts';
import { dataplaneSubject } from '../../src/domains/health/model/dataplane.ts';
import type { XdsSetup } from '../../src/domains/health/xds/xds.ts';
import { connectionToken } from '../../src/relay/trust/tokens.ts';
import { XDS_LIMITS } from '../../src/xds/limits.ts';
import { createFakeEnvoys, type FakeEnvoys, healthRequest } from '../support/fake-envoys.ts';
import { createFleetWorld, type FleetWorld, shownBy } from '../support/fleet-world.ts';
import { recordingLog } from '../support/running-server.ts';
import { dbYaml } from '../unit/domains/health/xds/support.ts';

const SECRET = new Uint8Array(32).fill(7);
const HDS = '/envoy.service.health.v3.HealthDiscoveryService/StreamHealthCheck';
const ADS = '/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources';
/** What a peer may send on a stream of HTTP/2 before it is read. */
const WINDOW = 65_535;
const MIB = 1 << 20;

const trust: XdsSetup['trust'] = {
  secrets: [SECRET],
  generations: { current: () => 0, shown: () => undefined, watch: () => () => undefined },
};
const tokenOf = (dataplane: string): string => connectionToken(SECRET, dataplaneSubject(dataplane));

describe('streams of callers without a right token', () => {
  let world: FleetWorld;
  let log: ReturnType<typeof recordingLog>;
  let port = 0;
  const sessions: ClientHttp2Session[] = [];

  beforeEach(async () => {
    const transport = createXdsTransport({ host: '127.0.0.1', port: 0, security: { type: 'insecure' } });
    const start: XdsSetup['transport']['start'] = async (listener) => {
      const bound = await transport.start(listener);
      ({ port } = bound);
      return bound;
    };
    const { setup } = createFakeEnvoys({ trust, transport: { ...transport, start } });
    log = recordingLog();
    world = await createFleetWorld({ xds: setup, log });
    world.source.push({ 'db.yaml': dbYaml() });
    await world.clock.advance(1_000);
  });
  afterEach(async () => {
    for (const session of sessions.splice(0)) session.destroy();
    await world.server.stop();
  });

  function dial(localAddress = '127.0.0.1'): ClientHttp2Session {
    const session = connect(`http://127.0.0.1:${port}`, {
      createConnection: () => connectPlain({ host: '127.0.0.1', port, localAddress }),
    });
    session.on('error', () => undefined);
    sessions.push(session);
    return session;
  }

  function open(session: ClientHttp2Session, path: string, token?: string): ClientHttp2Stream {
    const stream = session.request({
      ...{ ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' },
      ...(token === undefined ? {} : { authorization: token }),
    });
    stream.on('error', () => undefined);
    return stream;
  }

  /** A message of this length, with what frames it. */
  function framed(length: number, message: Uint8Array = new Uint8Array()): Buffer {
    const bytes = Buffer.alloc(5 + length);
    bytes.writeUInt32BE(length, 1);
    bytes.set(message, 5);
    return bytes;
  }

  /** Begins a message of this length on a new stream, and sends all but its last byte. */
  function begin(session: ClientHttp2Session, path: string, length: number, token?: string): ClientHttp2Stream {
    const stream = open(session, path, token);
    stream.write(framed(length).subarray(0, -1));
    return stream;
  }

  /** The number of bytes that have left when flow control stops the caller. */
  async function sentBy(session: ClientHttp2Session): Promise<number> {
    let before = -1;
    for (let same = 0, pings = 0; same < 20 && pings < 2_000; pings += 1) {
      await new Promise((resolve) => session.ping(resolve));
      const { bytesWritten } = session.socket;
      same = bytesWritten - before < 1_000 ? same + 1 : 0;
      before = bytesWritten;
    }
    return before;
  }

  test.each([
    ['none', undefined],
    ['one of another secret', connectionToken(new Uint8Array(32).fill(8), dataplaneSubject('default/db'))],
    ['one of a cluster', connectionToken(SECRET, 'db')],
    ['one of a data plane that is not declared', tokenOf('default/gone')],
  ])('are judged before anything of them is read: %s', async (_, token) => {
    const session = dial();
    const streams = [HDS, ADS].flatMap((path) => [1, 2, 3, 4].map(() => begin(session, path, MIB, token)));
    expect(await sentBy(session)).toBeLessThan(streams.length * (WINDOW + 1_000));
    const ended = streams.map((stream) => once(stream, 'response'));
    await world.clock.advance(XDS_LIMITS.refusalMs);
    for (const [headers] of await Promise.all(ended)) expect(headers).toMatchObject({ 'grpc-status': '16' });
    expect(shownBy(world, 'fleetrelay_xds_refusals_total')).toEqual({ WrongToken: 8 });
  });

  test('are told at once that too many wait, each address for itself', async () => {
    const greedy = dial('127.0.0.2');
    const other = dial('127.0.0.3');
    const many = XDS_LIMITS.refusalsPerAddress;
    const delayed = Array.from({ length: many }, () => begin(greedy, HDS, 100));
    await sentBy(greedy);
    const more = dial('127.0.0.2');
    const [busy] = await once(begin(more, HDS, 100), 'response');
    expect(busy).toMatchObject({ 'grpc-status': '14', 'grpc-message': expect.stringContaining('too%20many') });
    const patient = begin(other, HDS, 100);
    await sentBy(other);
    const ended = [...delayed, patient].map((stream) => once(stream, 'response'));
    await world.clock.advance(XDS_LIMITS.refusalMs);
    for (const [headers] of await Promise.all(ended)) expect(headers).toMatchObject({ 'grpc-status': '16' });
  });

  test('fill no log', async () => {
    const session = dial();
    for (let count = 0; count < 100; count += 1) {
      const stream = open(session, HDS);
      const ended = once(stream, 'response');
      const message = healthRequest('default.db');
      stream.end(framed(message.length, message));
      await sentBy(session);
      await world.clock.advance(XDS_LIMITS.refusalMs);
      await ended;
    }
    expect(log.lines.filter((line) => line.includes('a stream of an Envoy is refused')).length).toBeLessThan(45);
  });

  test('do not keep away an Envoy whose token is right', async () => {
    const session = dial();
    for (let count = 0; count < 12; count += 1) begin(session, HDS, MIB);
    await sentBy(session);
    const stream = open(dial(), HDS, tokenOf('default/db'));
    const message = healthRequest('default.db');
    stream.write(framed(message.length, message));
    const [headers] = await once(stream, 'response');
    expect(headers).toMatchObject({ ':status': 200 });
    expect(headers).not.toHaveProperty('grpc-status');
  });
});

describe('the token of a data plane', () => {
  let world: FleetWorld;
  let envoys: FakeEnvoys;
  const start = async (more: Partial<XdsSetup>): Promise<void> => {
    envoys = createFakeEnvoys(more);
    world = await createFleetWorld({ xds: envoys.setup });
    const declared = (mesh: string, name: string) => JSON.stringify({ ...JSON.parse(dbYaml({}, name)), mesh });
    world.source.push({ 'one.yaml': declared('a', 'b.c'), 'two.yaml': declared('a.b', 'c') });
    await world.clock.advance(1_000);
  };

  test('says which of the data planes is meant whose names make the same node id', async () => {
    await start({ trust });
    const one = envoys.hds('a.b.c', { authorization: tokenOf('a/b.c') });
    const two = envoys.hds('a.b.c', { authorization: `Bearer ${tokenOf('a.b/c')}` });
    const other = envoys.hds('a.b.d', { authorization: tokenOf('a.b/c') });
    await world.clock.advance(2_000);
    expect([one, two, other].map((each) => each.end()?.reason)).toEqual([undefined, undefined, 'WrongToken']);
    const rows = world.server.api.view('dataplanes', {});
    const connected = rows.ok ? rows.value.filter(({ connection }) => Object(connection).state === 'connected') : [];
    expect(connected.map(({ mesh, name }) => `${mesh}/${name}`)).toEqual(['a/b.c', 'a.b/c']);
  });

  test('is no other text that the secret signs', async () => {
    await start({ trust });
    const right = tokenOf('a/b.c');
    const mac = right.slice(-43);
    const name = Buffer.from('a.b/c').toString('base64url');
    for (const wrong of [
      `frt1_${mac}`,
      `frt1_${name}_${mac}`,
      `${right}=`,
      right.slice(0, -1),
      `frt2_5_${right.slice(5)}`,
    ]) {
      const envoy = envoys.hds('a.b.c', { authorization: wrong });
      await world.clock.advance(2_000);
      expect(envoy.end()?.reason, wrong).toBe('WrongToken');
    }
  });

  test('opens a limited number of streams at once, also if they send nothing', async () => {
    await start({ trust });
    const silent = Array.from({ length: 6 }, () => envoys.open('health', { authorization: tokenOf('a/b.c') }));
    await world.clock.advance(2_000);
    const refused = silent.map((each) => each.end()?.reason);
    expect(refused).toEqual([...Array(4).fill(undefined), ...Array(2).fill('TooManyStreams')]);
  });
});
