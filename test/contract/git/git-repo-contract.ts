import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { defaultRevisionLimits } from '../../../src/model/limits/revision-limits.ts';
import type { GitPublishRequest, GitRepo } from '../../../src/ports/git-repo.ts';
import { createGitSandbox, type GitSandbox } from '../../support/git-sandbox.ts';
import type { GitRepoSubject } from './git-subject.ts';
import { describeOtherRefs } from './other-refs-contract.ts';

const author = { name: 'fleetrelay', email: 'fleetrelay@example.com' };

/** The semantics of the GitRepo port, for every adapter. */
export function describeGitRepo(subject: GitRepoSubject): void {
  describeOtherRefs(subject);
  describe(subject.name, () => {
    let box: GitSandbox;
    let bare: string;
    let served: Awaited<ReturnType<GitRepoSubject['open']>>;
    let repo: GitRepo;
    const extra: GitRepo[] = [];
    const open = (directory = 'copy', branch: string | null = 'main'): GitRepo => {
      const at = join(box.path, directory);
      const made = subject.repo({
        remote: served.urlOf('fleet'),
        directory: at,
        ...(branch === null ? {} : { branch }),
      });
      extra.push(made);
      return made;
    };
    const fetched = async (from: GitRepo = repo): Promise<string> => {
      const outcome = await from.fetch();
      if (outcome.type !== 'fetched') throw new Error(JSON.stringify(outcome));
      return outcome.commit;
    };
    const publish = (expected: string | null, files: Readonly<Record<string, string | null>>, from: GitRepo = repo) => {
      const changes = new Map(Object.entries(files));
      const request: GitPublishRequest = { expected, changes, author, at: 1_700_000_000_000, message: 'Status\n' };
      return from.publish(request);
    };
    const tip = (branch = 'main'): string => box.git(bare, 'rev-parse', `refs/heads/${branch}`);

    beforeEach(async () => {
      box = createGitSandbox();
      bare = box.bare('fleet');
      served = await subject.open(box);
      repo = open();
    });
    afterEach(async () => {
      for (const made of extra.splice(0)) await made.close();
      await served.close();
      box.remove();
    });

    describe('fetch', () => {
      test('an empty repository and a missing branch are absent', async () => {
        expect(await repo.fetch()).toEqual({ type: 'absent' });
        box.push(bare, { 'a.yaml': 'a' }, { branch: 'other' });
        expect(await repo.fetch()).toEqual({ type: 'absent' });
      });

      test('brings the tip, again and again, and after a restart', async () => {
        const first = box.push(bare, { 'a.yaml': 'a' });
        expect(await fetched()).toBe(first);
        expect(await fetched()).toBe(first);
        const second = box.push(bare, { 'a.yaml': 'b' });
        expect(await fetched()).toBe(second);
        await repo.close();
        expect(await fetched(open())).toBe(second);
      });

      test("follows the repository's default branch when none is named", async () => {
        const other = open('copy-2', null);
        expect(await other.fetch()).toEqual({ type: 'absent' });
        box.git(bare, 'symbolic-ref', 'HEAD', 'refs/heads/trunk');
        const first = box.push(bare, { 'a.yaml': 'a' }, { branch: 'trunk' });
        expect(await fetched(other)).toBe(first);
        expect(other.branch).toBe('trunk');
      });

      test('brings a branch beside a default branch that does not exist', async () => {
        const first = box.push(bare, { 'a.yaml': 'a' }, { branch: 'other' });
        const other = open('copy-2', 'other');
        expect(await fetched(other)).toBe(first);
        const second = box.push(bare, { 'a.yaml': 'b' }, { branch: 'other' });
        expect(await fetched(other)).toBe(second);
      });

      test('a forced push and a vanished branch are seen as they are', async () => {
        const first = box.push(bare, { 'a.yaml': 'a' });
        await fetched();
        const second = box.push(bare, { 'b.yaml': 'b' }, { orphan: true });
        expect(await fetched()).toBe(second);
        expect(await repo.isAncestor(first, second)).toBe(false);
        expect(await repo.hasCommit(first)).toBe(true);
        box.git(bare, 'update-ref', '-d', 'refs/heads/main');
        expect(await repo.fetch()).toEqual({ type: 'absent' });
      });

      test('a repository that is not there is a failure', async () => {
        const other = subject.repo({ remote: served.urlOf('none'), branch: 'main', directory: join(box.path, 'x') });
        extra.push(other);
        expect(await other.fetch()).toMatchObject({ type: 'failed', reason: 'RepositoryNotFound' });
      });

      test('a repository of the SHA-256 kind is followed, also where there was another one before', async () => {
        box.push(bare, { 'a.yaml': 'a' });
        await fetched();
        box.git(
          box.path,
          'init',
          '--quiet',
          '--bare',
          '--object-format=sha256',
          '--template=',
          join(box.served, 'new.git'),
        );
        const work = join(box.path, 'w');
        box.git(box.path, 'init', '--quiet', '--object-format=sha256', work);
        writeFileSync(join(work, 'b.yaml'), 'b');
        box.git(work, 'add', '.');
        box.git(work, 'commit', '--quiet', '-m', 'x');
        box.git(work, 'push', '--quiet', join(box.served, 'new.git'), 'HEAD:refs/heads/main');
        await repo.close();
        const other = subject.repo({ remote: served.urlOf('new'), branch: 'main', directory: join(box.path, 'copy') });
        extra.push(other);
        if (subject.cannot.has('sha256')) {
          expect(await other.fetch()).toMatchObject({ type: 'failed', reason: 'LocalFailure' });
          expect(await other.fetch()).toHaveProperty('message', expect.stringContaining('SHA-256 kind'));
          return;
        }
        const commit = await fetched(other);
        expect(commit).toHaveLength(64);
        expect(await other.diff(null, commit, '')).toMatchObject([{ path: 'b.yaml', entry: { size: 1 } }]);
      });
    });

    test('after its end it reads and fetches nothing, and starts nothing', async () => {
      const commit = box.push(bare, { 'a.yaml': 'a' });
      await fetched();
      const [change] = await repo.diff(null, commit, '');
      await repo.close();
      expect(await repo.fetch()).toMatchObject({ type: 'failed', reason: 'Stopped' });
      expect(await repo.fetchRef('refs/heads/main')).toMatchObject({ type: 'failed', reason: 'Stopped' });
      await expect(repo.readBlob(change?.entry?.blob ?? '', 10)).rejects.toThrow();
      await expect(repo.hasCommit(commit)).rejects.toThrow();
      await expect(repo.isAncestor(commit, commit)).rejects.toThrow();
      await expect(repo.diff(null, commit, '')).rejects.toThrow();
    });

    describe('reading', () => {
      test('tells ancestors from others, and knows nothing of what is not here', async () => {
        const first = box.push(bare, { 'a.yaml': 'a' });
        const second = box.push(bare, { 'a.yaml': 'b' });
        await fetched();
        expect(await repo.isAncestor(first, second)).toBe(true);
        expect(await repo.isAncestor(first, first)).toBe(true);
        expect(await repo.isAncestor(second, first)).toBe(false);
        for (const stranger of ['f'.repeat(40), 'main', '', '--all', 'no-branch']) {
          expect(await repo.isAncestor(stranger, second)).toBe(false);
          expect(await repo.hasCommit(stranger)).toBe(false);
        }
      });

      test('diffs trees with sizes, kinds and odd names, below a folder', async () => {
        const odd = 'd/"quoted" \\ tab\tnew\nline ü.yaml';
        const first = box.push(bare, {
          'a.yaml': 'a',
          'd/b.yaml': 'bb',
          'd/c.yaml': 'c',
          'dd/x.yaml': 'x',
          [odd]: 'o',
        });
        await fetched();
        const all = await repo.diff(null, first, 'd');
        expect(Object.fromEntries(all.map(({ path, entry }) => [path, entry?.size]))).toEqual({
          'b.yaml': 2,
          'c.yaml': 1,
          [odd.slice(2)]: 1,
        });
        const second = box.push(bare, { 'd/b.yaml': 'bbb', 'd/c.yaml': null, 'dd/x.yaml': null, 'd/e/f.json': '{}' });
        await fetched();
        const changes = await repo.diff(first, second, 'd');
        expect(Object.fromEntries(changes.map(({ path, entry }) => [path, entry?.size]))).toEqual({
          'b.yaml': 3,
          'c.yaml': undefined,
          'e/f.json': 2,
        });
        expect(await repo.diff(first, second, 'a.yaml')).toEqual([]);
        expect(await repo.diff(null, second, 'none')).toEqual([]);
        expect(await repo.diff(second, second, '')).toEqual([]);
        expect(await repo.diff(null, second, '*')).toEqual([]);
      });

      test('a tree without files, links and submodules', async () => {
        const work = join(box.path, 'w');
        box.git(box.path, 'init', '--quiet', work);
        symlinkSync('/etc/passwd', join(work, 'l.yaml'));
        box.git(work, 'add', '.');
        box.git(work, 'update-index', '--add', '--cacheinfo', `160000,${'1'.repeat(40)},sub`);
        box.git(work, 'commit', '--quiet', '-m', 'x');
        box.git(work, 'push', '--quiet', bare, 'HEAD:refs/heads/main');
        const first = await fetched();
        expect(await repo.diff(null, first, '')).toMatchObject([
          { path: 'l.yaml', entry: { kind: 'symlink' } },
          { path: 'sub', entry: { kind: 'submodule' } },
        ]);
        box.git(work, 'rm', '--quiet', '--cached', 'l.yaml', 'sub');
        box.git(work, 'commit', '--quiet', '--allow-empty', '-m', 'y');
        box.git(work, 'push', '--quiet', bare, 'HEAD:refs/heads/main');
        const second = await fetched();
        expect(await repo.diff(null, second, '')).toEqual([]);
        expect((await repo.diff(first, second, '')).map(({ entry }) => entry)).toEqual([null, null]);
      });

      test('reads many blobs at once, in bounds', async () => {
        const files = Object.fromEntries(
          Array.from({ length: 300 }, (_, index) => [`f${index}.yaml`, `${index}\n`.repeat(index)]),
        );
        const commit = box.push(bare, { ...files, 'huge.yaml': 'x'.repeat(3_000_000) });
        await fetched();
        const changes = await repo.diff(null, commit, '');
        const read = await Promise.all(
          changes.map(async ({ path, entry }) => {
            const outcome = await repo.readBlob(entry?.blob ?? '', 2_000_000);
            return [path, outcome.type === 'read' ? Buffer.from(outcome.bytes).toString() : outcome.type] as const;
          }),
        );
        expect(Object.fromEntries(read)).toEqual({ ...files, 'huge.yaml': 'oversized' });
        expect(await repo.readBlob('f'.repeat(40), 10)).toEqual({ type: 'missing' });
        expect(await repo.readBlob(commit, 1000)).toEqual({ type: 'missing' });
        expect(await repo.readBlob('HEAD\nHEAD', 10)).toEqual({ type: 'missing' });
      });

      test('says who wrote a commit, and of what, without what could harm a terminal', async () => {
        const commit = box.push(bare, { 'a.yaml': 'a' }, { message: 'First \u001b[31mline\n\nbody' });
        await fetched();
        const info = await repo.commitInfo(commit);
        expect(info).toMatchObject({ subject: 'First  [31mline', author: 'Ada' });
        expect(info.committedAt % 1000).toBe(0);
      });

      test.each([
        ['in the year 9999', 253_402_300_799],
        ['in the year 10,000', 253_402_300_800],
        ['in the year 287,168, which no Date can hold', 9_000_000_000_000],
      ])('takes a commit that says it was made %s for one made in 9999', async (_when, committedAt) => {
        const commit = box.push(bare, { 'a.yaml': 'a' }, { committedAt });
        await fetched();
        const info = await repo.commitInfo(commit);
        expect(new Date(info.committedAt).toISOString()).toBe('9999-12-31T23:59:59.000Z');
      });
    });

    describe('modes', () => {
      /** Makes a commit on main of a tree whose entries have these modes. */
      const pushTree = (entries: readonly (readonly [mode: string, name: string, id: string])[]): string => {
        const sorted = [...entries].sort(([, a], [, b]) => (a < b ? -1 : 1));
        const bytes = sorted.map(([mode, name, id]) =>
          Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(id, 'hex')]),
        );
        const at = join(box.path, 'tree');
        writeFileSync(at, Buffer.concat(bytes));
        const tree = box.git(bare, 'hash-object', '-t', 'tree', '--literally', '-w', at);
        const commit = box.git(bare, 'commit-tree', '-m', 'modes', tree);
        box.git(bare, 'update-ref', 'refs/heads/main', commit);
        return commit;
      };

      test('count as git reads them: the type decides, other permissions than git writes change nothing', async () => {
        const first = box.push(bare, { 'a.yaml': 'a', 'd/b.yaml': 'b' });
        const blob = box.git(bare, 'rev-parse', `${first}:a.yaml`);
        const folder = box.git(bare, 'rev-parse', `${first}:d`);
        const commit = pushTree([
          ['100664', 'group.yaml', blob],
          ['100600', 'own.yaml', blob],
          ['0100644', 'zero.yaml', blob],
          ['120664', 'link.yaml', blob],
          ['40755', 'folder', folder],
          ['160644', 'module', first],
        ]);
        const changes = await repo.diff(null, await fetched(), '');
        expect(changes.map(({ path, entry }) => [path, entry?.kind]).sort()).toEqual([
          ['folder/b.yaml', 'file'],
          ['group.yaml', 'file'],
          ['link.yaml', 'symlink'],
          ['module', 'submodule'],
          ['own.yaml', 'file'],
          ['zero.yaml', 'file'],
        ]);
        expect(await repo.diff(null, commit, 'folder')).toMatchObject([{ path: 'b.yaml' }]);
        const limits = { ...defaultRevisionLimits, depth: 0 };
        expect(await repo.measure(commit, '', limits)).toMatchObject({ limit: 'depth' });
      });

      test('of no known kind are entries still, so that nothing of them counts as removed', async () => {
        const first = box.push(bare, { 'a.yaml': 'a' });
        const blob = box.git(bare, 'rev-parse', `${first}:a.yaml`);
        await fetched();
        pushTree([
          ['60644', 'a.yaml', blob],
          ['10064', 'b.yaml', blob],
        ]);
        expect(await repo.diff(first, await fetched(), '')).toMatchObject([
          { path: 'a.yaml', entry: { kind: 'unknown' } },
          { path: 'b.yaml', entry: { kind: 'unknown' } },
        ]);
      });
    });

    describe('publish', () => {
      test('starts a branch with a root commit, goes on from it, and says who and when', async () => {
        expect(await repo.fetch()).toEqual({ type: 'absent' });
        const first = await publish(null, { 'a/b.json': '1', 'c "q".json': '2' });
        expect(first).toEqual({ type: 'published', commit: tip() });
        const second = await publish(tip(), { 'a/b.json': null, 'a/d.json': '3', 'c "q".json': '4' });
        expect(second).toEqual({ type: 'published', commit: tip() });
        expect(box.git(bare, '-c', 'core.quotePath=false', 'ls-tree', '-r', '--name-only', 'main').split('\n')).toEqual(
          ['a/d.json', '"c \\"q\\".json"'],
        );
        expect(box.git(bare, 'log', '--format=%an <%ae> %at %s')).toBe(
          Array.from({ length: 2 }, () => 'fleetrelay <fleetrelay@example.com> 1700000000 Status').join('\n'),
        );
        expect(await fetched()).toBe(tip());
        box.git(bare, 'fsck', '--strict');
      });

      test('a file may become a folder, and a folder a file', async () => {
        await publish(null, { a: '1', 'b/c': '2' });
        expect((await publish(tip(), { a: null, 'a/x': '1', 'b/c': null, b: '2' })).type).toBe('published');
        expect(box.git(bare, 'ls-tree', '-r', '--name-only', 'main')).toBe('a/x\nb');
      });

      test('loses a race without changing anything: moved on, moved back, came into being, vanished', async () => {
        const first = box.push(bare, { 'a.yaml': 'a' });
        const second = box.push(bare, { 'a.yaml': 'b' });
        await fetched();
        expect(await publish(first, { x: 'x' })).toEqual({ type: 'race' });
        expect(await publish(null, { x: 'x' })).toEqual({ type: 'race' });
        expect(tip()).toBe(second);
        box.git(bare, 'update-ref', 'refs/heads/main', first);
        expect(await publish(second, { x: 'x' })).toEqual({ type: 'race' });
        expect(tip()).toBe(first);
        box.git(bare, 'update-ref', '-d', 'refs/heads/main');
        expect(await publish(first, { x: 'x' })).toEqual({ type: 'race' });
        expect(box.git(bare, 'for-each-ref')).toBe('');
      });

      test('of two that publish at one time one wins, and the other can go on from there', async () => {
        const other = open('copy-2');
        const base = box.push(bare, { 'a.yaml': 'a' });
        await Promise.all([fetched(), fetched(other)]);
        const outcomes = await Promise.all([publish(base, { x: '1' }), publish(base, { y: '2' }, other)]);
        expect(outcomes.map(({ type }) => type).sort()).toEqual(['published', 'race']);
        const loser = outcomes[0].type === 'race' ? repo : other;
        expect((await publish(await fetched(loser), { z: '3' }, loser)).type).toBe('published');
        expect(box.git(bare, 'rev-list', '--count', 'main')).toBe('3');
      });

      test('a branch whose name is in the way is named, in both directions, and is no race', async () => {
        const below = open('copy-2', 'fleetrelay/status');
        box.push(bare, { 'a.yaml': 'a' }, { branch: 'fleetrelay' });
        expect(await below.fetch()).toEqual({ type: 'absent' });
        const one = await publish(null, { x: 'x' }, below);
        expect(one).toMatchObject({ type: 'refused' });
        expect(one).toHaveProperty('message', expect.stringContaining('cannot exist beside the branch "fleetrelay"'));
        expect(box.git(bare, 'for-each-ref', '--format=%(refname)')).toBe('refs/heads/fleetrelay');
        box.push(bare, { 'a.yaml': 'a' }, { branch: 'state/of/all' });
        const above = open('copy-3', 'state');
        await above.fetch();
        const other = await publish(null, { x: 'x' }, above);
        expect(other).toMatchObject({ type: 'refused' });
        expect(other).toHaveProperty(
          'message',
          expect.stringContaining('cannot exist beside the branch "state/of/all"'),
        );
        // A name that only begins with the same letters is in no branch's way.
        box.push(bare, { 'a.yaml': 'a' }, { branch: 'fleet' });
        expect((await publish(null, { x: 'x' }, open('copy-4', 'fleet-status'))).type).toBe('published');
      });

      test('a refusal is no race, also if it quotes words of one, and a branch that cannot be locked says so', async () => {
        const base = box.push(bare, { 'a.yaml': 'a' });
        await fetched();
        mkdirSync(join(bare, 'hooks'), { recursive: true });
        const hook = join(bare, 'hooks', 'pre-receive');
        const text = 'fetch first: a non-fast-forward, and it already exists with an incorrect old value';
        writeFileSync(hook, `#!/bin/sh\necho "${text}" >&2\nexit 1\n`);
        chmodSync(hook, 0o755);
        const refused = await publish(base, { x: 'x' });
        expect(refused).toMatchObject({ type: 'refused', message: expect.stringContaining(text) });
        rmSync(hook);
        const lock = join(bare, 'refs', 'heads', 'main.lock');
        writeFileSync(lock, '');
        expect(await publish(base, { x: 'x' })).toMatchObject({
          type: 'race',
          locked: expect.stringContaining('lock'),
        });
        rmSync(lock);
        box.git(bare, 'config', 'receive.maxInputSize', '10');
        expect(await publish(base, { x: 'x' })).toMatchObject({ type: 'refused' });
        box.git(bare, 'config', '--unset', 'receive.maxInputSize');
        box.git(bare, 'config', 'receive.shallowUpdate', 'false');
        expect((await publish(base, { x: 'x' })).type).toBe('published');
      });

      test("a hook's refusal is told in its own words, made harmless", async () => {
        mkdirSync(join(bare, 'hooks'), { recursive: true });
        writeFileSync(
          join(bare, 'hooks', 'pre-receive'),
          '#!/bin/sh\nprintf "status is \\033[31mfrozen\\033[0m\\n" >&2\nexit 1\n',
        );
        chmodSync(join(bare, 'hooks', 'pre-receive'), 0o755);
        await repo.fetch();
        const outcome = await publish(null, { x: 'x' });
        expect(outcome).toMatchObject({ type: 'refused' });
        const message = outcome.type === 'refused' ? outcome.message : '';
        expect(message).toContain('pre-receive hook declined');
        expect(message).toMatch(/status is \[31mfrozen/);
        expect(message).not.toContain('\u001b');
        expect(box.git(bare, 'for-each-ref')).toBe('');
      });

      test('a path that leads elsewhere is a programming error', async () => {
        await repo.fetch();
        for (const path of ['../x', 'a//b', '/x', '.git/config', 'a/.GIT/b', 'a\nb', '']) {
          await expect(publish(null, { [path]: 'x' })).rejects.toThrow('not a path');
        }
      });

      test('text that looks like commands stays text', async () => {
        await repo.fetch();
        const text = 'x\ndata 5\nM 100644 inline evil\n"done\n\u0000\u00ff';
        await publish(null, { 'a.json': text });
        expect(box.git(bare, 'ls-tree', '-r', '--name-only', 'main')).toBe('a.json');
        const [entry] = await repo.diff(null, await fetched(), '');
        const outcome = await repo.readBlob(entry?.entry?.blob ?? '', 1000);
        expect(outcome.type === 'read' && Buffer.from(outcome.bytes).toString()).toBe(text);
      });
    });
  });
}
