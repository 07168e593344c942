import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Child, startChild } from '../../scripts/local/child.ts';
import { createSmartHttpServer, type SmartHttpServer } from '../../scripts/local/smart-http-server.ts';
import { PROGRAM } from '../support/fleet-processes.ts';
import { createGitSandbox, type GitSandbox } from '../support/git-sandbox.ts';

const POLICY = 'apiVersion: fleetrelay.dev/v1\nkind: FleetPolicy\nmetadata: {name: fleet}\nspec: {}\n';
let box: GitSandbox;
let bare: string;
let git: SmartHttpServer;
let remote: string;
const children: Child[] = [];

beforeEach(async () => {
  box = createGitSandbox();
  bare = box.bare('fleet');
  git = createSmartHttpServer({ root: box.served, searchPath: process.env.PATH ?? '' });
  remote = `${(await git.start()).url}/fleet.git`;
});

afterEach(async () => {
  for (const child of children.splice(0)) await child.stop();
  await git.stop();
  box.remove();
});

/** Starts fleetrelay on a machine without programs. */
function start(args: readonly string[]): Child {
  const folder = join(box.path, 'no-programs');
  mkdirSync(folder, { recursive: true });
  const child = startChild({ file: PROGRAM, env: { ...process.env, PATH: folder } }, args);
  children.push(child);
  return child;
}

function serve(repository: string): Child {
  const listening = ['--listen', '127.0.0.1:0', '--http', '127.0.0.1:0', '--metrics', '127.0.0.1:0'];
  const following = ['--repo', repository, '--branch', 'main', '--poll', '1'];
  return start(['serve', ...following, ...listening, '--data-dir', join(box.path, 'data'), '--log-level', 'info']);
}

test('a server follows a repository and writes its status branch without a git program, and says so', async () => {
  box.push(bare, { 'policy.yaml': POLICY });
  const server = serve(remote);
  expect(await server.logged('repositories are read by isomorphic-git')).toMatchObject({
    why: 'there is no git program on the PATH',
  });
  await server.logged('the server is up');
  const statusOf = (): string => box.git(bare, 'log', '--all', '--format=%s %D');
  await expect.poll(statusOf, { timeout: 60_000 }).toContain('fleetrelay/status/');
  const second = box.push(bare, { 'a/policy.yaml': POLICY.replace('name: fleet', 'name: other') });
  const branch = box.git(bare, 'for-each-ref', '--format=%(refname)', 'refs/heads/fleetrelay');
  await expect.poll(() => box.git(bare, 'grep', '-l', second, branch), { timeout: 60_000 }).not.toBe('');
});

test('a server whose repository is local says that it needs the git program, and ends', async () => {
  box.push(bare, { 'policy.yaml': POLICY });
  const server = serve(bare);
  await expect(server.logged('the server is up')).rejects.toThrow(
    /local, which only the git program reads: .*install git 2\.31/,
  );
  expect(await server.ended).toBe(1);
});

test.each([
  ['validate --changed-since', ['validate', '--changed-since', 'HEAD', 'a.yaml']],
  ['plan --base', ['plan', '--base', 'HEAD', '.']],
  ['init --hook', ['init', '--hook', '.']],
])('%s says that it needs the git program', async (_name, args) => {
  const work = join(box.path, 'work');
  mkdirSync(work);
  box.git(work, 'init', '--quiet');
  writeFileSync(join(work, 'a.yaml'), POLICY);
  const child = start([...args.slice(0, -1), join(work, args.at(-1) ?? '')]);
  await expect(child.logged('nothing')).rejects.toThrow(/needs the git program.*install git and put it on the PATH/s);
});
