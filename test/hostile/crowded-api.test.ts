import { once } from 'node:events';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterEach, describe, expect, test } from 'vitest';
import { networkOf } from '../../src/model/text/ip-address.ts';
import { askSecurely, createPeopleAuthority } from '../support/people-tls.ts';
import { type RunningServer, runServer } from '../support/running-server.ts';

const MOST = 256;
const opened: Socket[] = [];
let server: RunningServer | undefined;
afterEach(async () => {
  for (const socket of opened.splice(0)) socket.destroy();
  await server?.stop();
});

/** Opens connections that ask nothing. */
async function occupy(port: number, localAddress: string, count: number): Promise<readonly Socket[]> {
  const sockets = Array.from({ length: count }, () => connect({ port, host: '127.0.0.1', localAddress }));
  opened.push(...sockets);
  // A connection that the server closes is no failure of the test.
  for (const socket of sockets) socket.on('error', () => undefined);
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  return sockets;
}

function healthz(port: number, localAddress: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const call = request({ port, host: '127.0.0.1', localAddress, path: '/healthz', agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    call.once('error', reject);
    call.end();
  });
}

test('a caller with all connections displaces its own, and locks no other out', async () => {
  server = await runServer({ health: { ready: () => ({ ok: true, reasons: [] }) } });
  const port = Number(new URL(server.url).port);
  const first = await occupy(port, '127.0.0.2', MOST);
  const [oldest] = first;
  const closed = once(oldest ?? connect(port), 'close');
  expect(await healthz(port, '127.0.0.3')).toBe(200);
  await closed;
  for (const other of ['127.0.0.4', '127.0.0.5', '127.0.0.1']) expect(await healthz(port, other)).toBe(200);
});

describe('an address with all connections, of which some have sent nothing,', () => {
  const ready = { ready: () => ({ ok: true, reasons: [] }) };
  const closedOf = (sockets: readonly Socket[]): number => sockets.filter(({ destroyed }) => destroyed).length;

  test('loses these first, then those that rest, then those whose request has not arrived completely', async () => {
    server = await runServer({ health: ready });
    const port = Number(new URL(server.url).port);
    const sockets = await occupy(port, '127.0.0.2', MOST);
    const [rests, begun, ...silent] = sockets;
    await answerOf(rests, 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
    begun?.write('POST /healthz HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n');
    await once(begun ?? connect(port), 'data');
    for (let asked = 0; asked < 20; asked += 1) expect(await healthz(port, '127.0.0.2')).toBe(200);
    expect([rests?.destroyed, begun?.destroyed, closedOf(silent.slice(0, 1))]).toEqual([false, false, 1]);
    expect(closedOf(silent)).toBeLessThanOrEqual(20);
  });

  test('loses none that waits for an answer: a new one is closed instead', async () => {
    const asked = Promise.withResolvers<void>();
    let waiting = 0;
    const metrics = () => {
      waiting += 1;
      if (waiting === MOST) asked.resolve();
      return new Promise<string>(() => undefined);
    };
    server = await runServer({ health: ready, metrics });
    const port = Number(new URL(server.url).port);
    const sockets = await occupy(port, '127.0.0.2', MOST);
    for (const socket of sockets) socket.write('GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await asked.promise;
    await expect(healthz(port, '127.0.0.2')).rejects.toThrow(/ECONNRESET|hang up/);
    expect(closedOf(sockets)).toBe(0);
    expect(await healthz(port, '127.0.0.3')).toBe(200);
  });

  test('of TLS gets in as well, without and with a handshake', async () => {
    const authority = await createPeopleAuthority();
    const { ca } = authority;
    server = await runServer({ health: ready }, { tls: await authority.server() });
    const port = Number(new URL(server.url).port);
    await occupy(port, '127.0.0.1', MOST / 2);
    const shaken = Array.from({ length: MOST / 2 }, () => connectTls({ port, host: '127.0.0.1', ca }));
    opened.push(...shaken);
    for (const socket of shaken) socket.on('error', () => undefined);
    await Promise.all(shaken.map((socket) => once(socket, 'secureConnect')));
    const statuses: number[] = [];
    for (let asked = 0; asked < 10; asked += 1) {
      statuses.push((await askSecurely(`${server.url}/healthz`, { ca })).status);
    }
    expect(statuses).toEqual(Array(10).fill(200));
  });
});

/** Sends a request on an open connection, and returns the first bytes of the answer. */
async function answerOf(socket: Socket | undefined, request: string): Promise<string> {
  if (socket === undefined) throw new Error('there is no connection');
  socket.write(request);
  const [bytes] = (await once(socket, 'data')) as [Buffer];
  return bytes.toString();
}

test.each([
  ['10.0.0.1', '10.0.0.1'],
  ['::ffff:10.0.0.1', '10.0.0.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8:1:2::6', '2001:db8:1:2'],
  ['2001:db8::6', '2001:db8:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
  ['::1', '0:0:0:0'],
  ['', ''],
])('the network of %s is %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});
