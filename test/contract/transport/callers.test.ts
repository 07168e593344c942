import { mkdtemp, rm } from 'node:fs/promises';
import { connect as connectHttp2 } from 'node:http2';
import { connect as connectPlain } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createGrpcClientTransport } from '../../../src/adapters/grpc/client.ts';
import { CONNECTION_LIMITS, createConnections } from '../../../src/adapters/grpc/connections.ts';
import { createGrpcServerTransport } from '../../../src/adapters/grpc/server.ts';
import { createTlsListener, type TlsMaterial } from '../../../src/adapters/grpc/tls-listener.ts';
import { createCertificateRequests } from '../../../src/adapters/tls/certificate-requests.ts';
import type { ServerCertificate } from '../../../src/adapters/tls/server-certificate.ts';
import type { IncomingStream, ServerTransport, StreamEnd } from '../../../src/ports/transport.ts';
import type { Identity } from '../../support/enrolled.ts';
import { noProgram } from '../../support/programs.ts';
import { eventually } from '../../support/relay-poll.ts';
import { ensureServerCertificate } from '../../support/server-certificate.ts';
import { createTestAuthority, DAY_MS, type TestAuthority } from '../../support/test-authority.ts';
import { createTestCallers, type TestCallers } from '../../support/test-callers.ts';

const NONE = { names: [], ips: [] };

let dirs: string[];
let first: ServerCertificate;
let second: ServerCertificate;
let callers: TestCallers;
let timed: TestAuthority;

beforeAll(async () => {
  dirs = [await mkdtemp(join(tmpdir(), 'relay-callers-')), await mkdtemp(join(tmpdir(), 'relay-callers-'))];
  first = await ensureServerCertificate(dirs[0] ?? '', NONE, Date.now());
  second = await ensureServerCertificate(dirs[1] ?? '', NONE, Date.now());
  if (!noProgram('openssl')) callers = createTestCallers();
  timed = await createTestAuthority(Date.now() - 60 * DAY_MS, Date.now() + 60 * DAY_MS);
});

/** A certificate that is valid between these days from now. */
async function ofTime(from: number, to: number): Promise<Identity> {
  const { key, request } = await createCertificateRequests().create();
  const now = Date.now();
  const times = { from: now + from * DAY_MS, to: now + to * DAY_MS };
  return { key, certificate: await timed.issue(request, { names: ['east'], ...times }) };
}

afterAll(async () => {
  for (const dir of dirs) await rm(dir, { recursive: true });
});

describe.skipIf(noProgram('openssl'))('the port of the relay', () => {
  let material: TlsMaterial;
  let changed: () => void;
  let transport: ServerTransport;
  let streams: IncomingStream[];
  let port: number;

  beforeEach(async () => {
    material = {
      certificate: first.certificate,
      key: first.key,
      clientRoots: Buffer.concat([callers.roots, Buffer.from(timed.root)]),
    };
    streams = [];
    const source = {
      current: () => material,
      watch: (listener: () => void) => {
        changed = listener;
        return () => undefined;
      },
    };
    transport = createGrpcServerTransport({ host: '127.0.0.1', port: 0, security: { type: 'tls', material: source } });
    const started = await transport.start({
      stream: (stream) => streams.push(stream),
      register: async ({ certificate }) => ({ response: Buffer.from(certificate === undefined ? 'none' : 'shown') }),
    });
    port = started.port;
  });

  afterEach(() => transport.stop());

  function dial(identity?: Identity, ca: Uint8Array = first.ca) {
    const security = { type: 'tls', ca: () => ca } as const;
    const client = createGrpcClientTransport({ server: `localhost:${port}`, security });
    return client.dial(identity === undefined ? undefined : { identity, roots: '' });
  }

  /** How a stream of this caller ends, which the server ends at once if it gets it. */
  async function endOf(identity?: Identity, ca?: Uint8Array): Promise<StreamEnd> {
    const connection = dial(identity, ca);
    const stream = connection.open('Pull', {});
    let end: StreamEnd | undefined;
    void stream.ended.then((value) => {
      end = value;
    });
    await eventually('it is decided', () => end !== undefined || streams.length > 0);
    streams.shift()?.end({ code: 'done', reason: 'LetIn', message: '' });
    return stream.ended.finally(() => connection.close());
  }

  test('accepts callers without a certificate, and with one that leads to a client root, also through an intermediate', async () => {
    expect((await endOf()).reason).toBe('LetIn');
    expect((await endOf(callers.east)).reason).toBe('LetIn');
    expect((await endOf(callers.sign({ through: 'intermediate' }))).reason).toBe('LetIn');
    expect((await endOf(await ofTime(-1, 1))).reason).toBe('LetIn');
  });

  test.each<[string, () => Promise<Identity>, string]>([
    ['of another root', async () => createTestCallers().east, 'CertificateUnknown'],
    ['that has expired', () => ofTime(-30, -1), 'CertificateExpired'],
    ['that is not valid yet', () => ofTime(1, 30), 'CertificateNotYetValid'],
    ['that is for servers', async () => callers.sign({ usage: 'serverAuth' }), 'CertificateUnknown'],
  ])(
    'tells who shows a certificate %s why it is shown out, at streams and registrations',
    async (_what, make, reason) => {
      const identity = await make();
      expect(await endOf(identity)).toMatchObject({ code: 'unauthenticated', reason });
      const connection = dial(identity);
      expect(await connection.register(Buffer.from(''), {})).toMatchObject({
        refused: { code: 'unauthenticated', reason },
      });
      connection.close();
      expect(streams).toEqual([]);
    },
  );

  test('takes new certificates and roots for new connections, and drops no stream', async () => {
    const old = dial(callers.east);
    const kept = old.open('Pull', {});
    await eventually('it is there', () => streams.length === 1);
    const [server] = streams.splice(0);
    const others = createTestCallers();
    material = { certificate: second.certificate, key: second.key, clientRoots: others.roots };
    changed();
    expect((await endOf(undefined)).reason).toBe('ServerCertificate');
    expect((await endOf(undefined, second.ca)).reason).toBe('LetIn');
    expect((await endOf(others.east, second.ca)).reason).toBe('LetIn');
    expect((await endOf(callers.east, second.ca)).reason).toBe('CertificateUnknown');
    expect(await kept.write(Buffer.from('still here'))).toBe(true);
    expect(Buffer.from((await server?.read()) ?? '').toString()).toBe('still here');
    const more = old.open('Push', {});
    await eventually('another one on the old connection', () => streams.length === 1);
    expect(streams[0]?.certificate).toBeDefined();
    more.end({ code: 'done', reason: 'Enough', message: '' });
    old.close();
  });

  test('resumes no session', async () => {
    const { key, certificate } = callers.east;
    const options = {
      host: '127.0.0.1',
      port,
      ca: Buffer.from(first.ca),
      key,
      cert: certificate,
      ALPNProtocols: ['h2'],
    };
    const socket = await opened(connect({ ...options, servername: 'localhost' }));
    let session: Buffer | undefined;
    socket.on('session', (ticket: Buffer) => {
      session = ticket;
    });
    // Tickets come with the first bytes that the server sends, which are its settings.
    await new Promise((resolve) => socket.once('data', resolve));
    socket.destroy();
    const again = await opened(
      connect({ ...options, servername: 'localhost', ...(session === undefined ? {} : { session }) }),
    );
    expect(again.isSessionReused()).toBe(false);
    again.destroy();
  });

  test('decides on a registration before it receives the request: a stranger uses no memory and delays no other caller', async () => {
    const session = connectHttp2(`https://localhost:${port}`, { ca: Buffer.from(first.ca) });
    const call = session.request({
      ':method': 'POST',
      ':path': '/fleetrelay.v1alpha1.Relay/Register',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    let end: unknown;
    call.on('trailers', (trailers) => {
      end = trailers['grpc-status'];
    });
    call.resume();
    await eventually('it is answered although nothing was asked', () => end !== undefined);
    expect(end).toBe('0');
    session.destroy();
  });

  test('stops during an unfinished handshake, and hands over no connection without a handshake', async () => {
    const silent = connectPlain({ host: '127.0.0.1', port });
    silent.on('error', () => undefined);
    await new Promise((resolve) => silent.once('connect', resolve));
    const wrong = connectPlain({ host: '127.0.0.1', port });
    wrong.on('error', () => undefined);
    const ended = new Promise((resolve) => wrong.once('close', resolve));
    wrong.write('GET / HTTP/1.1\r\n\r\n');
    wrong.resume();
    await ended;
    expect((await endOf()).reason).toBe('LetIn');
    const gone = new Promise((resolve) => silent.once('close', resolve));
    silent.resume();
    await transport.stop();
    await gone;
  });
});

test('unfinished handshakes make room for others: the oldest is closed first', async () => {
  const material = { current: () => ({ certificate: first.certificate, key: first.key }) };
  const connections = createConnections({ ...CONNECTION_LIMITS, handshakes: 2 }, () => undefined);
  const listener = createTlsListener({ host: '127.0.0.1', port: 0, material, connections }, () => undefined);
  const port = await listener.start();
  const gone: number[] = [];
  const silent = async (name: number): Promise<void> => {
    const socket = connectPlain({ host: '127.0.0.1', port });
    socket.on('error', () => undefined);
    socket.once('close', () => gone.push(name));
    socket.resume();
    await new Promise((resolve) => socket.once('connect', resolve));
  };
  const speaker = async (): Promise<TLSSocket> =>
    opened(connect({ host: '127.0.0.1', port, ca: Buffer.from(first.ca), servername: 'localhost' }));
  const speakers = [await speaker(), await speaker()];
  for (const name of [1, 2, 3]) await silent(name);
  await eventually('the first one is gone', () => gone.length > 0);
  speakers.push(await speaker());
  await eventually('the second one is gone', () => gone.length > 1);
  expect(gone).toEqual([1, 2]);
  expect(speakers.map(({ destroyed }) => destroyed)).toEqual([false, false, false]);
  for (const socket of speakers) socket.destroy();
  listener.close();
  connections.closeAll();
});

function opened(socket: TLSSocket): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    socket.once('secureConnect', () => resolve(socket));
    socket.once('error', reject);
  });
}
