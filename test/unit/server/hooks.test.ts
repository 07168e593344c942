import { createHmac } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { bindPrivateSocket } from '../../../src/adapters/system/private-socket.ts';
import { apiFetch } from '../../support/api-fetch.ts';
import { type RunningServer, runServer } from '../../support/running-server.ts';

const SECRET = 'hook-secret-of-main';
const BODY = '{"ref":"refs/heads/main"}';
const running: RunningServer[] = [];
const triggered: string[] = [];

function target(source: string, secret: string | undefined) {
  return { source, secret, trigger: () => void triggered.push(source) };
}

async function serve(
  targets: readonly ReturnType<typeof target>[],
  options: Parameters<typeof runServer>[1] = {},
): Promise<RunningServer> {
  const server = await runServer({ hooks: { targets: () => targets } }, options);
  running.push(server);
  return server;
}

afterEach(async () => {
  triggered.length = 0;
  for (const server of running.splice(0)) await server.stop();
});

const sign = (body: string, secret = SECRET): string => createHmac('sha256', secret).update(body).digest('hex');

function call(url: string, headers: Record<string, string>, body = BODY): Promise<Response> {
  return fetch(url, { method: 'POST', body, headers: { 'Content-Type': 'application/json', ...headers } });
}

describe('a hook with a secret', () => {
  test.each([
    ['GitHub', { 'X-Hub-Signature-256': `sha256=${sign(BODY)}` }],
    ['Gitea', { 'X-Gitea-Signature': sign(BODY) }],
    ['GitLab', { 'X-Gitlab-Token': SECRET }],
  ])('is accepted with the proof of %s', async (_, headers) => {
    const { url } = await serve([target('main', SECRET)]);
    const response = await call(`${url}/hooks/git`, headers);
    expect([response.status, await response.json()]).toEqual([202, { accepted: true, sources: ['main'] }]);
    expect(triggered).toEqual(['main']);
  });

  test.each([
    ['no proof', {}],
    ['another secret', { 'X-Hub-Signature-256': `sha256=${sign(BODY, 'other')}` }],
    ['the signature of another body', { 'X-Hub-Signature-256': `sha256=${sign('{}')}` }],
    ['a signature without its prefix', { 'X-Hub-Signature-256': sign(BODY) }],
    ['the old, broken algorithm', { 'X-Hub-Signature': `sha1=${sign(BODY)}` }],
    ['another token', { 'X-Gitlab-Token': `${SECRET}x` }],
    ['an empty token', { 'X-Gitlab-Token': '' }],
  ])('is refused with %s', async (_, headers: Record<string, string>) => {
    const { url, log } = await serve([target('main', SECRET)]);
    const response = await call(`${url}/hooks/git`, headers);
    expect(response.status).toBe(401);
    expect(await response.text()).not.toContain(SECRET);
    expect(log.lines.join()).not.toContain(SECRET);
    expect(triggered).toEqual([]);
  });

  test('triggers only the sources whose secret it proves, or of these the one that it names', async () => {
    const { url } = await serve([target('main', SECRET), target('other', 'its-own-secret'), target('twin', SECRET)]);
    const headers = { 'X-Hub-Signature-256': `sha256=${sign(BODY)}` };
    await call(`${url}/hooks/git`, headers);
    expect(triggered.splice(0)).toEqual(['main', 'twin']);
    await call(`${url}/hooks/git/twin`, headers);
    expect(triggered.splice(0)).toEqual(['twin']);
    expect((await call(`${url}/hooks/git/other`, headers)).status).toBe(401);
    expect((await call(`${url}/hooks/git/nowhere`, headers)).status).toBe(404);
    expect(triggered).toEqual([]);
  });

  test('is accepted through a proxy and on every address', async () => {
    const { url } = await serve([target('main', SECRET)], { listen: { host: '0.0.0.0', port: 0 } });
    const headers = { 'X-Gitea-Signature': sign(BODY), 'X-Forwarded-For': '203.0.113.7' };
    expect((await call(`${url}/hooks/git`, headers)).status).toBe(202);
  });
});

describe('a hook of a push', () => {
  const status = 'fleetrelay/status/prod';
  const pushes: readonly (readonly [string, Record<string, string>])[] = [
    ['GitHub', { 'X-GitHub-Event': 'push' }],
    ['Gitea', { 'X-GitHub-Event': 'push', 'X-Gitea-Event': 'push' }],
    ['GitLab', { 'X-Gitlab-Event': 'Push Hook' }],
  ];
  const main = { ...target('main', SECRET), branch: 'main' };
  const preview = { ...target('preview', SECRET), branch: 'preview' };
  const calling = async (event: Record<string, string>, body: string): Promise<unknown> => {
    const { url } = await serve([main, preview]);
    return (await call(`${url}/hooks/git`, { ...event, 'X-Gitea-Signature': sign(body) }, body)).json();
  };

  test.each(pushes)('of %s triggers the sources that follow its branch', async (_, event) => {
    expect(await calling(event, BODY)).toEqual({ accepted: true, sources: ['main'] });
    expect(triggered).toEqual(['main']);
  });

  test.each(pushes)('of %s to the status branch triggers none', async (_, event) => {
    const body = JSON.stringify({ ref: `refs/heads/${status}` });
    expect(await calling(event, body)).toEqual({ accepted: true, sources: [] });
    expect(triggered).toEqual([]);
  });

  test('triggers a source that follows the default branch at each push', async () => {
    const { url } = await serve([target('default', SECRET)]);
    await call(`${url}/hooks/git`, { 'X-GitHub-Event': 'push', 'X-Gitea-Signature': sign(BODY) });
    expect(triggered).toEqual(['default']);
  });

  test.each([
    ['about something else', { 'X-GitHub-Event': 'status' }, BODY.replace('main', 'other')],
    ['without a name of the event', {}, BODY.replace('main', 'other')],
    ['without a ref', { 'X-GitHub-Event': 'push' }, '{}'],
    ['that is no JSON', { 'X-GitHub-Event': 'push' }, '{"ref":'],
    ['with a ref that is no text', { 'X-GitHub-Event': 'push' }, '{"ref":["refs/heads/other"]}'],
  ])('%s triggers all sources', async (_, event: Record<string, string>, body) => {
    await calling(event, body);
    expect(triggered).toEqual(['main', 'preview']);
  });
});

describe('a hook without a secret', () => {
  const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });
  const ann = { name: 'ann', role: 'operate', token: 'a-token-of-enough-length' } as const;
  const bob = { name: 'bob', role: 'read', token: 'another-token-of-length' } as const;

  test('is accepted with the token that the server makes, through a proxy as well', async () => {
    const { url } = await serve([target('main', undefined)]);
    const init = { method: 'POST', headers: { 'X-Forwarded-For': '203.0.113.7' } };
    expect((await apiFetch(`${url}/hooks/git`, init)).status).toBe(202);
    expect(triggered).toEqual(['main']);
  });

  test.each([
    ['no header', {}],
    ['the headers of a proxy', { 'X-Forwarded-For': '203.0.113.7' }],
    ['an origin', { Origin: 'https://evil.example.com' }],
    ['the token of a secret', { 'X-Gitlab-Token': SECRET }],
    ['a wrong token', bearer('a-token-of-enough-lengt')],
  ])('is refused without it, with %s', async (_, headers: Record<string, string>) => {
    const { url } = await serve([target('main', undefined)]);
    const response = await call(`${url}/hooks/git`, headers);
    expect([response.status, await response.json()]).toMatchObject([401, { error: { reason: 'Unauthorized' } }]);
    expect(triggered).toEqual([]);
  });

  test('is accepted on every address with a token of the role operate, and triggers no source with a secret', async () => {
    const targets = [target('main', undefined), target('other', SECRET)];
    const { url } = await serve(targets, { listen: { host: '0.0.0.0', port: 0 }, people: [ann, bob] });
    expect((await call(`${url}/hooks/git`, {})).status).toBe(401);
    expect((await call(`${url}/hooks/git`, bearer(bob.token))).status).toBe(403);
    expect((await call(`${url}/hooks/git/other`, bearer(ann.token))).status).toBe(401);
    expect(triggered).toEqual([]);
    expect((await call(`${url}/hooks/git`, bearer(ann.token))).status).toBe(202);
    expect(triggered.splice(0)).toEqual(['main']);
    const both = { ...bearer(ann.token), 'X-Hub-Signature-256': `sha256=${sign(BODY)}` };
    await call(`${url}/hooks/git`, both);
    expect(triggered).toEqual(['main', 'other']);
  });

  test('is accepted at the Unix socket, whose file says who may open it', async () => {
    const socket = join(mkdtempSync(join(tmpdir(), 'hooks-')), 'api.sock');
    await serve([target('main', undefined)], { listen: { socket, bind: bindPrivateSocket } });
    const status = await new Promise((resolve, reject) => {
      const asked = request({ socketPath: socket, path: '/hooks/git', method: 'POST', agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      asked.once('error', reject);
      asked.end();
    });
    expect([status, triggered]).toEqual([202, ['main']]);
  });
});

test('no proof of an empty secret is accepted', async () => {
  const { url } = await serve([target('main', '')]);
  for (const headers of [{ 'X-Gitlab-Token': '' }, { 'X-Gitea-Signature': sign(BODY, '') }, {}]) {
    expect((await call(`${url}/hooks/git`, headers)).status).toBe(401);
  }
  expect(triggered).toEqual([]);
});

test('a body that is too large is refused', async () => {
  const { url } = await serve([target('main', SECRET)]);
  const body = 'x'.repeat((5 << 20) + 1);
  expect((await call(`${url}/hooks/git`, { 'X-Gitea-Signature': sign(body) }, body)).status).toBe(413);
  expect(triggered).toEqual([]);
});

test.each(['GET', 'PUT', 'OPTIONS', 'DELETE', 'PATCH'])('a %s does not trigger a hook', async (method) => {
  const { url } = await serve([target('main', undefined)]);
  const response = await apiFetch(`${url}/hooks/git`, { method });
  expect([response.status, response.headers.get('Allow')]).toEqual([405, 'POST']);
  expect(triggered).toEqual([]);
});
