import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import { apiFetch } from '../support/api-fetch.ts';
import { type RunningServer, runServer } from '../support/running-server.ts';
import { fakeApi, HELD_DIGEST } from '../support/server-api.ts';

const SECRET = 'hook-secret-of-main';
const MIB = 1 << 20;
const triggered: string[] = [];
const targets = [{ source: 'main', secret: SECRET, trigger: () => void triggered.push('main') }];
const calls: ClientRequest[] = [];
let server: RunningServer | undefined;

afterEach(async () => {
  triggered.length = 0;
  for (const call of calls.splice(0)) call.destroy();
  await server?.stop();
});

const sign = (body: string): string => `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`;

/** Begins a call of the hook. Without a length, its body is chunked. */
function begin(url: string, headers: Record<string, string | number> = {}, localAddress = '127.0.0.1'): ClientRequest {
  const signed = { 'X-Hub-Signature-256': sign('{}'), ...headers };
  const call = request(`${url}/hooks/git`, { method: 'POST', headers: signed, localAddress, agent: false });
  // A call that the server ends is no failure of the test.
  call.on('error', () => undefined);
  calls.push(call);
  return call;
}

async function statusOf(call: ClientRequest): Promise<number | undefined> {
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

/** Sends bytes of a body that goes on, and waits until they have left. */
function sendSome(call: ClientRequest, bytes: number): Promise<void> {
  return new Promise((resolve) => call.write(Buffer.alloc(bytes, 0x20), () => resolve()));
}

describe('a body without a length', () => {
  test('is taken by hooks', async () => {
    server = await runServer({ hooks: { targets: () => targets } });
    const call = begin(server.url);
    call.write('{');
    call.end('}');
    expect([await statusOf(call), triggered]).toEqual([202, ['main']]);
  });

  test('is taken by the API', async () => {
    const api = fakeApi();
    server = await runServer({ api });
    const text = JSON.stringify({ digest: HELD_DIGEST, by: 'ann' });
    const body = new Blob([text]).stream();
    const headers = { 'Content-Type': 'application/json' };
    const url = `${server.url}/api/v1/approvals`;
    const init = { method: 'POST', headers, body, duplex: 'half' } as const;
    expect((await apiFetch(url, init)).status).toBe(200);
    expect(api.calls).toEqual([`approve ${HELD_DIGEST} by ann`]);
  });

  test.each([5 * MIB, 5 * MIB + 1])('is taken by hooks up to 5 MiB: %d bytes', async (bytes) => {
    server = await runServer({ hooks: { targets: () => targets } });
    const body = ' '.repeat(bytes);
    const call = begin(server.url, { 'X-Hub-Signature-256': sign(body) });
    call.end(body);
    expect(await statusOf(call)).toBe(bytes > 5 * MIB ? 413 : 202);
  });

  test.each(['/hooks/git', '/api/v1/approvals'])('and without bytes is no error of the server at %s', async (path) => {
    server = await runServer({ api: fakeApi(), hooks: { targets: () => targets } });
    for (const headers of [{ 'Transfer-Encoding': 'chunked' }, { 'Content-Length': 0 }]) {
      const call = request(server.url + path, { method: 'POST', headers, agent: false });
      call.end();
      expect(await statusOf(call)).toBe(401);
    }
    const known = { method: 'POST', headers: { 'Content-Type': 'application/json', 'X-Gitlab-Token': SECRET } };
    expect((await apiFetch(server.url + path, known)).status).toBe(path === '/hooks/git' ? 202 : 400);
    expect(server.log.lines.filter((line) => line.startsWith('error'))).toEqual([]);
  });
});

describe('slow bodies', () => {
  test('that announce much take what has arrived of them, and keep no other call away', async () => {
    server = await runServer({ hooks: { targets: () => targets } });
    const slow = Array.from({ length: 100 }, () => begin(server?.url ?? '', { 'Content-Length': 5 * MIB }));
    await Promise.all(slow.map((call) => sendSome(call, 1_000)));
    for (const address of ['127.0.0.1', '127.0.0.2']) {
      const call = begin(server.url, {}, address);
      call.end('{}');
      expect(await statusOf(call)).toBe(202);
    }
    expect(slow.filter(({ destroyed }) => destroyed)).toEqual([]);
  });

  test('of one address lose their own where they hold too much, the largest first', async () => {
    server = await runServer({ hooks: { targets: () => targets } });
    const small = begin(server.url, {}, '127.0.0.2');
    const other = begin(server.url, { 'Content-Length': 2 }, '127.0.0.3');
    other.write('{');
    await sendSome(small, 1_000);
    const lengths = [4, 4, 3, 5];
    const large = lengths.map((length) => begin(server?.url ?? '', { 'Content-Length': length * MIB }, '127.0.0.2'));
    const first = Promise.race(large.map(async (call) => [large.indexOf(call), await statusOf(call)]));
    for (const [index, length] of lengths.entries()) {
      const call = large[index];
      // All but the last byte.
      if (call !== undefined) await sendSome(call, length * MIB - 1);
    }
    expect(await first).toEqual([3, 503]);
    other.end('}');
    expect(await statusOf(other)).toBe(202);
    small.destroy();
    expect(large.slice(0, 3).some(({ destroyed }) => destroyed)).toBe(false);
  });

  test('of callers that show no proof are not received at all', async () => {
    server = await runServer({ api: fakeApi(), hooks: { targets: () => targets } });
    for (const path of ['/hooks/git', '/api/v1/approvals']) {
      const call = request(server.url + path, { method: 'POST', headers: { 'Content-Length': 5 * MIB }, agent: false });
      call.on('error', () => undefined);
      calls.push(call);
      call.flushHeaders();
      expect(await statusOf(call)).toBe(401);
    }
  });
});

describe('callers who are not known', () => {
  test.each(['OPTIONS', 'PUT', 'DELETE', 'POST', 'GET'])('fill no log by %s', async (method) => {
    server = await runServer({ api: fakeApi(), hooks: { targets: () => targets } });
    const statuses = new Set<string>();
    for (let count = 0; count < 60; count += 1) {
      for (const path of ['/hooks/git', '/api/v1/status', '/nothing']) {
        const body = method === 'GET' ? {} : { body: '{}' };
        const response = await fetch(server.url + path, { method, ...body });
        statuses.add(`${path} ${response.status}`);
      }
    }
    const hook = method === 'POST' ? 401 : 405;
    expect([...statuses]).toEqual([`/hooks/git ${hook}`, '/api/v1/status 401', '/nothing 404']);
    expect(server.log.lines.length).toBeLessThan(30);
    expect(server.log.lines.join('\n')).not.toContain('    at ');
  });

  test('cause an error of ours without filling a log', async () => {
    const api = fakeApi();
    const broken = () => {
      throw new Error('inner detail');
    };
    server = await runServer({ api, hooks: { targets: broken } });
    for (let count = 0; count < 60; count += 1) {
      expect((await fetch(`${server.url}/hooks/git`, { method: 'POST', body: '{}' })).status).toBe(500);
    }
    expect(server.log.lines.length).toBeLessThan(30);
  });
});
