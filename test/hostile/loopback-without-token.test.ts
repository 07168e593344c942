import { lstatSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { bindPrivateSocket } from '../../src/adapters/system/private-socket.ts';
import { createLocalToken } from '../../src/compose/serve/local-token.ts';
import { localTokenPath } from '../../src/server/local-token.ts';
import { apiFetch } from '../support/api-fetch.ts';
import { runCli } from '../support/cli.ts';
import { type RunningServer, recordingLog, runServer } from '../support/running-server.ts';
import { fakeApi, HELD_DIGEST } from '../support/server-api.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function serve(...args: Parameters<typeof runServer>): Promise<RunningServer> {
  const server = await runServer(...args);
  closers.push(server.stop);
  return server;
}

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'loopback-'));
  closers.push(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** Passes requests on as nginx does by default: `Host` names the upstream, and no header names the caller. */
async function proxyOf(upstream: string): Promise<string> {
  const { host, port, hostname } = new URL(upstream);
  const proxy = createServer((incoming, outgoing) => {
    const headers = { ...incoming.headers, host, connection: 'close' };
    const { method, url: path } = incoming;
    const call = request({ hostname, port, method, path, headers }, (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(outgoing);
    });
    incoming.pipe(call);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  closers.push(() => new Promise((resolve) => proxy.close(resolve)));
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}

const approval = {
  method: 'POST',
  body: JSON.stringify({ digest: HELD_DIGEST, by: 'a stranger' }),
  headers: { 'Content-Type': 'application/json' },
};

describe('a caller on loopback without a token', () => {
  test('may do nothing, through a proxy that hides where it comes from as little as beside it', async () => {
    const api = fakeApi();
    const { url, acts } = await serve({ api });
    for (const place of [await proxyOf(url), url]) {
      expect((await fetch(`${place}/api/v1/approvals`, approval)).status).toBe(401);
      expect((await fetch(`${place}/api/v1/status`)).status).toBe(401);
    }
    expect(api.calls).toEqual([]);
    expect((await acts()).map(({ who, stage }) => `${who} ${stage}`)).toEqual([' refused', ' refused']);
    expect((await apiFetch(`${url}/api/v1/approvals`, approval)).status).toBe(200);
    expect(api.calls).toEqual([`approve ${HELD_DIGEST} by a stranger`]);
  });
});

describe('the token of the server', () => {
  const config = { listen: { address: '127.0.0.1', port: 0 }, people: [] };
  const bound = { host: '127.0.0.1', port: 9980 };

  test('is in two files that only its user can read, and one of them goes when the server stops', async () => {
    const [data, home] = [folder(), folder()];
    const token = createLocalToken(config, data, { log: recordingLog(), env: { HOME: home } });
    await token?.publish(bound);
    const places = [join(data, 'api-token'), join(home, '.local/state/fleetrelay/api/127.0.0.1_9980')];
    for (const place of places) {
      expect([readFileSync(place, 'utf8').trim(), lstatSync(place).mode & 0o777]).toEqual([token?.token, 0o600]);
    }
    expect(lstatSync(join(places[1] ?? '', '..')).mode & 0o777).toBe(0o700);
    await token?.withdraw();
    expect(places.map((place) => lstatSync(place, { throwIfNoEntry: false }) !== undefined)).toEqual([true, false]);
  });

  test('of a server that has crashed is worth nothing: the next one has another', async () => {
    const [data, state] = [folder(), folder()];
    const env = { XDG_STATE_HOME: state, HOME: '/nowhere' };
    const crashed = createLocalToken(config, data, { log: recordingLog(), env });
    await crashed?.publish(bound);
    const next = createLocalToken(config, data, { log: recordingLog(), env });
    await next?.publish(bound);
    expect(next?.token).not.toBe(crashed?.token);
    const place = localTokenPath(env, bound) ?? '';
    expect(readFileSync(place, 'utf8').trim()).toBe(next?.token);
    await crashed?.withdraw();
    expect(readFileSync(place, 'utf8').trim()).toBe(next?.token);
  });

  test.each([
    ['no home', {}],
    ['a home that is no folder', { HOME: '/dev/null' }],
  ])('with %s is in the data directory alone, and the log says so', async (_, env) => {
    const data = folder();
    const log = recordingLog();
    const token = createLocalToken(config, data, { log, env });
    await token?.publish(bound);
    expect(readFileSync(join(data, 'api-token'), 'utf8').trim()).toBe(token?.token);
    expect(log.lines.join('\n')).toContain(join(data, 'api-token'));
    expect(log.lines.join('\n')).not.toContain(token?.token);
  });

  test('is not made where people or certificates are configured, or on a socket', () => {
    const deps = { log: recordingLog(), env: {} };
    const person = { name: 'ann', role: 'operate', token: { type: 'env', name: 'ANN' } } as const;
    const tls = { certFile: 'c', keyFile: 'k', clientCaFile: 'ca' };
    const others = [
      { ...config, people: [person] },
      { ...config, tls },
      { ...config, listen: { socket: '/run/api.sock' } },
      { ...config, listen: { address: '0.0.0.0', port: 9980 } },
    ];
    for (const other of others) expect(createLocalToken(other, '/nowhere', deps)).toBeUndefined();
  });

  test('is sent to loopback only, and to the address that it is for', async () => {
    const seen: (string | undefined)[] = [];
    const other = createServer((incoming, outgoing) => {
      seen.push(incoming.headers.authorization);
      outgoing
        .writeHead(409)
        .end(JSON.stringify({ error: { reason: 'NotLeader', message: 'm', leader: `http://127.0.0.2:${port}` } }));
    });
    await new Promise<void>((resolve) => other.listen(0, '0.0.0.0', resolve));
    closers.push(() => new Promise((resolve) => other.close(resolve)));
    const { port } = other.address() as AddressInfo;
    const env = { XDG_STATE_HOME: folder() };
    const token = createLocalToken(config, folder(), { log: recordingLog(), env });
    await token?.publish({ host: '127.0.0.1', port });
    const own = `Bearer ${token?.token}`;
    const ask = async (host: string) => {
      await runCli(['status', '--api', `http://${host}:${port}`], { env });
      return seen.splice(0);
    };
    // Each is asked to ask 127.0.0.2 instead, which has no token here.
    expect(await ask('127.0.0.1')).toEqual([own, undefined]);
    expect(await ask('localhost')).toEqual([own, undefined]);
    expect(await ask('127.0.0.3')).toEqual([undefined, undefined]);
  });

  test('is looked for once more where it is refused, because a server that starts has left another', async () => {
    const env = { XDG_STATE_HOME: folder() };
    const [crashed, next] = [0, 1].map(() => createLocalToken(config, folder(), { log: recordingLog(), env }));
    const seen: (string | undefined)[] = [];
    let starting: typeof next;
    const server = createServer(async (incoming, outgoing) => {
      seen.push(incoming.headers.authorization);
      const { port } = server.address() as AddressInfo;
      await starting?.publish({ host: '127.0.0.1', port });
      const isKnown = incoming.headers.authorization === `Bearer ${next?.token}`;
      outgoing.writeHead(isKnown ? 200 : 401).end(JSON.stringify(isKnown ? { items: [] } : { error: {} }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closers.push(() => new Promise((resolve) => server.close(resolve)));
    const { port } = server.address() as AddressInfo;
    const ask = async () => (await runCli(['get', 'sources', '--api', `http://127.0.0.1:${port}`], { env })).code;
    expect(await ask()).toBe(4);
    await crashed?.publish({ host: '127.0.0.1', port });
    expect(await ask()).toBe(4);
    expect(seen.splice(0)).toEqual([undefined, `Bearer ${crashed?.token}`]);
    starting = next;
    expect(await ask()).toBe(0);
    expect(seen).toEqual([`Bearer ${crashed?.token}`, `Bearer ${next?.token}`]);
  });
});

describe('a Unix socket', () => {
  test('is its owner’s alone, and who may open it may do everything', async () => {
    const api = fakeApi();
    const socket = join(folder(), 'api.sock');
    const { url, acts } = await serve({ api }, { listen: { socket, bind: bindPrivateSocket } });
    expect([url, lstatSync(socket).mode & 0o777]).toEqual([`unix:${socket}`, 0o600]);
    const env = { FLEETRELAY_API: 'unix:api.sock', FLEETRELAY_USER: 'ann' };
    expect(await runCli(['cluster', 'replace', 'west'], { env, cwd: join(socket, '..') })).toMatchObject({ code: 0 });
    expect(api.calls).toEqual(['replace west by ann']);
    expect((await acts()).at(-1)).toMatchObject({ who: 'ann', proof: 'local', from: 'unix socket', stage: 'done' });
  });

  test('refuses a token that is wrong', async () => {
    const socket = join(folder(), 'api.sock');
    const { url } = await serve({ api: fakeApi() }, { listen: { socket, bind: bindPrivateSocket } });
    const env = { FLEETRELAY_API: url, FLEETRELAY_API_TOKEN: 'a-token-of-enough-length' };
    expect(await runCli(['get', 'sources'], { env })).toMatchObject({ code: 4 });
  });

  test('replaces one that a crashed server has left, and nothing else', async () => {
    const socket = join(folder(), 'api.sock');
    const listen = { socket, bind: bindPrivateSocket };
    const { url } = await serve({ api: fakeApi() }, { listen });
    await expect(runServer({}, { listen })).rejects.toThrow('EADDRINUSE');
    expect((await runCli(['get', 'sources', '--api', url])).code).toBe(0);
    const file = join(folder(), 'notes');
    writeFileSync(file, 'mine');
    await expect(runServer({}, { listen: { ...listen, socket: file } })).rejects.toThrow('is no socket');
    expect(readFileSync(file, 'utf8')).toBe('mine');
  });
});
