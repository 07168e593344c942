import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { GitRepo } from '../../../src/ports/git-repo.ts';
import { createGitSandbox, type GitSandbox } from '../../support/git-sandbox.ts';
import type { GitRepoSubject } from './git-subject.ts';

/** What the port says of refs beside the branch, and of common ancestors, for every adapter. */
export function describeOtherRefs(subject: GitRepoSubject): void {
  describe(`${subject.name}: other refs`, () => {
    let box: GitSandbox;
    let bare: string;
    let served: Awaited<ReturnType<GitRepoSubject['open']>>;
    let repo: GitRepo;
    const open = (more: { readonly maxCopyBytes?: number } = {}): GitRepo =>
      subject.repo({ remote: served.urlOf('fleet'), branch: 'main', directory: join(box.path, 'copy'), ...more });
    const paths = async (commit: string): Promise<readonly string[]> =>
      (await repo.diff(null, commit, '')).map(({ path }) => path).sort();

    beforeEach(async () => {
      box = createGitSandbox();
      bare = box.bare('fleet');
      served = await subject.open(box);
      repo = open();
    });
    afterEach(async () => {
      await repo.close();
      await served.close();
      box.remove();
    });

    test('come by full name, by the name of a branch and by commit, with their files and history', async () => {
      const base = box.push(bare, { 'a.yaml': 'a' });
      box.git(bare, 'branch', 'feature/x', 'main');
      const feature = box.push(bare, { 'b.yaml': 'bb' }, { branch: 'feature/x' });
      box.git(bare, 'update-ref', 'refs/pull/7/head', feature);
      const tip = box.push(bare, { 'c.yaml': 'c' });
      expect(await repo.fetch()).toEqual({ type: 'fetched', commit: tip });
      for (const ref of ['refs/pull/7/head', 'feature/x', 'refs/heads/feature/x', feature]) {
        expect([ref, await repo.fetchRef(ref)]).toEqual([ref, { type: 'fetched', commit: feature }]);
        expect(await paths(feature)).toEqual(['a.yaml', 'b.yaml']);
        expect(await repo.isAncestor(base, feature)).toBe(true);
      }
      const [entry] = await repo.diff(tip, feature, '').then((all) => all.filter(({ path }) => path === 'b.yaml'));
      expect(await repo.readBlob(entry?.entry?.blob ?? '', 10)).toMatchObject({ type: 'read' });
      expect(await repo.commitInfo(feature)).toMatchObject({ author: 'Ada' });
    });

    test('leave the branch as it is, also where they have no commit in common', async () => {
      const first = box.push(bare, { 'a.yaml': 'a' });
      const other = box.push(bare, { 'b.yaml': 'b' }, { branch: 'other' });
      expect(await repo.fetch()).toMatchObject({ commit: first });
      expect(await repo.fetchRef('other')).toMatchObject({ commit: other });
      expect(await repo.fetch()).toEqual({ type: 'fetched', commit: first });
      const second = box.push(bare, { 'a.yaml': 'b' });
      expect(await repo.fetch()).toEqual({ type: 'fetched', commit: second });
      expect(await repo.mergeBase(second, other)).toBeUndefined();
      expect(await repo.isAncestor(first, second)).toBe(true);
    });

    test('are kept one at a time, and a ref that has moved or was rewritten is seen as it is', async () => {
      box.push(bare, { 'a.yaml': 'a' });
      await repo.fetch();
      const one = box.push(bare, { 'b.yaml': '1' }, { branch: 'one' });
      const two = box.push(bare, { 'c.yaml': '2' }, { branch: 'two' });
      expect(await repo.fetchRef('one')).toMatchObject({ commit: one });
      expect(await repo.fetchRef('two')).toMatchObject({ commit: two });
      expect(await repo.hasCommit(two)).toBe(true);
      const moved = box.push(bare, { 'c.yaml': '3' }, { branch: 'two' });
      expect(await repo.fetchRef('two')).toMatchObject({ commit: moved });
      expect(await repo.isAncestor(two, moved)).toBe(true);
      const rewritten = box.push(bare, { 'd.yaml': '4' }, { branch: 'two', orphan: true });
      expect(await repo.fetchRef('two')).toMatchObject({ commit: rewritten });
      expect(await paths(rewritten)).toEqual(['d.yaml']);
      expect(await repo.fetchRef('one')).toMatchObject({ commit: one });
      expect(await paths(one)).toEqual(['b.yaml']);
    });

    test('come before the first fetch of the branch, and after a restart', async () => {
      const base = box.push(bare, { 'a.yaml': 'a' });
      box.git(bare, 'branch', 'x', 'main');
      const commit = box.push(bare, { 'b.yaml': 'b' }, { branch: 'x' });
      expect(await repo.fetchRef('x')).toEqual({ type: 'fetched', commit });
      expect(await repo.fetch()).toEqual({ type: 'fetched', commit: base });
      await repo.close();
      repo = open();
      expect(await repo.fetchRef('x')).toEqual({ type: 'fetched', commit });
      expect(await repo.mergeBase(commit, base)).toBe(base);
    });

    test('that do not exist, or that no repository can have, are absent', async () => {
      box.push(bare, { 'a.yaml': 'a' });
      await repo.fetch();
      const bad = [
        '-x',
        '--upload-pack=touch x',
        'a..b',
        'main:refs/heads/evil',
        '+main',
        '*',
        'refs/*',
        'a b',
        'a\nb',
        '',
      ];
      for (const ref of ['none', 'refs/pull/9/head', 'f'.repeat(40), ...bad, `refs/heads/${'x'.repeat(5000)}`]) {
        expect([ref, await repo.fetchRef(ref)]).toEqual([ref, { type: 'absent' }]);
      }
      expect(existsSync(join(box.path, 'copy', 'x'))).toBe(false);
    });

    test('that name no commit are absent, and a tag is the commit that it names', async () => {
      const commit = box.push(bare, { 'a.yaml': 'a' });
      await repo.fetch();
      box.git(bare, 'update-ref', 'refs/tags/blob', box.git(bare, 'rev-parse', 'main:a.yaml'));
      expect(await repo.fetchRef('refs/tags/blob')).toEqual({ type: 'absent' });
      box.git(bare, 'tag', '-a', '-m', 'one', 'v1', 'main');
      expect(await repo.fetchRef('refs/tags/v1')).toEqual({ type: 'fetched', commit });
    });

    test('that need more disk than is allowed fail, and the branch is followed on', async () => {
      await repo.close();
      repo = open({ maxCopyBytes: 300_000 });
      const first = box.push(bare, { 'a.yaml': 'a' });
      expect(await repo.fetch()).toMatchObject({ commit: first });
      const noise = Array.from({ length: 40_000 }, (_, index) => `${Math.sin(index)}`).join('');
      box.push(bare, { 'noise.yaml': noise }, { branch: 'large' });
      const small = box.push(bare, { 'b.yaml': 'b' }, { branch: 'small' });
      for (let time = 0; time < 2; time += 1) {
        expect(await repo.fetchRef('large')).toMatchObject({ type: 'failed', reason: 'TooLarge' });
        expect(await repo.fetchRef('small')).toEqual({ type: 'fetched', commit: small });
        expect(await repo.fetch()).toEqual({ type: 'fetched', commit: first });
      }
    });

    test('of a repository that is not there are a failure', async () => {
      await repo.close();
      repo = subject.repo({ remote: served.urlOf('none'), branch: 'main', directory: join(box.path, 'copy') });
      expect(await repo.fetchRef('x')).toMatchObject({ type: 'failed', reason: 'RepositoryNotFound' });
    });

    test('the best common ancestor is found, also after merges, and none where there is none', async () => {
      const work = join(box.path, 'w');
      box.git(box.path, 'init', '--quiet', work);
      const commit = (message: string): string => {
        box.git(work, 'commit', '--quiet', '--allow-empty', '-m', message);
        return box.git(work, 'rev-parse', 'HEAD');
      };
      commit('root');
      const fork = commit('fork');
      box.git(work, 'checkout', '--quiet', '-b', 'side');
      commit('s1');
      const merged = commit('s2');
      const side = commit('s3');
      box.git(work, 'checkout', '--quiet', 'main');
      commit('m1');
      box.git(work, 'merge', '--quiet', '--no-ff', '-m', 'merge', merged);
      const main = commit('m2');
      box.git(work, 'push', '--quiet', bare, 'main', 'side');
      await repo.fetch();
      await repo.fetchRef('side');
      expect(await repo.mergeBase(main, side)).toBe(merged);
      expect(await repo.mergeBase(side, main)).toBe(merged);
      expect(await repo.mergeBase(fork, side)).toBe(fork);
      expect(await repo.mergeBase(main, main)).toBe(main);
      for (const stranger of ['f'.repeat(40), 'main', '', '--all']) {
        expect(await repo.mergeBase(stranger, main)).toBeUndefined();
        expect(await repo.mergeBase(main, stranger)).toBeUndefined();
      }
    });
  });
}
