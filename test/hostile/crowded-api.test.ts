import { once } from 'node:events';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { networkOf } from '../../src/server/connection-shares.ts';
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
  // The full one gets no more than it has.
  await occupy(port, '127.0.0.2', 2);
  await expect(healthz(port, '127.0.0.2')).rejects.toThrow(/ECONNRESET|hang up/);
  for (const other of ['127.0.0.4', '127.0.0.5', '127.0.0.1']) expect(await healthz(port, other)).toBe(200);
});

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
