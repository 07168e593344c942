import { createHmac } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
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
  test('is accepted from this machine', async () => {
    const { url } = await serve([target('main', undefined)]);
    expect((await call(`${url}/hooks/git`, {})).status).toBe(202);
    expect(triggered).toEqual(['main']);
  });

  test.each([
    ['a proxy', { 'X-Forwarded-For': '203.0.113.7' }],
    ['a web page', { Origin: 'https://evil.example.com' }],
  ])('is refused from %s', async (_, headers: Record<string, string>) => {
    const { url } = await serve([target('main', undefined)]);
    expect((await call(`${url}/hooks/git`, headers)).status).toBe(403);
    expect(triggered).toEqual([]);
  });

  test('is refused on an address that other machines can reach', async () => {
    const { url } = await serve([target('main', undefined)], { listen: { host: '0.0.0.0', port: 0 } });
    const response = await call(`${url}/hooks/git`, {});
    expect([response.status, await response.json()]).toMatchObject([403, { error: { reason: 'Forbidden' } }]);
    expect(triggered).toEqual([]);
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

test('a GET does not trigger a hook', async () => {
  const { url } = await serve([target('main', undefined)]);
  expect((await fetch(`${url}/hooks/git`)).status).toBe(405);
  expect(triggered).toEqual([]);
});
