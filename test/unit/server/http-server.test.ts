import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { createHttpServer } from '../../../src/server/http-server.ts';
import type { Person } from '../../../src/server/people.ts';
import { apiFetch } from '../../support/api-fetch.ts';
import { type RunningServer, recordingLog, runServer, stoppedClock } from '../../support/running-server.ts';
import { fakeApi, fleetView, HELD_DIGEST } from '../../support/server-api.ts';

const TOKEN = 'a-token-of-enough-length';
const running: RunningServer[] = [];

async function serve(...args: Parameters<typeof runServer>): Promise<RunningServer> {
  const server = await runServer(...args);
  running.push(server);
  return server;
}

afterEach(async () => {
  for (const server of running.splice(0)) await server.stop();
});

async function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return apiFetch(url, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { 'Content-Type': 'application/json', ...headers },
  });
}

const healthy = { ready: () => ({ ok: true, reasons: [] }) };
const ann: Person = { name: 'ann', role: 'operate', token: TOKEN };
const bob: Person = { name: 'bob', role: 'read', token: 'another-token-of-length' };

describe('health', () => {
  test('is answered', async () => {
    const { url } = await serve({ health: healthy });
    expect(await (await fetch(`${url}/healthz`)).text()).toBe('ok\n');
    expect(await (await fetch(`${url}/readyz`)).text()).toBe('ready\n');
  });

  test('has the reasons why the server is not ready', async () => {
    const { url } = await serve({ health: { ready: () => ({ ok: false, reasons: ['source main: pending'] }) } });
    const response = await fetch(`${url}/readyz`);
    expect(response.status).toBe(503);
    expect(await response.text()).toBe('not ready\n- source main: pending\n');
  });

  test('is all that a server without an API has', async () => {
    const { url } = await serve({ health: healthy });
    for (const path of ['/api/v1/status', '/metrics', '/hooks/git', '/']) {
      const response = await fetch(url + path);
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ error: { reason: 'NotFound' } });
    }
  });
});

test('requests wait until the server is opened', async () => {
  const order: string[] = [];
  const opened = Promise.withResolvers<void>();
  const ready = () => {
    order.push('answered');
    return { ok: true, reasons: [] };
  };
  const { url } = await serve({ health: { ready } }, { opened: opened.promise });
  const { port } = new URL(url);
  const socket = connect(Number(port), '127.0.0.1');
  const closed = once(socket, 'close');
  socket.write('GET /readyz HTTP/1.1\r\nHost: a\r\nConnection: close\r\nExpect: 100-continue\r\n\r\n');
  // It has read the request.
  const [interim] = await once(socket, 'data');
  expect(String(interim)).toMatch(/^HTTP\/1\.1 100/);
  order.push('opened');
  opened.resolve();
  await closed;
  expect(order).toEqual(['opened', 'answered']);
});

test('the listener of the API has no health and metrics', async () => {
  const { url } = await serve({ api: fakeApi() });
  for (const path of ['/healthz', '/readyz', '/metrics']) expect((await fetch(url + path)).status).toBe(404);
});

describe('the API', () => {
  test('has a route for each question', async () => {
    const { url } = await serve({ api: fakeApi() });
    const get = async (path: string): Promise<unknown> => (await apiFetch(`${url}/api/v1/${path}`)).json();
    const fleet = fleetView();
    expect(await get('status')).toEqual(JSON.parse(JSON.stringify(fleet)));
    expect(await get('clusters')).toEqual({ items: fleet.clusters });
    expect(await get('sources')).toEqual({ items: fleet.sources });
    expect(await get('removals')).toEqual({ items: fleet.heldRemovals });
    expect(await get('diagnostics')).toEqual({ items: fleet.diagnostics });
    expect(await get('outputs?cluster=east')).toMatchObject({ items: [{ cluster: 'east' }] });
    expect(await get('explain?cluster=east&object=ConfigMap/web/settings')).toMatchObject({ state: 'applied' });
    expect(await get('explain?object=Placement/shop&part=spec.paths')).toMatchObject({ field: { path: 'spec.paths' } });
    expect(await get('explain?object=Placement/shop&part=')).toMatchObject({ error: { reason: 'Invalid' } });
    expect(await get('explain?cluster=east')).toMatchObject({ error: { reason: 'Invalid' } });
    expect(await get('why-not?cluster=east&object=ConfigMap/web/x')).toMatchObject({ isThere: false });
    expect(await get('impact?path=apps/web.yaml&line=3')).toMatchObject({ total: 3, documents: [{}] });
    for (const wrong of ['why-not?cluster=east', 'impact', 'impact?path=a.yaml&line=x', 'impact?path=a.yaml&limit=0']) {
      expect(await get(wrong)).toMatchObject({ error: { reason: 'Invalid' } });
    }
    expect(await get('history?cluster=east&limit=5')).toMatchObject({ items: [{ sequence: 7 }, { sequence: 6 }] });
    for (const wrong of ['history', 'history?cluster=east&limit=0', 'history?cluster=east&since=soon']) {
      expect(await get(wrong)).toMatchObject({ error: { reason: 'Invalid' } });
    }
  });

  test('carries out acts, and returns the error of those that fail', async () => {
    const api = fakeApi();
    const { url } = await serve({ api });
    const approved = await post(`${url}/api/v1/approvals`, { digest: HELD_DIGEST, by: 'ann' });
    expect([approved.status, await approved.json()]).toMatchObject([200, { released: 1 }]);
    expect((await post(`${url}/api/v1/approvals`, { digest: 'x', by: 'ann' })).status).toBe(404);
    expect((await post(`${url}/api/v1/sources/main/accept`, { revision: 'abc', by: 'ann' })).status).toBe(409);
    expect((await post(`${url}/api/v1/clusters/west/replace`, { by: 'ann' })).status).toBe(200);
    expect(api.calls).toEqual([
      `approve ${HELD_DIGEST} by ann`,
      'approve x by ann',
      'accept main abc by ann',
      'replace west by ann',
    ]);
  });

  test.each([
    ['not JSON', '{', 400],
    ['a list', '[]', 400],
    ['a missing field', '{"by":"x"}', 400],
    ['a control character', '{"digest":"a\\u001bb"}', 400],
    ['a long field', JSON.stringify({ digest: 'y'.repeat(201) }), 400],
    ['a large body', JSON.stringify({ digest: 'x', by: 'y', more: 'z'.repeat(70_000) }), 413],
  ])('refuses %s', async (_, body, status) => {
    const api = fakeApi();
    const { url } = await serve({ api });
    const response = await post(`${url}/api/v1/approvals`, body);
    expect(response.status).toBe(status);
    expect(await response.json()).toHaveProperty('error.message');
    expect(api.calls).toEqual([]);
  });

  test('an unknown cluster is not an empty list', async () => {
    const { url } = await serve({ api: fakeApi() });
    expect((await apiFetch(`${url}/api/v1/outputs?cluster=nowhere`)).status).toBe(404);
  });

  test('the details of a thrown error are in the log and not in the answer', async () => {
    const api = fakeApi();
    const { url, log } = await serve({
      api: {
        ...api,
        status: () => {
          throw new Error('inner detail');
        },
      },
    });
    const response = await apiFetch(`${url}/api/v1/status`);
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain('inner detail');
    expect(log.lines.join('\n')).toContain('an HTTP request failed');
  });
});

describe('without people', () => {
  test.each(['0.0.0.0', '::', '192.168.1.1', 'fleet.example.com'])('it does not start on %s', (host) => {
    const deps = { clock: stoppedClock, log: recordingLog(), api: fakeApi() };
    // The token of local callers is for no other.
    for (const options of [{}, { localToken: TOKEN }]) {
      const made = createHttpServer(deps, { listen: { host, port: 0 }, ...options });
      expect(made).toMatchObject({ ok: false, problem: expect.stringContaining('--api-token-file') });
    }
  });

  test('it does not start on loopback without a token of its own', () => {
    const made = createHttpServer(
      { clock: stoppedClock, log: recordingLog(), api: fakeApi() },
      { listen: { host: '127.0.0.1', port: 0 } },
    );
    expect(made).toMatchObject({ ok: false });
  });

  test('a body that another type announces is refused', async () => {
    const { url } = await serve({ api: fakeApi() });
    const body = { digest: HELD_DIGEST, by: 'ann' };
    expect((await post(`${url}/api/v1/approvals`, body, { 'Content-Type': 'text/plain' })).status).toBe(415);
  });
});

describe('with a token', () => {
  test('every question needs it, on loopback as well', async () => {
    const { url } = await serve({ api: fakeApi() }, { people: [bob, ann] });
    const ask = async (authorization?: string): Promise<Response> =>
      fetch(`${url}/api/v1/status`, authorization === undefined ? {} : { headers: { Authorization: authorization } });
    expect((await ask(`Bearer ${TOKEN}`)).status).toBe(200);
    for (const wrong of [undefined, 'Bearer', `Bearer ${TOKEN}x`, `Bearer ${TOKEN.slice(1)}`, `Basic ${TOKEN}`]) {
      const response = await ask(wrong);
      expect(response.status).toBe(401);
      expect(await response.text()).not.toContain(TOKEN);
    }
  });

  test('it starts on every address', async () => {
    const { url } = await serve({ api: fakeApi() }, { people: [ann], listen: { host: '0.0.0.0', port: 0 } });
    expect((await fetch(`${url}/api/v1/status`)).status).toBe(401);
  });

  test('a short token is refused, and one that two people have', () => {
    const made = (people: readonly Person[]) =>
      createHttpServer(
        { clock: stoppedClock, log: recordingLog() },
        { listen: { host: '127.0.0.1', port: 0 }, people },
      );
    expect(made([{ ...ann, token: 'short' }])).toEqual({
      ok: false,
      problem: 'the API token of ann must be at least 16 printable characters without spaces',
    });
    expect(made([ann, { ...bob, token: TOKEN }])).toEqual({
      ok: false,
      problem: 'ann and bob have the same API token',
    });
  });
});

test('start() rejects if the port is in use', async () => {
  const { url } = await serve({});
  await expect(runServer({}, { listen: { host: '127.0.0.1', port: Number(new URL(url).port) } })).rejects.toThrow(
    'EADDRINUSE',
  );
});
