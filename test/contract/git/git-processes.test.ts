import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSmartHttpServer, type SmartHttpServer } from '../../../scripts/local/smart-http-server.ts';
import { createNativeGitRepo } from '../../../src/adapters/git/native-git-repo.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { parseSourceName } from '../../../src/model/fleet/ids.ts';
import { must } from '../../../src/model/values/result.ts';
import type { Clock } from '../../../src/ports/clock.ts';
import type { Source } from '../../../src/ports/source.ts';
import { createGitSource } from '../../../src/sources/git/git-source.ts';
import { createKeptLog } from '../../support/git-quiet-log.ts';
import { createGitSandbox, type GitSandbox } from '../../support/git-sandbox.ts';
import { createSourceRecorder, createTestDecoder, type SourceRecorder } from '../../support/source-recorder.ts';

let box: GitSandbox;
let bare: string;
let server: SmartHttpServer;
let source: Source;
let told: SourceRecorder;
/** One line for each process: its arguments. */
let started: string;

beforeEach(async () => {
  box = createGitSandbox();
  bare = box.bare('fleet');
  server = createSmartHttpServer({ root: box.served, searchPath: process.env.PATH ?? '' });
  const remote = `${(await server.start()).url}/fleet.git`;
  started = join(box.path, 'started');
  const environment = { PATH: `${countingGit(join(box.path, 'bin'))}:${process.env.PATH}` };
  const clock = createSystemClock();
  const log = createKeptLog();
  const options = { remote, branch: 'main', directory: join(box.path, 'copy') };
  const repo = must(createNativeGitRepo({ clock, log, environment }, options));
  source = createGitSource(
    { repo, decode: createTestDecoder().decode, clock, random: { next: () => 0.5, id: () => 'id' }, log },
    { name: must(parseSourceName('fleet')), pollIntervalSeconds: 3600, path: 'config' },
  );
  told = createSourceRecorder();
});

afterEach(async () => {
  await source.stop();
  await server.stop();
  box.remove();
});

/** A folder with a `git` that writes down its arguments and runs the git of this machine. */
function countingGit(folder: string): string {
  mkdirSync(folder);
  const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
  const file = join(folder, 'git');
  writeFileSync(file, `#!/bin/sh\necho "$*" >> '${started}'\nexec '${real}' "$@"\n`);
  chmodSync(file, 0o755);
  return folder;
}

/** The processes of one look. */
async function look(): Promise<readonly string[]> {
  rmSync(started, { force: true });
  await source.look?.();
  return existsSync(started) ? readFileSync(started, 'utf8').trim().split('\n') : [];
}

/** Commits of a person, with a merge in between. */
function pushMerge(): string {
  const side = box.push(bare, { 'config/b.yaml': 'b' }, { branch: 'side' });
  const main = box.push(bare, { 'config/c.yaml': 'c' });
  const tree = box.git(bare, 'rev-parse', `${main}^{tree}`);
  const merge = box.git(bare, 'commit-tree', '-m', 'Merge', '-p', main, '-p', side, tree);
  box.git(bare, 'update-ref', 'refs/heads/main', merge);
  return merge;
}

test('a look starts one process, and at most two after a long absence or a rewritten history', async () => {
  box.push(bare, { 'config/a.yaml': 'a', 'x.yaml': 'x' });
  source.start(told, undefined, []);
  await look();
  expect(told.lastCondition()?.state).toBe('synced');

  expect(await look()).toEqual([expect.stringContaining('fetch')]);
  const changed = box.push(bare, { 'config/a.yaml': 'b', 'config/d/e.yaml': 'e' });
  expect(await look()).toEqual([expect.stringContaining('fetch')]);
  expect(told.lastCondition()?.revision).toBe(changed);
  const merge = pushMerge();
  expect(await look()).toEqual([expect.stringContaining('fetch')]);
  expect(told.lastCondition()?.revision).toBe(merge);

  let far = merge;
  const tree = box.git(bare, 'rev-parse', `${merge}^{tree}`);
  for (let count = 0; count < 210; count += 1) far = box.git(bare, 'commit-tree', '-m', 'x', '-p', far, tree);
  box.git(bare, 'update-ref', 'refs/heads/main', far);
  expect(await look()).toEqual([expect.stringContaining('fetch'), expect.stringContaining('merge-base')]);
  expect(told.lastCondition()?.revision).toBe(far);

  const rewritten = box.push(bare, { 'config/z.yaml': 'z' }, { orphan: true });
  expect((await look()).length).toBeLessThanOrEqual(2);
  expect(told.lastCondition()).toMatchObject({ state: 'refused', refusedRevision: rewritten });
  expect([...told.files.keys()].sort()).toEqual(['a.yaml', 'c.yaml', 'd/e.yaml']);
});

test('a look does not wait for the next look at the size of the copy', async () => {
  box.push(bare, { 'config/a.yaml': 'a' });
  const system = createSystemClock();
  // A wait ends only when it is cancelled.
  const clock: Clock = { ...system, sleep: (_, signal) => system.sleep(2 ** 40, signal) };
  const options = { remote: join(box.served, 'fleet.git'), branch: 'main', directory: join(box.path, 'patient') };
  const repo = must(
    createNativeGitRepo({ clock, log: createKeptLog(), environment: { PATH: process.env.PATH } }, options),
  );
  expect((await repo.fetch(new AbortController().signal)).type).toBe('fetched');
  await repo.close();
});
