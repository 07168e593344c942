import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import type { HookPullRequests, HookTarget } from '../../../src/server/hook-routes.ts';
import { pullRequestEvent } from '../../../src/server/pull-request-event.ts';
import { type RunningServer, runServer } from '../../support/running-server.ts';

type Headers = Readonly<Record<string, string>>;

const GITHUB: Headers = { 'X-GitHub-Event': 'pull_request' };
const GITEA: Headers = { 'X-GitHub-Event': 'pull_request', 'X-Gitea-Event': 'pull_request' };
const GITLAB: Headers = { 'X-Gitlab-Event': 'Merge Request Hook' };

/** A body as GitHub and Gitea send it. */
const body = (changed: object = {}) => ({
  action: 'opened',
  number: 7,
  pull_request: { number: 7, base: { ref: 'main' }, head: { ref: 'topic', sha: 'f'.repeat(40) } },
  repository: { full_name: 'acme/fleet' },
  ...changed,
});

/** A body as GitLab sends it. */
const merge = (changed: object = {}) => ({
  object_kind: 'merge_request',
  project: { path_with_namespace: 'acme/fleet' },
  object_attributes: { iid: 7, target_branch: 'main', source_branch: 'topic', action: 'open', ...changed },
});

function eventOf(headers: Headers, value: unknown) {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return pullRequestEvent((name) => headers[name], new TextEncoder().encode(text));
}

const expected = (host: string) => ({ host, repository: 'acme/fleet', base: 'main', number: 7 });

test.each([
  ['GitHub', 'github', GITHUB, ['opened', 'reopened', 'synchronize']],
  ['Gitea', 'gitea', GITEA, ['opened', 'reopened', 'synchronized']],
])('%s tells of pull requests', (_, host, headers, actions) => {
  for (const action of actions) expect(eventOf(headers, body({ action }))).toEqual(expected(host));
});

test('GitLab tells of merge requests', () => {
  for (const changed of [{}, { action: 'reopen' }, { action: 'update', oldrev: 'e'.repeat(40) }])
    expect(eventOf(GITLAB, merge(changed))).toEqual(expected('gitlab'));
});

test('a pull request that goes into another branch than before is told of', () => {
  const edited = (changes: object) => ({ ...body({ action: 'edited' }), changes });
  expect(eventOf(GITHUB, edited({ base: { ref: { from: 'next' }, sha: { from: 'e' } } }))).toEqual(expected('github'));
  expect(eventOf(GITEA, edited({ ref: { from: 'next' } }))).toEqual(expected('gitea'));
  const changes = { target_branch: { previous: 'next', current: 'main' } };
  expect(eventOf(GITLAB, { ...merge({ action: 'update' }), changes })).toEqual(expected('gitlab'));
});

test('a hook may send its body as a form', () => {
  const headers = { ...GITHUB, 'Content-Type': 'application/x-www-form-urlencoded' };
  const form = new URLSearchParams({ payload: JSON.stringify(body()) });
  expect(eventOf(headers, form.toString())).toEqual(expected('github'));
});

describe('no plan is needed', () => {
  test.each([
    ['after a push', { 'X-GitHub-Event': 'push' }, body()],
    ['without a name of the event', {}, body()],
    ['when a pull request is closed', GITHUB, body({ action: 'closed' })],
    ['when it gets a label', GITEA, body({ action: 'label_updated' })],
    ['when its title changes', GITHUB, { ...body({ action: 'edited' }), changes: { title: { from: 'x' } } }],
    ['when a merge request gets another title', GITLAB, merge({ action: 'update' })],
    ['when a merge request is merged', GITLAB, merge({ action: 'merge' })],
  ])('%s', (_, headers: Headers, value) => {
    expect(eventOf(headers, value)).toBeUndefined();
  });
});

describe('a body is refused', () => {
  test.each([
    ['without a number', body({ number: undefined })],
    ['with a number as text', body({ number: '7' })],
    ['with a number that is a path', body({ number: '7/../../user' })],
    ['with a number below 1', body({ number: 0 })],
    ['with a fraction', body({ number: 1.5 })],
    ['with a number that is too large', body({ number: 2 ** 31 })],
    ['without a repository', body({ repository: null })],
    ['with a list as the repository', body({ repository: { full_name: ['acme/fleet'] } })],
    ['without a branch', body({ pull_request: { base: {} } })],
    ['with an action that is an object', body({ action: { opened: true } })],
    ['that is a list', [body()]],
    ['that is no JSON', '{"action":"opened"'],
    ['that is empty', ''],
    ['that has a prototype', '{"__proto__":{"action":"opened","number":7}}'],
    ['that is deep', '['.repeat(200_000)],
  ])('%s', (_, value) => {
    for (const headers of [GITHUB, GITEA, GITLAB]) expect(eventOf(headers, value)).toBeUndefined();
  });

  test('of any JSON value, without a throw', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(GITHUB, GITEA, GITLAB), (value, headers) => {
        expect(eventOf(headers, value)).toBeUndefined();
        const inside = eventOf(headers, { ...body(), object_attributes: value, pull_request: value });
        expect(inside).toBeUndefined();
      }),
    );
  });
});

const SECRET = 'hook-secret-of-main';
const running: RunningServer[] = [];
const requested: string[] = [];
let triggered = 0;

afterEach(async () => {
  requested.length = 0;
  triggered = 0;
  for (const server of running.splice(0)) await server.stop();
});

function target(source: string, changed: Partial<HookPullRequests> = {}): HookTarget {
  const request = async (number: number): Promise<boolean> => requested.push(`${source}#${number}`) > 0;
  const pullRequests: HookPullRequests = {
    host: 'github',
    repository: 'acme/fleet',
    branch: 'main',
    request,
    ...changed,
  };
  const trigger = (): void => {
    triggered += 1;
  };
  return { source, secret: SECRET, trigger, pullRequests };
}

async function serve(...targets: readonly HookTarget[]): Promise<string> {
  const server = await runServer({ hooks: { targets: () => targets } });
  running.push(server);
  return server.url;
}

function call(url: string, headers: Headers, value: unknown, secret = SECRET): Promise<Response> {
  const text = JSON.stringify(value);
  const signature = createHmac('sha256', secret).update(text).digest('hex');
  const signed = { 'Content-Type': 'application/json', 'X-Hub-Signature-256': `sha256=${signature}` };
  return fetch(`${url}/hooks/git`, { method: 'POST', body: text, headers: { ...signed, ...headers } });
}

test('a signed call about the branch of a source queues its pull request', async () => {
  const url = await serve(target('main'), target('release', { branch: 'release' }), target('lab', { host: 'gitlab' }));
  const response = await call(url, GITHUB, body({ repository: { full_name: 'Acme/Fleet' } }));
  expect([response.status, await response.json()]).toEqual([
    202,
    { accepted: true, sources: ['main'], pullRequest: 7 },
  ]);
  expect(requested).toEqual(['main#7']);
});

test.each([
  ['another repository', body({ repository: { full_name: 'evil/fleet' } })],
  ['another branch', body({ pull_request: { base: { ref: 'main2' } } })],
])('a signed call about %s queues nothing, and is a request to look', async (_, value) => {
  const url = await serve(target('main'));
  expect((await call(url, GITHUB, value)).status).toBe(202);
  expect([requested, triggered]).toEqual([[], 1]);
});

test('a call that proves no secret queues nothing', async () => {
  const url = await serve(target('main'));
  expect((await call(url, GITHUB, body(), 'guess')).status).toBe(401);
  expect([requested, triggered]).toEqual([[], 0]);
});

test('a call of GitLab has the secret itself', async () => {
  const url = await serve(target('main', { host: 'gitlab' }));
  const headers = { ...GITLAB, 'X-Gitlab-Token': SECRET };
  expect((await call(url, headers, merge(), 'unsigned')).status).toBe(202);
  expect(requested).toEqual(['main#7']);
});

test.each<[string, HookPullRequests['request'], RegExp]>([
  ['too many pull requests wait', async () => false, /^too many pull requests of full wait/],
  ['the store does not answer', () => Promise.reject(new Error('away')), /^the store does not answer/],
])('while %s, a call is to be repeated, also if another source has queued it', async (_, request, message) => {
  const url = await serve(target('main'), target('full', { request }));
  const response = await call(url, GITHUB, body());
  const error = { reason: 'Unavailable', message: expect.stringMatching(message) };
  expect([response.status, await response.json()]).toMatchObject([503, { error }]);
  expect(requested).toEqual(['main#7']);
});
