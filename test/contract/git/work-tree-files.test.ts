import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createFileTree } from '../../../src/adapters/files/file-tree.ts';
import { createMembersReader } from '../../../src/adapters/git/work-tree-files.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { validatePaths } from '../../../src/compose/validate/validate.ts';
import { createKeptLog } from '../../support/git-quiet-log.ts';
import { createGitSandbox, type GitSandbox, writeFiles } from '../../support/git-sandbox.ts';

let box: GitSandbox;
let root: string;

beforeEach(() => {
  box = createGitSandbox();
  root = join(box.path, 'repository');
  box.git(box.path, 'init', '-q', root);
});
afterEach(() => box.remove());

const git = (...args: string[]): string => box.git(root, ...args);
const manifest = (name: string): string => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\n`;

/** A work tree in which git sees each path in another way. */
function makeOddTree(): void {
  writeFiles(root, {
    '.gitignore': 'build/\n*.local.yaml\nnode_modules/\n!kept.local.yaml\n',
    'tracked.yaml': manifest('tracked'),
    'gone.yaml': manifest('gone'),
    'deep/in/a/folder.yaml': manifest('folder'),
    'build/forced.yaml': manifest('forced'),
    'changed/a.yaml': manifest('a'),
    'kept.local.yaml': manifest('kept'),
  });
  git('add', '--force', '.');
  git('commit', '-q', '-m', 'first');
  git('commit', '-q', '--allow-empty', '-m', 'second');
  git('clone', '-q', root, join(root, 'module'));
  git('-c', 'advice.addEmbeddedRepo=false', 'add', 'module');
  rmSync(join(root, 'gone.yaml'));
  rmSync(join(root, 'changed'), { recursive: true });
  symlinkSync('deep', join(root, 'changed'));
  symlinkSync('tracked.yaml', join(root, 'link.yaml'));
  writeFiles(root, {
    'untracked.yaml': manifest('untracked'),
    'own.local.yaml': 'not: [yaml',
    'build/output.yaml': 'not: [yaml',
    'node_modules/package/package.json': '{"not": "json"',
    'deep/node_modules/package.json': '{"not": "json"',
    '.hidden/a.yaml': 'not: [yaml',
    'deep/.hidden.yaml': 'not: [yaml',
    'info.yaml': 'not: [yaml',
  });
  writeFiles(join(root, '.git', 'info'), { exclude: '/info.yaml\n' });
  box.git(box.path, 'init', '-q', join(root, 'nested'));
  writeFiles(join(root, 'nested'), { 'a.yaml': 'not: [yaml' });
}

const withoutGit = { PATH: '/nonexistent' };

describe.each([
  ['the program git', { PATH: process.env.PATH }],
  ['isomorphic-git', withoutGit],
])('of a work tree, as %s sees it,', (_, environment) => {
  const listed = async (folder: string): Promise<Readonly<Record<string, string>>> => {
    const readMembers = createMembersReader({ clock: createSystemClock(), environment });
    const tree = createFileTree({ log: createKeptLog() }, { folder, readMembers });
    const listing = await tree.list((path) => path.endsWith('.yaml') && !path.includes('.hidden'));
    if (listing.type === 'failed') throw new Error(listing.message);
    return Object.fromEntries(listing.entries.map(({ path, kind }) => [path, kind]));
  };

  test('those files are listed that git would commit, links as links and repositories as submodules', async () => {
    makeOddTree();
    expect(await listed(root)).toEqual({
      'tracked.yaml': 'file',
      'untracked.yaml': 'file',
      'kept.local.yaml': 'file',
      'build/forced.yaml': 'file',
      'deep/in/a/folder.yaml': 'file',
      changed: 'symlink',
      'link.yaml': 'symlink',
      module: 'submodule',
      nested: 'submodule',
    });
    expect(await listed(join(root, 'deep'))).toEqual({ 'in/a/folder.yaml': 'file' });
  });

  test('a folder that git ignores is read completely where it is named, and so is one without a repository', async () => {
    makeOddTree();
    writeFiles(root, { 'out/build/x.yaml': 'x' });
    expect(await listed(join(root, 'out/build'))).toEqual({ 'x.yaml': 'file' });
    expect(await listed(join(root, 'out'))).toEqual({});
    writeFiles(box.path, { 'plain/node_modules/a.yaml': 'a', 'plain/.gitignore': '*' });
    expect(await listed(join(box.path, 'plain'))).toEqual({ 'node_modules/a.yaml': 'file' });
  });

  test('a folder is read completely where git ignores what lies in it, although a hidden file there is tracked', async () => {
    writeFiles(root, {
      '.gitignore': 'rendered/*\n!rendered/.gitkeep\n',
      'rendered/.gitkeep': '',
      'rendered/a.yaml': manifest('a'),
      'a.yaml': manifest('a'),
    });
    git('add', '.');
    expect(await listed(join(root, 'rendered'))).toEqual({ 'a.yaml': 'file' });
    expect(await listed(root)).toEqual({ 'a.yaml': 'file' });
  });

  test('the files of a folder with a stray `.git` count, all of them', async () => {
    writeFiles(box.path, { 'stray/.git': 'nothing', 'stray/a.yaml': manifest('a') });
    expect(await listed(join(box.path, 'stray'))).toEqual({ 'a.yaml': 'file' });
  });

  test('no file of the repository is a setting of the user', async () => {
    const marker = join(box.path, 'was-run');
    writeFiles(root, {
      'a.local.yaml': manifest('a'),
      '.config/git/ignore': '*.local.yaml\n',
      '.gitconfig': `[core]\n\tfsmonitor = touch ${marker}\n\texcludesFile = ${join(root, '.config/git/ignore')}\n`,
      'b/a.local.yaml': manifest('b'),
      'b/.config/git/ignore': '*.local.yaml\n',
    });
    git('add', '.gitconfig', '.config');
    expect(await listed(root)).toEqual({ 'a.local.yaml': 'file', 'b/a.local.yaml': 'file' });
    expect(await listed(join(root, 'b'))).toEqual({ 'a.local.yaml': 'file' });
    expect(existsSync(marker)).toBe(false);
  });

  test('the ignore file is listed where it is a link, and ignored files do not count towards the entries', async () => {
    writeFiles(box.path, { 'volume/..data/.fleetrelayignore': 'x/\n', 'volume/..data/a.yaml': manifest('a') });
    symlinkSync('..data/.fleetrelayignore', join(box.path, 'volume/.fleetrelayignore'));
    symlinkSync('..data/a.yaml', join(box.path, 'volume/a.yaml'));
    const volume = createFileTree({ log: createKeptLog() }, { folder: join(box.path, 'volume') });
    const wanted = (path: string): boolean => path === '.fleetrelayignore' || path === 'a.yaml';
    expect(await volume.list(wanted)).toMatchObject({
      entries: [
        { path: '.fleetrelayignore', kind: 'file' },
        { path: 'a.yaml', kind: 'file' },
      ],
    });
    writeFiles(root, { '.gitignore': 'own-*\n', 'a.yaml': 'a', 'own-1': '', 'own-2': '', 'own-3': '' });
    const readMembers = createMembersReader({ clock: createSystemClock(), environment });
    const limits = { entries: 2, depth: 5 };
    const tree = createFileTree({ log: createKeptLog() }, { folder: root, limits, readMembers });
    expect(await tree.list(wanted)).toMatchObject({ type: 'listed', entries: [{ path: 'a.yaml' }] });
    writeFiles(root, { 'b.yaml': 'b' });
    expect(await tree.list(wanted)).toMatchObject({ type: 'failed', reason: 'TooManyFiles' });
  });

  test('a further work tree and a submodule have the files of their own index', async () => {
    makeOddTree();
    git('worktree', 'add', '-q', join(box.path, 'further'));
    writeFiles(join(box.path, 'further'), { 'own.local.yaml': 'x', 'new.yaml': 'x' });
    expect(Object.keys(await listed(join(box.path, 'further'))).sort()).toEqual([
      'build/forced.yaml',
      'changed/a.yaml',
      'deep/in/a/folder.yaml',
      'gone.yaml',
      'kept.local.yaml',
      'new.yaml',
      'tracked.yaml',
    ]);
    expect(Object.keys(await listed(join(root, 'module')))).toContain('gone.yaml');
  });

  test('validate checks the same files, and a file that is named in any case', async () => {
    makeOddTree();
    const validated = async (...paths: string[]) => {
      const { diagnostics, resources } = await validatePaths({ paths, cwd: root, env: environment, readStdin });
      return {
        read: resources.map(({ path }) => path),
        found: diagnostics.map(({ reason, severity, at }) => `${severity} ${reason} ${at?.path}`),
      };
    };
    expect(await validated('.')).toEqual({
      read: ['build/forced.yaml', 'deep/in/a/folder.yaml', 'kept.local.yaml', 'tracked.yaml', 'untracked.yaml'],
      found: [
        'warning SymbolicLinkIgnored changed',
        'error SymbolicLink link.yaml',
        'warning SubmoduleIgnored module',
        'warning SubmoduleIgnored nested',
      ],
    });
    expect(
      (await validated('own.local.yaml', 'node_modules/package/package.json', '.hidden/a.yaml')).found,
    ).toHaveLength(3);
    expect((await validated('link.yaml', 'nested/a.yaml')).found).toHaveLength(1);
  });
});

const readStdin = async () => new Uint8Array();

test('files that a sparse checkout leaves out are neither absent nor read', async () => {
  writeFiles(root, { 'tracked.yaml': manifest('tracked'), 'untracked.yaml': manifest('untracked') });
  git('add', '.');
  git('commit', '-q', '-m', 'all');
  git('sparse-checkout', 'set', '--no-cone', '/tracked.yaml');
  expect(existsSync(join(root, 'untracked.yaml'))).toBe(false);
  const readMembers = createMembersReader({ clock: createSystemClock(), environment: { PATH: process.env.PATH } });
  const tree = createFileTree({ log: createKeptLog() }, { folder: root, readMembers });
  const listing = await tree.list((path) => path.endsWith('.yaml'));
  expect(listing.type === 'listed' && listing.entries.map(({ path }) => path)).toContain('untracked.yaml');
  expect(await tree.read('untracked.yaml', 1_000)).toMatchObject({ type: 'unreadable' });
  const { diagnostics } = await validatePaths({ paths: ['.'], cwd: root, env: { PATH: process.env.PATH }, readStdin });
  expect(diagnostics.map(({ severity, message }) => [severity, message])).toContainEqual([
    'warning',
    expect.stringContaining('the checkout is sparse'),
  ]);
});

test('a repository that git cannot read is said, not taken for an empty one', async () => {
  makeOddTree();
  writeFiles(join(root, '.git'), { index: 'no index' });
  for (const environment of [{ PATH: process.env.PATH }, withoutGit]) {
    const readMembers = createMembersReader({ clock: createSystemClock(), environment });
    const tree = createFileTree({ log: createKeptLog() }, { folder: root, readMembers });
    expect(await tree.list(() => true)).toMatchObject({ type: 'failed', reason: 'FolderUnreadable' });
  }
});

test('what the user tells git to ignore is ignored', async () => {
  const home = join(box.path, 'home');
  writeFiles(root, { 'a.yaml': manifest('a'), 'secret.local.yaml': manifest('s'), 'b.tmp.yaml': manifest('b') });
  const listed = async (): Promise<readonly string[]> => {
    const environment = { PATH: process.env.PATH, HOME: home };
    const readMembers = createMembersReader({ clock: createSystemClock(), environment });
    const tree = createFileTree({ log: createKeptLog() }, { folder: root, readMembers });
    const listing = await tree.list((path) => path.endsWith('.yaml'));
    return listing.type === 'listed' ? listing.entries.map(({ path }) => path).sort() : [listing.message];
  };
  writeFiles(home, { '.config/git/ignore': '*.local.yaml\n' });
  expect(await listed()).toEqual(['a.yaml', 'b.tmp.yaml']);
  writeFiles(home, { '.gitconfig': '[core]\n\texcludesFile = ~/own\n', own: '*.tmp.yaml\n' });
  expect(await listed()).toEqual(['a.yaml', 'secret.local.yaml']);
});

test('a work tree of another user, which an older git refuses, is read by isomorphic-git', async () => {
  makeOddTree();
  const program = join(box.path, 'bin/git');
  writeFiles(box.path, {
    'bin/git': '#!/bin/sh\necho "fatal: unsafe repository (\'/repo\' is owned by someone else)" >&2\nexit 128\n',
  });
  chmodSync(program, 0o755);
  const members = (path: string) =>
    createMembersReader({ clock: createSystemClock(), environment: { PATH: `${path}:/usr/bin:/bin` } })(root);
  const refused = await members(join(box.path, 'bin'));
  expect(refused?.kindOf('untracked.yaml')).toBe('file');
  expect(refused?.kindOf('own.local.yaml')).toBeUndefined();
});

test('a repository whose configuration names another work tree is refused', async () => {
  makeOddTree();
  writeFiles(box.path, { 'elsewhere/a.yaml': manifest('a') });
  git('config', 'core.worktree', join(box.path, 'elsewhere'));
  const readMembers = createMembersReader({ clock: createSystemClock(), environment: { PATH: process.env.PATH } });
  await expect(readMembers(root)).rejects.toThrow(/core\.worktree.*elsewhere/);
});

test('a file that is there is read, although its entry says that it is left out; the ignore file must be there', async () => {
  writeFiles(root, { 'a.yaml': manifest('a'), 'docs.md': '', '.fleetrelayignore': 'x/\n' });
  git('add', '.');
  git('commit', '-q', '-m', 'all');
  git('update-index', '--skip-worktree', 'a.yaml', 'docs.md', '.fleetrelayignore');
  const env = { PATH: process.env.PATH };
  const validated = async () => {
    const { diagnostics, resources } = await validatePaths({ paths: ['.'], cwd: root, env, readStdin });
    return [...resources, ...diagnostics.map(({ severity, at }) => ({ path: `${severity} ${at?.path}` }))].map(
      ({ path }) => path,
    );
  };
  expect(await validated()).toEqual(['a.yaml']);
  rmSync(join(root, 'docs.md'));
  expect(await validated()).toEqual(['a.yaml']);
  rmSync(join(root, '.fleetrelayignore'));
  expect(await validated()).toEqual(['a.yaml', 'error .fleetrelayignore']);
});

test.skipIf(process.platform === 'win32')(
  'a pipe in place of a file is no file, and no reader waits for its writer',
  async () => {
    const pipe = (...path: readonly string[]) => execFileSync('mkfifo', [join(root, ...path)]);
    const validated = async () =>
      (await validatePaths({ paths: ['.'], cwd: root, env: withoutGit, readStdin })).resources.map(({ path }) => path);
    writeFiles(root, { 'a.yaml': manifest('a'), 'sub/b.yaml': manifest('b') });
    rmSync(join(root, '.git/info'), { recursive: true });
    writeFiles(root, { '.git/info/other': '' });
    for (const path of ['.gitignore', '.fleetrelayignore', 'c.yaml', 'kustomization.yaml', 'Chart.yaml']) pipe(path);
    for (const path of ['sub/.gitignore', '.git/info/exclude']) pipe(path);
    expect(await validated()).toEqual(['a.yaml', 'sub/b.yaml']);
    rmSync(join(root, '.git'), { recursive: true });
    pipe('.git');
    expect(await validated()).toEqual(['a.yaml', 'sub/b.yaml']);
  },
);
