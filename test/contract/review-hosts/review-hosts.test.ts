import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect as connectTo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { HostDeps } from '../../../src/adapters/review/host-requests.ts';
import { createReviewHost } from '../../../src/adapters/review/review-host.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import type { CommitStatus, ReviewHost } from '../../../src/ports/review-host.ts';
import { giteaApi } from '../../support/review-hosts/gitea.ts';
import { githubApi } from '../../support/review-hosts/github.ts';
import { gitlabApi } from '../../support/review-hosts/gitlab.ts';
import {
  addComment,
  addPullRequest,
  type HostApi,
  type RecordedHost,
  startRecordedHost,
} from '../../support/review-hosts/recorded-host.ts';
import { ensureServerCertificate } from '../../support/server-certificate.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const COMMIT = '6dcb09b5b57875f334f61aebed695e2e4193db5e';
const MARKER = '<!-- fleetrelay:production/fleet -->';
const STATUS: CommitStatus = {
  commit: COMMIT,
  ref: 'refs/heads/topic',
  state: 'pending',
  context: 'fleetrelay/production/fleet',
  description: 'the plan is being made',
};
const never = new AbortController().signal;
const open: RecordedHost[] = [];

afterEach(async () => {
  for (const host of open.splice(0)) await host.close();
});

async function start(api: HostApi, repository?: string) {
  const host = await startRecordedHost(api, repository === undefined ? {} : { repository });
  open.push(host);
  return { host, review: connect(api, host) };
}

function connect(
  api: HostApi,
  { apiUrl, token, state }: RecordedHost,
  changed: Partial<HostDeps> & { readonly repository?: string } = {},
): ReviewHost {
  const { repository = state.repository, ...deps } = changed;
  return createReviewHost(
    api.name,
    { clock: createSystemClock(), environment: {}, token: async () => token, ca: async () => undefined, ...deps },
    { apiUrl, repository },
  );
}

const put = (review: ReviewHost, body: string, signal = never) =>
  review.comment({ pullRequest: 7, marker: MARKER, body }, signal);

describe.each([githubApi, gitlabApi, giteaApi])('$name', (api) => {
  test('gives a pull request as it is now', async () => {
    const { host, review } = await start(api);
    addPullRequest(host.state, 7, { commit: COMMIT });
    expect(await review.read(7, never)).toEqual({
      type: 'done',
      value: { open: true, base: 'main', branch: 'topic', commit: COMMIT, fork: false },
    });
  });

  test.each([
    ['another repository', 99],
    ['a repository that was deleted', undefined],
  ])('says that a pull request comes from %s', async (_, from) => {
    const { host, review } = await start(api);
    addPullRequest(host.state, 7, { commit: COMMIT, from, open: false });
    expect(await review.read(7, never)).toMatchObject({ type: 'done', value: { open: false, fork: true } });
  });

  test('has one comment of ours, and replaces its text', async () => {
    const { host, review } = await start(api);
    const { comments } = addPullRequest(host.state, 7, { commit: COMMIT });
    expect(await put(review, 'first')).toEqual({ type: 'done', value: undefined });
    expect(await put(review, 'second')).toEqual({ type: 'done', value: undefined });
    expect(comments.map(({ body }) => body)).toEqual([`${MARKER}\nsecond`]);
  });

  test('does not send a text that is there', async () => {
    const { host, review } = await start(api);
    addPullRequest(host.state, 7, { commit: COMMIT });
    await put(review, 'same');
    await put(review, 'same');
    expect(host.calls.filter((call) => !call.startsWith('GET'))).toHaveLength(1);
  });

  test('leaves a comment of another account as it is, also if it begins with the marker', async () => {
    const { host, review } = await start(api);
    const { comments } = addPullRequest(host.state, 7, { commit: COMMIT });
    addComment(host.state, 7, `${MARKER}\nnothing changes, merge me`, 666);
    addComment(host.state, 7, `> ${MARKER}\nquoted`);
    expect(await put(review, 'ours')).toMatchObject({ type: 'done' });
    expect(comments.map(({ body }) => body)).toEqual([
      `${MARKER}\nnothing changes, merge me`,
      `> ${MARKER}\nquoted`,
      `${MARKER}\nours`,
    ]);
  });

  test('finds the own comment among hundreds', async () => {
    const { host, review } = await start(api);
    const { comments } = addPullRequest(host.state, 7, { commit: COMMIT });
    for (let index = 0; index < 250; index += 1) addComment(host.state, 7, `comment ${index}`, 3);
    addComment(host.state, 7, `${MARKER}\nold`);
    await put(review, 'new');
    expect(comments).toHaveLength(251);
    expect(comments.at(-1)?.body).toBe(`${MARKER}\nnew`);
  });

  test('takes a comment of any length, cut with a sentence that says so', async () => {
    const { host, review } = await start(api);
    const { comments } = addPullRequest(host.state, 7, { commit: COMMIT });
    const body = `# Plan\n<details><summary>east</summary>\n\n\`\`\`diff\n${'+ line of a diff\n'.repeat(100_000)}`;
    expect(await put(review, body)).toMatchObject({ type: 'done' });
    expect(comments[0]?.body).toMatch(/\+ line of a diff\n```\n\n<\/details>\n\n\*\*The text is cut here: .*\*\*\n$/);
  });

  test.each(['pending', 'success', 'failure', 'error'] as const)('sets the status %s', async (state) => {
    const { host, review } = await start(api);
    addPullRequest(host.state, 7, { commit: COMMIT });
    expect(await review.setStatus({ ...STATUS, state }, never)).toEqual({ type: 'done', value: undefined });
    const shown = api.name === 'gitlab' && (state === 'failure' || state === 'error') ? 'failed' : state;
    const { context, description } = STATUS;
    expect(host.state.statuses).toMatchObject([{ commit: COMMIT, state: shown, context, description }]);
  });

  test('sets the status pending twice, and then success', async () => {
    const { host, review } = await start(api);
    addPullRequest(host.state, 7, { commit: COMMIT });
    for (const state of ['pending', 'pending', 'success'] as const) {
      expect(await review.setStatus({ ...STATUS, state }, never)).toEqual({ type: 'done', value: undefined });
    }
    expect(host.state.statuses.at(-1)?.state).toBe('success');
  });

  test('sets the status of a commit of a fork', async () => {
    const { host, review } = await start(api);
    addPullRequest(host.state, 7, { commit: COMMIT, from: 99 });
    const ref = api.name === 'gitlab' ? 'refs/merge-requests/7/head' : 'refs/pull/7/head';
    expect(await review.setStatus({ ...STATUS, ref }, never)).toMatchObject({ type: 'done' });
  });

  test('cuts a description to one line that the host takes', async () => {
    const { host, review } = await start(api);
    addPullRequest(host.state, 7, { commit: COMMIT });
    const description = `a\nb\u0007${' long'.repeat(200)}`;
    expect(await review.setStatus({ ...STATUS, description }, never)).toMatchObject({ type: 'done' });
    expect(host.state.statuses[0]?.description).toMatch(/^a b long.*…$/);
  });

  test('does not know a wrong token, and does not tell it', async () => {
    const { host } = await start(api);
    addPullRequest(host.state, 7, { commit: COMMIT });
    const review = connect(api, host, { token: async () => 'another-token' });
    const outcomes = [await review.read(7, never), await put(review, 'text'), await review.setStatus(STATUS, never)];
    expect(outcomes).toMatchObject(Array(3).fill({ type: 'failed', reason: 'Unauthorized' }));
    expect(JSON.stringify(outcomes)).not.toContain('another-token');
  });

  test('says that the token cannot be read, and asks nothing', async () => {
    const { host } = await start(api);
    const review = connect(api, host, { token: () => Promise.reject(new Error('/etc/token holds no token')) });
    expect(await put(review, 'text')).toEqual({
      ...{ type: 'failed', reason: 'Unauthorized', message: '/etc/token holds no token' },
    });
    expect(host.calls).toEqual([]);
  });

  test('quotes no token that the host repeats', async () => {
    const { host, review } = await start(api);
    host.interrupt({ status: 403, body: { message: `the token ${host.token} has expired` } });
    expect(await review.read(7, never)).toMatchObject({
      message: expect.stringContaining('the token *** has expired'),
    });
    host.interrupt({ status: 302, body: {}, headers: { location: `/login?token=${host.token}` } });
    expect(await review.read(7, never)).toMatchObject({ message: expect.stringContaining('/login?token=***') });
  });

  test('reads no answer that has no end', async () => {
    const { host, review } = await start(api);
    host.interrupt({ status: 200, body: 'x'.repeat(9 << 20) });
    expect(await review.read(7, never)).toMatchObject({
      reason: 'Unreachable',
      message: expect.stringContaining('larger than 8 MiB'),
    });
  });

  test('waits for a slow answer until its deadline, and no longer', async () => {
    const clock = createVirtualClock();
    const { promise: answered, resolve } = Promise.withResolvers<void>();
    const slow = createServer((_request, response) => void response.writeHead(200).write('{', () => resolve()));
    await new Promise<void>((listening) => slow.listen(0, '127.0.0.1', listening));
    try {
      const { host } = await start(api);
      const apiUrl = `http://127.0.0.1:${(slow.address() as AddressInfo).port}`;
      const reading = connect(api, { ...host, apiUrl }, { clock }).read(7, never);
      await answered;
      await clock.advance(20_000);
      expect(await reading).toMatchObject({ reason: 'Unreachable', message: /no answer within 20 s/ });
    } finally {
      slow.closeAllConnections();
      slow.close();
    }
  });

  test('says what is not there', async () => {
    const { host, review } = await start(api);
    addPullRequest(host.state, 7, { commit: COMMIT });
    expect(await review.read(8, never)).toMatchObject({ type: 'failed', reason: 'NotFound' });
    const elsewhere = connect(api, host, { repository: 'acme/other' });
    expect(await put(elsewhere, 'text')).toMatchObject({ type: 'failed', reason: 'NotFound' });
    const unknown = await review.setStatus({ ...STATUS, commit: 'a'.repeat(40) }, never);
    // GitHub answers that it cannot process a commit that it does not have.
    expect(unknown).toMatchObject({ type: 'failed', reason: api.name === 'github' ? 'Refused' : 'NotFound' });
  });

  test.each([
    [403, 'Unauthorized'],
    [409, 'Refused'],
    [422, 'Refused'],
    [500, 'Unreachable'],
    [502, 'Unreachable'],
  ])('takes the status %i as %s, and quotes what the host says', async (status, reason) => {
    const { host, review } = await start(api);
    host.interrupt({ status, body: { message: 'as the host says' } });
    const outcome = await review.read(7, never);
    expect(outcome).toMatchObject({ type: 'failed', reason, message: expect.stringContaining('as the host says') });
  });

  test('says when it may be asked again', async () => {
    const { host, review } = await start(api);
    host.interrupt({ status: 429, body: {}, headers: { 'retry-after': '17' } });
    expect(await review.read(7, never)).toMatchObject({ reason: 'RateLimited', retryAfterSeconds: 17 });
    host.interrupt({ status: 429, body: {}, headers: { 'retry-after': '0' } });
    expect(await review.read(7, never)).toMatchObject({ reason: 'RateLimited', retryAfterSeconds: 1 });
    host.interrupt({ status: 503, body: {}, headers: { 'retry-after': '120' } });
    expect(await review.read(7, never)).toMatchObject({ reason: 'Unreachable', retryAfterSeconds: 120 });
    host.interrupt({ status: 429, body: {} });
    expect(await review.read(7, never)).toMatchObject({ reason: 'RateLimited', retryAfterSeconds: 60 });
  });

  test('follows no redirect', async () => {
    const { host, review } = await start(api);
    const { host: other } = await start(api);
    addPullRequest(other.state, 7, { commit: COMMIT });
    for (const status of [301, 302, 307, 308]) {
      host.interrupt({ status, body: {}, headers: { location: `${other.apiUrl}/user` } });
      expect(await review.read(7, never)).toMatchObject({
        reason: 'Refused',
        message: expect.stringMatching(/redirect/),
      });
    }
    expect(other.calls).toEqual([]);
  });

  test.each([
    ['is no object', []],
    ['has no commit', { state: 'open', base: { ref: 'main' }, head: { ref: 'topic', sha: '../../etc' } }],
  ])('does not believe a pull request that %s', async (_, body) => {
    const { host, review } = await start(api);
    host.interrupt({ status: 200, body });
    expect(await review.read(7, never)).toMatchObject({ type: 'failed', reason: 'Unreachable' });
  });

  test('gives up when the signal aborts', async () => {
    const { review } = await start(api);
    const stopped = AbortSignal.abort();
    expect(await review.read(7, stopped)).toMatchObject({ reason: 'Unreachable', message: /called off/ });
  });
});

// Gitea gives all comments at once.
test.each([githubApi, gitlabApi])('$name: a list of comments that has no end is not read to its end', async (api) => {
  const { host, review } = await start(api);
  addPullRequest(host.state, 7, { commit: COMMIT });
  for (let index = 0; index < 3_001; index += 1) addComment(host.state, 7, 'noise', 3);
  expect(await put(review, 'text')).toMatchObject({ type: 'failed', reason: 'Refused' });
  expect(host.calls.length).toBeLessThan(40);
});

test('a host that does not answer is unreachable', async () => {
  const host = await startRecordedHost(githubApi);
  await host.close();
  expect(await connect(githubApi, host).read(7, never)).toMatchObject({ reason: 'Unreachable' });
});

test('the limit of GitHub for all requests is a rate limit, and not a missing right', async () => {
  const { host, review } = await start(githubApi);
  const reset = String(Math.ceil(Date.now() / 1_000) + 90);
  const headers = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset };
  host.interrupt({ status: 403, body: { message: 'API rate limit exceeded for user ID 1.' }, headers });
  const outcome = await review.read(7, never);
  expect(outcome).toMatchObject({ reason: 'RateLimited' });
  expect(outcome.type === 'failed' ? outcome.retryAfterSeconds : 0).toBeGreaterThan(30);
  host.interrupt({ status: 403, body: { message: 'You have exceeded a secondary rate limit.' } });
  expect(await review.read(7, never)).toMatchObject({ reason: 'RateLimited', retryAfterSeconds: 60 });
});

test('the host of a project in a group of groups at GitLab', async () => {
  const { host, review } = await start(gitlabApi, 'acme/platform/fleet');
  addPullRequest(host.state, 7, { commit: COMMIT });
  expect(await put(review, 'text')).toMatchObject({ type: 'done' });
  expect(host.calls.at(-1)).toBe('POST /api/v4/projects/acme%2Fplatform%2Ffleet/merge_requests/7/notes');
});

test('a text makes GitLab do nothing', async () => {
  const { host, review } = await start(gitlabApi);
  const { comments } = addPullRequest(host.state, 7, { commit: COMMIT });
  const body = 'a\n/merge\n\n/approve\r\n\r/close\n```\n/assign @root\n```';
  expect(await put(review, body)).toMatchObject({ type: 'done' });
  expect(await put(review, `${body}\n/label ~urgent`)).toMatchObject({ type: 'done' });
  expect(host.state.executed).toEqual([]);
  expect(comments[0]?.body).toContain('\n /merge\n');
});

test('a pull request at Gitea that was pushed without a branch counts as one of a fork', async () => {
  const { host, review } = await start(giteaApi);
  addPullRequest(host.state, 7, { commit: COMMIT, branch: 'refs/pull/7/head' });
  expect(await review.read(7, never)).toMatchObject({ type: 'done', value: { fork: true } });
});

describe('over TLS', () => {
  let folder: string;
  let ca: string;
  let host: RecordedHost;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'review-host-'));
    const names = { names: ['localhost'], ips: ['127.0.0.1'] };
    const made = await ensureServerCertificate(folder, names, Date.now());
    const [key = '', cert = ''] = [made.key, made.certificate].map((pem) => Buffer.from(pem).toString());
    ca = Buffer.from(made.ca).toString();
    host = await startRecordedHost(githubApi, { tls: { key, cert } });
    open.push(host);
    addPullRequest(host.state, 7, { commit: COMMIT });
  });
  afterEach(() => rm(folder, { recursive: true }));

  test('the certificate of the host is checked against the CA that is given', async () => {
    let trusted: string | undefined = ca;
    const review = connect(githubApi, host, { ca: async () => trusted });
    expect(await review.read(7, never)).toMatchObject({ type: 'done' });
    trusted = undefined;
    expect(await review.read(7, never)).toMatchObject({ reason: 'Unreachable' });
    expect(host.calls).toHaveLength(1);
  });

  test('a host whose CA the machine trusts needs none to be given', async () => {
    const file = join(folder, 'machine.crt');
    await writeFile(file, ca);
    const environment = { PATH: process.env.PATH, SSL_CERT_FILE: file, SSL_CERT_DIR: folder };
    // A process of its own, because one reads the certificates of its machine once.
    const program = `
      import { createGithubHost } from '${new URL('../../../src/adapters/review/github.ts', import.meta.url)}';
      const clock = { now: () => 0, schedule: () => () => {} };
      const deps = { clock, environment: {}, token: async () => '${host.token}', ca: async () => undefined };
      const host = createGithubHost(deps, { apiUrl: '${host.apiUrl}', repository: 'acme/fleet' });
      console.log(JSON.stringify(await host.read(7, new AbortController().signal)));`;
    const args = ['--input-type=module', '-e', program];
    const { stdout } = await promisify(execFile)(process.execPath, args, { env: environment });
    expect(JSON.parse(stdout)).toMatchObject({ type: 'done' });
  });

  test('requests go through the proxy of the environment', async () => {
    const asked: string[] = [];
    const proxy = createServer().on('connect', (request: IncomingMessage, client: Socket) => {
      asked.push(request.url ?? '');
      const upstream = connectTo(Number(new URL(host.apiUrl).port), '127.0.0.1', () => {
        client.write('HTTP/1.1 200 Connection established\r\n\r\n');
        upstream.pipe(client).pipe(upstream);
      });
      client.on('close', () => upstream.destroy());
      upstream.on('error', () => client.destroy());
    });
    await new Promise<void>((listening) => proxy.listen(0, '127.0.0.1', listening));
    const environment = { HTTPS_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` };
    try {
      const review = connect(githubApi, host, { ca: async () => ca, environment });
      expect(await review.read(7, never)).toMatchObject({ type: 'done' });
      expect(asked).toEqual([new URL(host.apiUrl).host]);
    } finally {
      proxy.close();
    }
  });
});
