import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createSmartHttpServer, type SmartHttpServer } from '../../../scripts/local/smart-http-server.ts';
import { createNativeGitRepo } from '../../../src/adapters/git/native-git-repo.ts';
import type { GitRepoOptions } from '../../../src/adapters/git/repo-options.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { gitCredentials } from '../../../src/compose/serve/sources.ts';
import type { CredentialReferences } from '../../../src/model/fleet/relay-config.ts';
import { must } from '../../../src/model/values/result.ts';
import type { GitRepo } from '../../../src/ports/git-repo.ts';
import { createKeptLog } from '../../support/git-quiet-log.ts';
import { createGitSandbox, type GitSandbox } from '../../support/git-sandbox.ts';
import type { Closer } from '../../support/listening.ts';
import { describeBrokenServers, processesWith } from './broken-servers-contract.ts';

const secret = 'hunter2-Secret';
let box: GitSandbox;
let bare: string;
let server: SmartHttpServer;
let url: string;
let password: string;
let closers: Closer[];

beforeEach(async () => {
  box = createGitSandbox();
  bare = box.bare('fleet');
  box.push(bare, { 'a.yaml': 'a' });
  password = secret;
  server = createSmartHttpServer({
    root: box.served,
    searchPath: process.env.PATH ?? '',
    authenticate: (request) => request.password === password,
  });
  url = `${(await server.start()).url}/fleet.git`;
  closers = [];
});

afterEach(async () => {
  for (const close of closers.reverse()) await close();
  await server.stop();
  box.remove();
});

type OpenOptions = Partial<Omit<GitRepoOptions, 'credentials'>> & { readonly credentials?: CredentialReferences };

function open({ credentials, ...options }: OpenOptions = {}, environment: Record<string, string> = {}): GitRepo {
  const read = credentials === undefined ? {} : { credentials: gitCredentials(credentials, environment) };
  const repo = must(
    createNativeGitRepo(
      { clock: createSystemClock(), log: createKeptLog(), environment: { PATH: process.env.PATH, ...environment } },
      { remote: url, branch: 'main', directory: join(box.path, 'copy'), deadlineSeconds: 120, ...options, ...read },
    ),
  );
  closers.push(repo.close);
  return repo;
}

const token = { token: { type: 'env', name: 'TOKEN' } } as const;

describeBrokenServers('native git', (options) =>
  must(
    createNativeGitRepo(
      { clock: createSystemClock(), log: createKeptLog(), environment: { PATH: process.env.PATH } },
      { deadlineSeconds: 120, ...options },
    ),
  ),
);

describe('credentials', () => {
  test('missing ones are reported as such', async () => {
    expect(await open().fetch()).toMatchObject({ type: 'failed', reason: 'Unauthorized' });
  });

  test('a missing secret is reported as such', async () => {
    const missing = await open({ credentials: token }).fetch();
    expect(missing).toMatchObject({ type: 'failed', reason: 'Unauthorized' });
    expect(JSON.stringify(missing)).toContain('TOKEN');
    const path = join(box.path, 'none');
    const file = await open({ credentials: { token: { type: 'file', path } } }).fetch();
    expect(JSON.stringify(file)).toContain(path);
  });

  test('a secret in a file is read at each use', async () => {
    const path = join(box.path, 'token');
    writeFileSync(path, `${secret}\n`);
    const repo = open({ credentials: { token: { type: 'file', path } } });
    expect((await repo.fetch()).type).toBe('fetched');
    password = 'rotated';
    expect(await repo.fetch()).toMatchObject({ reason: 'Unauthorized' });
    writeFileSync(path, 'rotated');
    expect((await repo.fetch()).type).toBe('fetched');
  });

  test('a secret that would forge another header is not used', async () => {
    const outcome = await open({ credentials: token }, { TOKEN: 'x\r\nX-Evil: 1' }).fetch();
    expect(outcome).toMatchObject({ type: 'failed', reason: 'Unauthorized' });
    expect(JSON.stringify(outcome)).toContain('control character');
  });

  test('no trace of a secret is left in the copy or on a command line', async () => {
    const repo = open({ credentials: token }, { TOKEN: secret });
    const lines: string[] = [];
    const basic = Buffer.from(`x-access-token:${secret}`).toString('base64');
    // One fetch may be over before the first look at the processes.
    while (lines.length === 0) {
      let isOver = false;
      const fetching = repo.fetch().finally(() => {
        isOver = true;
      });
      while (!isOver) {
        lines.push(...processesWith(url));
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect((await fetching).type).toBe('fetched');
    }
    expect(lines.join()).not.toContain(secret);
    expect(lines.join()).not.toContain(basic);
    const config = readFileSync(join(box.path, 'copy', 'copy.git', 'config'), 'utf8');
    expect(config).not.toMatch(/extraheader|url/i);
  });

  test('in an address they are refused, and not repeated', () => {
    for (const remote of [
      'https://ada:hunter2@example.com/x.git',
      'https://hunter2@example.com/x',
      'http://:hunter2@[x/y',
    ]) {
      const made = createNativeGitRepo(
        { clock: createSystemClock(), log: createKeptLog(), environment: {} },
        { remote, branch: 'main', directory: box.path },
      );
      expect(made).toMatchObject({ ok: false });
      expect(JSON.stringify(made)).not.toContain('hunter2');
    }
  });
});

test('addresses and branches that could mean something else are refused', () => {
  const make = (remote: string, branch = 'main') =>
    createNativeGitRepo(
      { clock: createSystemClock(), log: createKeptLog(), environment: {} },
      { remote, branch, directory: box.path },
    ).ok;
  for (const remote of [
    'ext::sh -c evil',
    'ssh://host/x',
    'git@host:x.git',
    'ftp://host/x',
    'https://h/x?y',
    'https://h/x#y',
    '',
    'a\nb',
  ]) {
    expect([remote, make(remote)]).toEqual([remote, false]);
  }
  for (const branch of [
    '-x',
    '--upload-pack=x',
    'a b',
    'a..b',
    'a:b',
    'a*',
    'x.lock',
    '/a',
    'a/',
    '@',
    'a@{1}',
    'a\\b',
    '',
  ]) {
    expect([branch, make('https://h/x', branch)]).toEqual([branch, false]);
  }
  for (const branch of ['main', 'feature/x', 'release-1.2', 'fleetrelay/status', 'ü'])
    expect(make('https://h/x', branch)).toBe(true);
});

describe('a damaged local copy', () => {
  const local = (): string => join(box.path, 'copy', 'copy.git');
  const repoOf = (): GitRepo => open({ credentials: token }, { TOKEN: secret });

  async function fetchesAll(repo: GitRepo): Promise<void> {
    const commit = box.push(bare, { 'b.yaml': `${box.git(bare, 'rev-list', '--count', 'main')}` });
    expect(await repo.fetch()).toEqual({ type: 'fetched', commit });
    for (const { entry } of await repo.diff(null, commit, '')) {
      expect((await repo.readBlob(entry?.blob ?? '', 100)).type).toBe('read');
    }
  }

  test.each([
    ['without its HEAD', () => rmSync(join(local(), 'HEAD'))],
    ['with a broken config', () => writeFileSync(join(local(), 'config'), '[broken')],
    ['without objects', () => rmSync(join(local(), 'objects'), { recursive: true })],
    ['without anything', () => rmSync(local(), { recursive: true })],
  ])('%s is made anew', async (_name, damage) => {
    const before = repoOf();
    await fetchesAll(before);
    await before.close();
    damage();
    await fetchesAll(repoOf());
  });

  test('with the locks of a killed process is used on', async () => {
    const before = repoOf();
    await fetchesAll(before);
    await before.close();
    const locks = ['packed-refs.lock', 'HEAD.lock', 'refs/fleetrelay/fetched.lock'].map((name) => join(local(), name));
    for (const lock of locks) writeFileSync(lock, '');
    const made = statSync(join(local(), 'config')).ino;
    await fetchesAll(repoOf());
    expect(statSync(join(local(), 'config')).ino).toBe(made);
    for (const lock of locks) expect(existsSync(lock)).toBe(false);
  });

  test('that lacks what only an older commit holds fails when it is read', async () => {
    const repo = repoOf();
    await repo.fetch();
    const packs = join(local(), 'objects', 'pack');
    const old = readdirSync(packs);
    await fetchesAll(repo);
    for (const name of old) rmSync(join(packs, name));
    await repo.close();
    const again = repoOf();
    const commit = box.git(bare, 'rev-parse', 'main');
    await expect(again.diff(null, commit, '')).rejects.toMatchObject({ name: 'GitCopyError' });
    await again.fetch();
    expect(await again.diff(null, commit, '')).toHaveLength(2);
  });

  test('that lacks objects fails when it is read, and is made anew at the next fetch', async () => {
    const before = repoOf();
    await fetchesAll(before);
    await before.close();
    const commit = box.git(bare, 'rev-parse', 'main');
    rmSync(join(local(), 'objects', 'pack'), { recursive: true });
    const repo = repoOf();
    await expect(repo.diff(null, commit, '')).rejects.toMatchObject({ name: 'GitCopyError' });
    expect(await repo.fetch()).toEqual({ type: 'fetched', commit });
    expect(await repo.diff(null, commit, '')).toHaveLength(2);
  });

  test('full of rubbish is made anew as well, whether it is read or fetched first', async () => {
    for (const readFirst of [true, false]) {
      const before = repoOf();
      await fetchesAll(before);
      await before.close();
      const blob = box.git(bare, 'rev-parse', 'main:b.yaml');
      for (const name of readdirSync(join(local(), 'objects', 'pack'))) {
        const at = join(local(), 'objects', 'pack', name);
        if (!name.endsWith('.pack')) continue;
        const size = statSync(at).size;
        rmSync(at);
        writeFileSync(at, Buffer.alloc(size, 'rubbish'));
      }
      const repo = repoOf();
      if (readFirst) expect((await repo.readBlob(blob, 100).catch(() => ({ type: 'broken' }))).type).not.toBe('read');
      await repo.fetch();
      expect((await repo.readBlob(blob, 100)).type).toBe('read');
      await repo.close();
    }
  });
});

test('nothing of the user or the environment changes what git does', async () => {
  writeFileSync(join(box.path, 'evil'), `[url "file:///nonexistent"]\n\tinsteadOf = ${url}\n`);
  const repo = open(
    { credentials: token },
    {
      TOKEN: secret,
      HOME: box.path,
      GIT_CONFIG_GLOBAL: join(box.path, 'evil'),
      GIT_CONFIG_SYSTEM: join(box.path, 'evil'),
      GIT_DIR: '/nonexistent',
      GIT_TRACE_CURL: join(box.path, 'trace'),
      GIT_SSL_NO_VERIFY: '1',
    },
  );
  expect((await repo.fetch()).type).toBe('fetched');
  expect(readdirSync(box.path)).not.toContain('trace');
});
