import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { compositionRoots } from '../../src/cli/roots.ts';
import { runCli } from '../support/cli.ts';

/** A case is a folder: the repository `before` and `after`, and in `expected` what each format prints. */
const folder = join(import.meta.dirname, 'plan');
const FORMATS = { table: 'plan.txt', json: 'plan.json', yaml: 'plan.yaml', markdown: 'plan.md' } as const;

const made: string[] = [];
afterEach(() => {
  for (const path of made.splice(0)) rmSync(path, { recursive: true });
});

describe('golden cases of plan: two states of a repository → what each format prints', () => {
  it.each(readdirSync(folder))('%s', async (name) => {
    const cwd = repository(join(folder, name));
    for (const [format, file] of Object.entries(FORMATS)) {
      const { code, out, err } = await runCli(['plan', '--base', 'HEAD', '-o', format], {
        cwd,
        roots: compositionRoots,
      });
      expect({ code, err }).toEqual({ code: 0, err: '' });
      const text = out.replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, '2026-01-31T10:42:07Z');
      await expect(text).toMatchFileSnapshot(join(folder, name, 'expected', file));
      expect(text).not.toMatch(/1234|9876/);
    }
  });

  it('--exit-code is 1 if the plan changes anything, and 0 if it does not', async () => {
    const exitOf = async (name: string): Promise<number> =>
      (
        await runCli(['plan', '--base', 'HEAD', '--exit-code'], {
          cwd: repository(join(folder, name)),
          roots: compositionRoots,
        })
      ).code;
    expect([await exitOf('shop'), await exitOf('nothing')]).toEqual([1, 0]);
  });

  it('a commit is planned as the work tree with the same files', async () => {
    const cwd = repository(join(folder, 'shop'));
    const plan = async (...target: readonly string[]) =>
      JSON.parse(
        (await runCli(['plan', ...target, '--base', 'main', '-o', 'json'], { cwd, roots: compositionRoots })).out,
      );
    const { at: _at, revision: _worktree, ...ofFolder } = await plan();
    git(cwd, 'checkout', '-qb', 'feature');
    git(cwd, 'add', '-A');
    git(cwd, 'commit', '-qm', 'changes');
    git(cwd, 'checkout', '-q', 'main');
    const { at: _then, revision, ...ofCommit } = await plan('feature');
    expect(ofCommit).toEqual(ofFolder);
    expect(revision).toMatch(/^[0-9a-f]{40}$/);
  });
});

/** A repository with `before` as its commit and `after` as its work tree. */
function repository(at: string): string {
  const cwd = mkdtempSync(join(tmpdir(), 'fleetrelay-plan-'));
  made.push(cwd);
  cpSync(join(at, 'before'), cwd, { recursive: true });
  git(cwd, 'init', '-q', '-b', 'main');
  git(cwd, 'add', '-A');
  git(cwd, 'commit', '-qm', 'before');
  for (const name of readdirSync(cwd)) if (name !== '.git') rmSync(join(cwd, name), { recursive: true });
  cpSync(join(at, 'after'), cwd, { recursive: true });
  return cwd;
}

function git(cwd: string, ...args: readonly string[]): void {
  const who = { NAME: 'A person', EMAIL: 'person@example.com', DATE: '2026-01-01T00:00:00Z' };
  const env = Object.fromEntries(
    ['AUTHOR', 'COMMITTER'].flatMap((role) =>
      Object.entries(who).map(([name, value]) => [`GIT_${role}_${name}`, value] as const),
    ),
  );
  execFileSync('git', args, { cwd, env: { PATH: process.env.PATH, GIT_CONFIG_GLOBAL: '/dev/null', ...env } });
}
