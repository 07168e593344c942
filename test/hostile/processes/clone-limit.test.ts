import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { folderSize } from '../../../src/adapters/git/folder-size.ts';
import { createNativeGitRepo } from '../../../src/adapters/git/native-git-repo.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { defaultRevisionLimits } from '../../../src/model/limits/revision-limits.ts';
import { must } from '../../../src/model/values/result.ts';
import type { GitRepo } from '../../../src/ports/git-repo.ts';
import { createKeptLog } from '../../support/git-quiet-log.ts';
import { createGitSandbox, type GitSandbox } from '../../support/git-sandbox.ts';
import { rawGit } from '../../support/hostile-repositories.ts';

const MIB = 1024 * 1024;

describe('a local clone', () => {
  let box: GitSandbox;
  let bare: string;
  let repo: GitRepo;
  const copy = (): string => join(box.path, 'copy');

  beforeEach(() => {
    box = createGitSandbox();
    bare = box.bare('fleet');
    box.push(bare, { 'a.yaml': 'a' });
    const deps = { clock: createSystemClock(), log: createKeptLog(), environment: { PATH: process.env.PATH } };
    const options = { remote: bare, branch: 'main', directory: copy(), maxCopyBytes: 4 * MIB };
    repo = must(createNativeGitRepo(deps, options));
  });
  afterEach(async () => {
    await repo.close();
    box.remove();
  });
  /** Text that cannot be compressed to less than three quarters. */
  const noise = (bytes: number): string => randomBytes(bytes).toString('base64');

  it('never stays above its limit: what was fetched before is there, and a smaller history goes on', async () => {
    expect(await repo.fetch()).toMatchObject({ type: 'fetched' });
    const good = box.git(bare, 'rev-parse', 'main');
    box.push(bare, { 'large.bin': noise(8 * MIB) });
    for (let tries = 0; tries < 2; tries += 1) {
      const refused = await repo.fetch();
      expect(refused).toMatchObject({ type: 'failed', reason: 'TooLarge' });
      expect(refused).toHaveProperty(
        'message',
        expect.stringMatching(/4194304 bytes \(limits\.cloneBytes of the RelayConfig\)/),
      );
      expect(await folderSize(copy())).toBeLessThan(4 * MIB);
    }
    expect(await repo.hasCommit(good)).toBe(true);
    const small = box.push(bare, { 'b.yaml': 'b' }, { orphan: true });
    expect(await repo.fetch()).toEqual({ type: 'fetched', commit: small });
  });

  it('is taken back to what it was when the fetch is over before its size is seen', async () => {
    await repo.fetch();
    const files = (await folderSize(copy())) + 1000;
    for (const size of [4.5, 5, 5.5]) {
      box.push(bare, { 'large.bin': noise(size * MIB) });
      expect(await repo.fetch()).toMatchObject({ type: 'failed', reason: 'TooLarge' });
      expect(await folderSize(copy())).toBeLessThan(files);
    }
  });

  it('is replaced when history that the branch has left fills it', async () => {
    for (let round = 0; round < 4; round += 1) {
      const tip = box.push(bare, { 'a.bin': noise(1.5 * MIB) }, { orphan: true });
      expect(await repo.fetch()).toEqual({ type: 'fetched', commit: tip });
      expect(await folderSize(copy())).toBeLessThan(4 * MIB);
    }
  });

  it('counts trees within trees without listing them, and cuts the texts of a commit', async () => {
    const git = rawGit(box, bare);
    const commit = git.commit(git.nested(12), {
      author: `A\u001b[2J${'x'.repeat(10_000)}`,
      message: 'm'.repeat(3 * MIB),
    });
    expect(await repo.fetch()).toEqual({ type: 'fetched', commit });
    const excess = await repo.measure(commit, '', defaultRevisionLimits);
    expect(excess).toMatchObject({ limit: 'entries', most: 250_000 });
    expect(await repo.measure(commit, 'f0/f0/f0/f0/f0/f0/f0/f0', defaultRevisionLimits)).toBeUndefined();
    expect(await repo.measure(commit, 'nothing', defaultRevisionLimits)).toBeUndefined();
    const { author, subject } = await repo.commitInfo(commit);
    expect(subject).toBe(`${'m'.repeat(297)}...`);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may be left.
    expect(author).not.toMatch(/[\u0000-\u001f]/);
    expect(author.length).toBeLessThanOrEqual(300);
  });
});
