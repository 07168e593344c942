import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** A folder for one test, with a git that reads nothing of the user's. */
export interface GitSandbox {
  readonly path: string;
  git(directory: string, ...args: string[]): string;
  /** Makes a bare repository `NAME.git` below `served/` and returns its path. */
  bare(name: string): string;
  /** The folder that holds the bare repositories. */
  readonly served: string;
  /** Writes files (null removes) into a clone of the bare repository, commits and pushes; returns the commit. */
  push(bare: string, files: Readonly<Record<string, string | null>>, options?: PushOptions): string;
  remove(): void;
}

export interface PushOptions {
  readonly branch?: string;
  readonly message?: string;
  /** Starts a history without a parent. */
  readonly orphan?: boolean;
  /** When the commit was made, in seconds since 1970; now if left out. */
  readonly committedAt?: number;
}

/** The environment of a git that no configuration of the machine changes. */
export const hermeticGit: Readonly<Record<string, string>> = {
  PATH: process.env.PATH ?? '',
  HOME: '/nonexistent',
  LC_ALL: 'C',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.com',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.com',
};

/** Creates the sandbox; remove it after the test. */
export function createGitSandbox(): GitSandbox {
  const path = mkdtempSync(join(tmpdir(), 'fleetrelay-git-'));
  const served = join(path, 'served');
  mkdirSync(served);
  const gitWith = (more: Readonly<Record<string, string>>, directory: string, ...args: string[]): string =>
    execFileSync('git', ['-c', 'init.defaultBranch=main', ...args], {
      cwd: directory,
      env: { ...hermeticGit, ...more },
      stdio: ['ignore', 'pipe', 'pipe'],
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    }).trim();
  const git = (directory: string, ...args: string[]): string => gitWith({}, directory, ...args);
  let clones = 0;
  return {
    path,
    served,
    git,
    bare: (name) => {
      const at = join(served, `${name}.git`);
      git(path, 'init', '--quiet', '--bare', '--template=', at);
      return at;
    },
    push: (bare, files, { branch = 'main', message = 'Change', orphan = false, committedAt } = {}) => {
      clones += 1;
      const work = join(path, `work-${clones}`);
      git(path, 'init', '--quiet', '--template=', work);
      git(work, 'remote', 'add', 'origin', bare);
      const known = !orphan && git(path, 'ls-remote', bare, `refs/heads/${branch}`) !== '';
      if (known) {
        git(work, 'fetch', '--quiet', 'origin', branch);
        git(work, 'checkout', '--quiet', '-B', branch, 'FETCH_HEAD');
      } else git(work, 'checkout', '--quiet', '--orphan', branch);
      writeFiles(work, files);
      git(work, 'add', '--all');
      const date = committedAt === undefined ? undefined : { GIT_COMMITTER_DATE: `@${committedAt} +0000` };
      gitWith({ ...date }, work, 'commit', '--quiet', '--allow-empty', '-m', message);
      git(work, 'push', '--quiet', ...(orphan ? ['--force'] : []), 'origin', `HEAD:refs/heads/${branch}`);
      const commit = git(work, 'rev-parse', 'HEAD');
      rmSync(work, { recursive: true, force: true });
      return commit;
    },
    remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }),
  };
}

/** Writes files below a folder; null removes. */
export function writeFiles(folder: string, files: Readonly<Record<string, string | null>>): void {
  for (const [name, content] of Object.entries(files)) {
    const file = join(folder, name);
    if (content === null) rmSync(file, { recursive: true, force: true });
    else {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content);
    }
  }
}
