import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { limitConnections } from '../../../src/http/connections.ts';

const MOST = 4;
let server: Server;
let port: number;
let opened: Socket[];

beforeEach(async () => {
  opened = [];
  server = createServer((_, response) => response.end('served'));
  limitConnections(server, MOST);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});
afterEach(async () => {
  for (const socket of opened) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
});

/** A connection of an address, which asks nothing by itself. */
async function open(localAddress: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  opened.push(socket);
  socket.on('error', () => undefined);
  const accepted = once(server, 'connection');
  await Promise.all([once(socket, 'connect'), accepted]);
  return socket;
}

async function ask(socket: Socket): Promise<string> {
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  const [bytes] = (await once(socket, 'data')) as [Buffer];
  return bytes.toString().split('\r\n')[0] ?? '';
}

function served(localAddress: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const call = request({ port, host: '127.0.0.1', localAddress, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    call.once('error', reject);
    call.end();
  });
}

test('silent connections of as many networks as there are connections keep no caller out', async () => {
  const silent = [];
  for (let at = 2; at < 2 + MOST; at += 1) silent.push(await open(`127.0.0.${at}`));
  const [oldest] = silent;
  const closed = once(oldest ?? connect(port), 'close');
  expect(await served('127.0.0.20')).toBe(200);
  await closed;
  expect(silent.slice(1).map(({ destroyed }) => destroyed)).toEqual([false, false, false]);
});

test('of networks with as many connections each, one that has asked stays before one that is silent', async () => {
  const used = await open('127.0.0.2');
  expect(await ask(used)).toBe('HTTP/1.1 200 OK');
  const silent = [];
  for (let at = 3; at < 2 + MOST; at += 1) silent.push(await open(`127.0.0.${at}`));
  const closed = once(silent[0] ?? connect(port), 'close');
  expect(await served('127.0.0.20')).toBe(200);
  await closed;
  expect(await ask(used)).toBe('HTTP/1.1 200 OK');
});
