import { existsSync, rmSync, symlinkSync } from 'node:fs';
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
