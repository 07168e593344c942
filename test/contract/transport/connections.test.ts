import { mkdtemp, rm } from 'node:fs/promises';
import { connect as connectPlain } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createGrpcClientTransport } from '../../../src/adapters/grpc/client.ts';
import type { ConnectionLimits } from '../../../src/adapters/grpc/connections.ts';
import { createGrpcServerTransport } from '../../../src/adapters/grpc/server.ts';
import type { ServerCertificate } from '../../../src/adapters/tls/server-certificate.ts';
import type { ClientConnection, IncomingStream, ServerTransport, StreamEnd } from '../../../src/ports/transport.ts';
import { eventually } from '../../support/relay-poll.ts';
import { ensureServerCertificate } from '../../support/server-certificate.ts';

const DONE: StreamEnd = { code: 'done', reason: 'Enough', message: '' };

let dir: string;
let files: ServerCertificate;
let transport: ServerTransport;
let port: number;
let streams: IncomingStream[];
let turnedAway: { readonly reason: string; readonly peer: string }[];
let dialled: ClientConnection[];

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'connections-'));
  files = await ensureServerCertificate(dir, { names: [], ips: [] }, Date.now());
});

afterAll(() => rm(dir, { recursive: true }));

beforeEach(() => {
  streams = [];
  turnedAway = [];
  dialled = [];
});

afterEach(async () => {
  for (const connection of dialled) connection.close();
  await transport.stop();
});

async function start(connections?: Partial<ConnectionLimits>): Promise<void> {
  const { certificate, key } = files;
  const security = { type: 'tls', material: { current: () => ({ certificate, key }) } } as const;
  transport = createGrpcServerTransport({
    ...{ host: '127.0.0.1', port: 0, security },
    ...(connections === undefined ? {} : { connections }),
  });
  const started = await transport.start({
    stream: (stream) => streams.push(stream),
    register: async () => ({ response: Buffer.from('an answer') }),
    turnedAway: ({ reason }, peer) => turnedAway.push({ reason, peer }),
  });
  port = started.port;
}

function dial(): ClientConnection {
  const security = { type: 'tls', ca: () => files.ca } as const;
  const connection = createGrpcClientTransport({ server: `127.0.0.1:${port}`, security }).dial();
  dialled.push(connection);
  return connection;
}

/** A stream that the server has. */
async function open(connection = dial()) {
  const before = streams.length;
  const stream = connection.open('Pull', {});
  await eventually('the server has it', () => streams.length > before);
  return { connection, stream, server: streams[before] };
}

/** Shakes hands, and says nothing more. */
async function idle(gone: () => void, localAddress = '127.0.0.1'): Promise<TLSSocket> {
  const ca = Buffer.from(files.ca);
  const plain = connectPlain({ host: '127.0.0.1', port, localAddress });
  const socket = connect({ socket: plain, ca, servername: 'localhost', ALPNProtocols: ['h2'] });
  socket.on('error', () => undefined);
  socket.once('close', gone);
  socket.resume();
  await new Promise((resolve) => socket.once('secureConnect', resolve));
  return socket;
}

describe('connections with streams', () => {
  test('above the limit are told why, counted, and let in when another one is done', async () => {
    await start({ busy: 2, idle: 10 });
    const [first, second] = [await open(), await open()];
    const third = dial();
    expect(await third.open('Pull', {}).ended).toMatchObject({ code: 'unavailable', reason: 'TooManyConnections' });
    expect(await third.register(new Uint8Array(), {})).toMatchObject({ refused: { reason: 'TooManyConnections' } });
    expect(turnedAway.map(({ reason }) => reason)).toEqual(['TooManyConnections', 'TooManyConnections']);
    expect(turnedAway[0]?.peer).toMatch(/^127\.0\.0\.1:\d+$/);
    // Who is in may open another stream.
    await open(first.connection);
    second.server?.end(DONE);
    await second.stream.ended;
    await second.server?.ended;
    await open(third);
    expect(turnedAway).toHaveLength(2);
  });

  test('that break make room too', async () => {
    await start({ busy: 1, idle: 10 });
    const { connection, server } = await open();
    connection.close();
    await server?.ended;
    await open();
    expect(turnedAway).toEqual([]);
  });

  test('are not closed for those without', async () => {
    await start({ busy: 10, idle: 1 });
    const { stream, server } = await open();
    const gone: number[] = [];
    for (const name of [1, 2, 3]) await idle(() => gone.push(name));
    await eventually('all but the last one are gone', () => gone.length === 2);
    expect(await stream.write(Buffer.from('still here'))).toBe(true);
    expect(Buffer.from((await server?.read()) ?? '').toString()).toBe('still here');
  });

  test('carry sixteen streams at once; more wait until one is over', async () => {
    await start();
    const connection = dial();
    const opened = Array.from({ length: 20 }, () => connection.open('Pull', {}));
    await eventually('as many as may be are there', () => streams.length >= 16);
    // What is written on the first one arrives, and so would have whatever was asked before.
    await opened[0]?.write(Buffer.from('one'));
    await streams[0]?.read();
    await open();
    expect(streams).toHaveLength(17);
    streams[0]?.end(DONE);
    await eventually('the next one is there', () => streams.length === 18);
  });
});

describe('connections without a stream', () => {
  test('make room for others: the one that has waited longest is closed first, and is counted', async () => {
    await start({ busy: 10, idle: 2 });
    const gone: number[] = [];
    for (const name of [1, 2, 3, 4]) await idle(() => gone.push(name));
    await eventually('two are gone', () => gone.length === 2);
    expect(gone).toEqual([1, 2]);
    expect(turnedAway.map(({ reason }) => reason)).toEqual(['TooManyIdleConnections', 'TooManyIdleConnections']);
    expect((await open()).connection.serverChain()).not.toEqual([]);
  });

  test('are closed for the address with the most of them', async () => {
    await start({ busy: 10, idle: 3 });
    const gone: string[] = [];
    const from = (name: string, address: string) => idle(() => gone.push(name), address);
    await from('other', '127.0.0.2');
    for (const name of ['a', 'b', 'c', 'd']) await from(name, '127.0.0.3');
    await eventually('two are gone', () => gone.length === 2);
    expect(gone).toEqual(['a', 'b']);
  });

  test('are those whose streams were refused or are over, as well', async () => {
    await start({ busy: 10, idle: 1 });
    const { stream, server } = await open();
    server?.end(DONE);
    await stream.ended;
    await server?.ended;
    await idle(() => undefined);
    await eventually('the older one is gone', () => turnedAway.length === 1);
    expect(turnedAway[0]?.peer).toBe(server?.peer);
  });
});
