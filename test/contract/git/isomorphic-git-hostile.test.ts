import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createSmartHttpServer, type SmartHttpServer } from '../../../scripts/local/smart-http-server.ts';
import type { GitRepoOptions } from '../../../src/adapters/git/repo-options.ts';
import { must } from '../../../src/model/values/result.ts';
import type { Clock } from '../../../src/ports/clock.ts';
import type { GitRepo } from '../../../src/ports/git-repo.ts';
import { createGitSandbox, type GitSandbox } from '../../support/git-sandbox.ts';
import { isomorphicRepo } from '../../support/isomorphic-repo.ts';
import { type Closer, listening } from '../../support/listening.ts';
import { packOfDeltas } from '../../support/pack-of-deltas.ts';
import { ensureServerCertificate } from '../../support/server-certificate.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';
import { describeBrokenServers } from './broken-servers-contract.ts';

const secret = 'hunter2-Secret';
let box: GitSandbox;
let bare: string;
let server: SmartHttpServer;
let url: string;
let password: string;
let closers: Closer[];
/** Requests of the server, one for each. */
let asked: string[];
/** Requests are answered when it resolves. */
let held: Promise<void> | undefined;

beforeEach(async () => {
  box = createGitSandbox();
  bare = box.bare('fleet');
  box.push(bare, { 'a.yaml': 'a' });
  password = secret;
  asked = [];
  held = undefined;
  server = createSmartHttpServer({
    root: box.served,
    searchPath: process.env.PATH ?? '',
    authenticate: async (request) => {
      asked.push(request.service);
      await held;
      return request.password === password;
    },
  });
  url = `${(await server.start()).url}/fleet.git`;
  closers = [];
});

afterEach(async () => {
  for (const close of closers.reverse()) await close();
  await server.stop();
  box.remove();
});

function open(options: Partial<GitRepoOptions> = {}, clock?: Clock, threadBytes?: () => number): GitRepo {
  const directory = join(box.path, 'copy');
  const credentials = async () => ({ secret });
  const repo = must(
    isomorphicRepo({ remote: url, branch: 'main', directory, credentials, ...options }, {}, clock, threadBytes),
  );
  closers.push(repo.close);
  return repo;
}

/** The address of the server through a proxy that tells the bytes of its answers. */
async function proxied(passed: (bytes: number) => void): Promise<string> {
  const { port } = new URL(url);
  return listening(
    closers,
    createServer((client) => {
      const upstream = connect(Number(port), '127.0.0.1');
      client.on('error', () => upstream.destroy()).pipe(upstream);
      upstream.on('error', () => client.destroy());
      upstream.on('data', (chunk: Buffer) => {
        passed(chunk.length);
        client.write(chunk);
      });
      upstream.on('end', () => client.end());
    }),
  );
}

describe('what isomorphic-git cannot do fails with a message', () => {
  test('of local repositories', () => {
    for (const remote of ['/srv/fleet', 'file:///srv/fleet', './fleet']) {
      const made = isomorphicRepo({ remote, directory: box.path });
      expect(made).toMatchObject({ ok: false, problem: expect.stringContaining('git program') });
    }
  });

  test('of signatures', async () => {
    const repo = open();
    const commit = box.git(bare, 'rev-parse', 'main');
    await repo.fetch();
    const verdicts = await repo.signaturesOf(commit, new Map([['a.yaml', 'x']]));
    expect(verdicts.get('a.yaml')).toEqual({ problem: expect.stringContaining('git program') });
  });
});

describeBrokenServers('isomorphic-git', (options) => must(isomorphicRepo(options)));

test('credentials that cannot be read are reported as such', async () => {
  const failing = open({ credentials: () => Promise.reject(new Error('no such file')) });
  expect(await failing.fetch()).toMatchObject({ reason: 'Unauthorized', message: 'no such file' });
});

describe('uses of the remote that wait for another one', () => {
  test.each([
    ['are called off', 5_000, { type: 'failed', reason: 'Stopped' }],
    ['wait longer than their deadline', 100_000, { type: 'fetched' }],
  ] as const)('and %s leave that one alone', async (_name, passingMs, expected) => {
    const clock = createVirtualClock();
    const repo = open({}, clock);
    await repo.fetch();
    const side = box.push(bare, { 's.yaml': 's' }, { branch: 'side' });
    const { promise, resolve: release } = Promise.withResolvers<void>();
    held = promise;
    asked.length = 0;
    const slow = repo.fetchRef('side');
    await expect.poll(() => asked.length).toBe(1);
    const stopping = new AbortController();
    const waiting = repo.fetch(stopping.signal);
    await clock.settle();
    if (expected.type === 'failed') stopping.abort();
    await clock.advance(passingMs);
    release();
    expect(await slow).toEqual({ type: 'fetched', commit: side });
    expect(await waiting).toMatchObject(expected);
    expect(await repo.hasCommit(side)).toBe(true);
  });
});

describe('objects', () => {
  test('that would fill the memory are refused before they are held in it', async () => {
    const size = 65 * 1024 * 1024;
    box.push(bare, { 'bomb.yaml': ' '.repeat(size) });
    const outcome = await open().fetch();
    expect(outcome).toMatchObject({ type: 'failed', reason: 'BadObjects' });
    expect(JSON.stringify(outcome)).toContain(`${size} bytes`);
  });

  test('that need more memory than is left end the thread, and nothing else', async () => {
    // Each file is a delta of the one before, too large for the cache of isomorphic-git, which then holds all of them.
    const { pack, commit } = packOfDeltas(34 * 1024 * 1024, 10);
    const file = join(bare, 'objects', 'pack', 'pack-of-deltas.pack');
    writeFileSync(file, pack);
    box.git(bare, 'index-pack', file);
    box.git(bare, 'update-ref', 'refs/heads/main', commit);
    let limit = 200 * 1024 * 1024;
    const repo = open({}, undefined, () => limit);
    const outcome = await repo.fetch();
    expect(outcome).toMatchObject({ type: 'failed', reason: 'TooLarge', message: /memory; install git/ });
    box.push(bare, { 'a.yaml': 'b' }, { orphan: true });
    limit = Number.MAX_SAFE_INTEGER;
    expect(await repo.fetch()).toMatchObject({ type: 'fetched' });
    expect(await repo.hasCommit(commit)).toBe(false);
  });

  test('beyond the limit of the copy are refused once, and a smaller history goes on', async () => {
    const repo = open({ maxCopyBytes: 400_000 });
    const noise = (): string => Array.from({ length: 80_000 }, () => `${Math.random()}`).join('');
    expect((await repo.fetch()).type).toBe('fetched');
    box.push(bare, { 'noise.yaml': noise() });
    expect(await repo.fetch()).toMatchObject({ type: 'failed', reason: 'TooLarge' });
    asked.length = 0;
    expect(await repo.fetch()).toMatchObject({ type: 'failed', reason: 'TooLarge' });
    expect(asked.length).toBeLessThanOrEqual(2);
    const commit = box.push(bare, { 'b.yaml': 'b' }, { orphan: true });
    expect(await repo.fetch()).toEqual({ type: 'fetched', commit });
  });
});

test('a later fetch transfers what has changed, also after a push of its own and after a restart', async () => {
  let bytes = 0;
  const remote = await proxied((more) => {
    bytes += more;
  });
  const first = open({ remote });
  for (const name of ['noise.yaml', 'more.yaml']) {
    box.push(bare, { [name]: Array.from({ length: 20_000 }, () => `${Math.random()}`).join('') });
    bytes = 0;
    expect((await first.fetch()).type).toBe('fetched');
    expect(bytes).toBeGreaterThan(100_000);
  }
  const sizeOf = async (repo: GitRepo): Promise<number> => {
    bytes = 0;
    const commit = box.push(bare, { 'a.yaml': `${Math.random()}` });
    expect(await repo.fetch()).toEqual({ type: 'fetched', commit });
    return bytes;
  };
  expect(await sizeOf(first)).toBeLessThan(10_000);
  const expected = box.git(bare, 'rev-parse', 'main');
  const author = { name: 'f', email: 'f@example.com' };
  const request = { expected, changes: new Map([['s.json', '{}']]), author, at: 1_700_000_000_000, message: 'x' };
  expect((await first.publish(request)).type).toBe('published');
  expect(await sizeOf(first)).toBeLessThan(10_000);
  expect(await first.publish(request)).toEqual({ type: 'race' });
  expect(await sizeOf(first)).toBeLessThan(10_000);
  await first.close();
  const again = open({ remote });
  expect(await sizeOf(again)).toBeLessThan(10_000);
  bytes = 0;
  expect((await again.fetch()).type).toBe('fetched');
  expect(bytes).toBeLessThan(5_000);
});

test('the proxy of the environment is used, except for what it is not for', async () => {
  const through: string[] = [];
  const proxy = await listening(
    closers,
    createHttpServer((request, response) => {
      through.push(request.url ?? '');
      response.writeHead(502).end();
    }),
  );
  const environment = { HTTP_PROXY: new URL(proxy).origin };
  const repoWith = (more: Readonly<Record<string, string>>, directory: string): GitRepo => {
    const options = { remote: url, branch: 'main', directory, credentials: async () => ({ secret }) };
    const repo = must(isomorphicRepo(options, { ...environment, ...more }));
    closers.push(repo.close);
    return repo;
  };
  const outcome = await repoWith({}, join(box.path, 'one')).fetch();
  expect(outcome).toMatchObject({ type: 'failed', message: expect.stringContaining('502') });
  expect(through).toEqual([`${url}/info/refs?service=git-upload-pack`]);
  expect(asked).toEqual([]);
  expect(await repoWith({ NO_PROXY: '127.0.0.1' }, join(box.path, 'two')).fetch()).toMatchObject({ type: 'fetched' });
  expect(through).toHaveLength(1);
});

test('over TLS the certificates of the CA file are trusted, and no others', async () => {
  const folder = join(box.path, 'tls');
  const certificate = await ensureServerCertificate(folder, { names: ['localhost'], ips: ['127.0.0.1'] }, Date.now());
  const [cert, key] = [Buffer.from(certificate.certificate), Buffer.from(certificate.key)];
  const { port } = new URL(url);
  const front = createTlsServer({ cert, key }, (client) => {
    const upstream = connect(Number(port), '127.0.0.1');
    client.on('error', () => upstream.destroy()).pipe(upstream);
    upstream.on('error', () => client.destroy()).pipe(client);
  });
  const remote = (await listening(closers, front)).replace('http:', 'https:');
  const stranger = await open({ remote }).fetch();
  expect(stranger).toMatchObject({
    type: 'failed',
    reason: 'Unreachable',
    message: expect.stringMatching(/certificate/),
  });
  const caFile = join(folder, 'ca-of-the-test.crt');
  writeFileSync(caFile, certificate.ca);
  const directory = join(box.path, 'trusting');
  expect(await open({ remote, caFile, directory }).fetch()).toMatchObject({ type: 'fetched' });
  const none = await open({ remote, caFile: join(folder, 'none'), directory }).fetch();
  expect(none).toMatchObject({ type: 'failed', reason: 'LocalFailure', message: expect.stringContaining('none') });
});

describe('history', () => {
  test('that the first fetch has left out is fetched when it is asked for', async () => {
    const first = box.git(bare, 'rev-parse', 'main');
    for (let count = 0; count < 130; count += 1) box.push(bare, { 'a.yaml': `${count}` });
    const near = box.git(bare, 'rev-parse', 'main~3');
    const repo = open();
    const fetched = await repo.fetch();
    const tip = box.git(bare, 'rev-parse', 'main');
    expect(fetched).toEqual({ type: 'fetched', commit: tip });
    asked.length = 0;
    expect(await repo.isAncestor(near, tip)).toBe(true);
    const forNear = asked.length;
    expect(forNear).toBeGreaterThan(0);
    expect(await repo.isAncestor(first, tip)).toBe(true);
    expect(await repo.mergeBase(first, near)).toBe(first);
    expect(await repo.isAncestor('f'.repeat(40), tip)).toBe(false);
    const forAll = asked.length;
    expect(await repo.isAncestor(tip, first)).toBe(false);
    expect(await repo.hasCommit('e'.repeat(40))).toBe(false);
    expect(asked.length).toBe(forAll);
    expect((await repo.diff(first, tip, '')).map(({ path }) => path)).toEqual(['a.yaml']);
  });

  test('of which only one of two branches is here is completed for both', async () => {
    const base = box.push(bare, { 'b.yaml': 'b' });
    box.git(bare, 'branch', 'side', 'main');
    const side = box.push(bare, { 'c.yaml': 'c' }, { branch: 'side' });
    const tip = box.push(bare, { 'a.yaml': 'b' });
    const completed = async (name: string): Promise<GitRepo> => {
      const repo = open({ directory: join(box.path, name) });
      await repo.fetch();
      expect(await repo.fetchRef('side')).toEqual({ type: 'fetched', commit: side });
      expect(await repo.hasCommit(base)).toBe(true);
      return repo;
    };
    expect(await (await completed('one')).isAncestor(base, tip)).toBe(true);
    expect(await (await completed('two')).isAncestor(side, tip)).toBe(false);
    expect(await (await completed('three')).mergeBase(tip, side)).toBe(base);
    expect(await (await completed('four')).mergeBase(side, tip)).toBe(base);
  });

  test('that cannot be fetched is an error, not an answer', async () => {
    const first = box.git(bare, 'rev-parse', 'main');
    const tip = box.push(bare, { 'a.yaml': 'b' });
    const repo = open();
    await repo.fetch();
    password = 'another';
    await expect(repo.isAncestor(first, tip)).rejects.toThrow('401');
    password = secret;
    expect(await repo.isAncestor(first, tip)).toBe(true);
  });
});

describe('the local copy', () => {
  const local = (): string => join(box.path, 'copy', 'copy.git');
  const packs = (): readonly string[] => readdirSync(join(local(), 'objects', 'pack'));

  test('stays in few packs, and nothing is lost when they are merged', async () => {
    const repo = open();
    const commits: string[] = [];
    for (let count = 0; count < 55; count += 1) {
      commits.push(box.push(bare, { [`f${count}.yaml`]: `${count}` }));
      expect((await repo.fetch()).type).toBe('fetched');
    }
    expect(packs().filter((name) => name.endsWith('.pack')).length).toBeLessThan(50);
    for (const [index, commit] of commits.entries()) {
      const changes = await repo.diff(null, commit, '');
      expect(changes).toHaveLength(index + 2);
    }
    const last = commits.at(-1) ?? '';
    for (const { entry } of await repo.diff(null, last, '')) {
      expect((await repo.readBlob(entry?.blob ?? '', 100)).type).toBe('read');
    }
    expect(await repo.isAncestor(commits[0] ?? '', last)).toBe(true);
  });

  test.each([
    ['without its HEAD', () => rmSync(join(local(), 'HEAD'))],
    ['without objects', () => rmSync(join(local(), 'objects'), { recursive: true })],
    ['without anything', () => rmSync(local(), { recursive: true })],
    [
      'with a pack whose transfer was not completed',
      () => {
        for (const name of packs()) if (name.endsWith('.idx')) rmSync(join(local(), 'objects', 'pack', name));
      },
    ],
    [
      'full of rubbish',
      () => {
        for (const name of packs()) {
          const at = join(local(), 'objects', 'pack', name);
          writeFileSync(at, Buffer.alloc(statSync(at).size, 'rubbish'));
        }
      },
    ],
  ])('%s is made anew', async (_name, damage) => {
    const before = open();
    await before.fetch();
    await before.close();
    damage();
    const repo = open();
    const commit = box.push(bare, { 'b.yaml': 'b' });
    expect(await repo.fetch()).toEqual({ type: 'fetched', commit });
    for (const { entry } of await repo.diff(null, commit, '')) {
      expect((await repo.readBlob(entry?.blob ?? '', 100)).type).toBe('read');
    }
  });
});
