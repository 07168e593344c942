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
  /** Makes a commit of these files (null removes) on a branch of the bare repository; returns the commit. */
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

const ADA = 'Ada <ada@example.com>';

/** Creates the sandbox; remove it after the test. */
export function createGitSandbox(): GitSandbox {
  const path = mkdtempSync(join(tmpdir(), 'fleetrelay-git-'));
  const served = join(path, 'served');
  mkdirSync(served);
  const gitWith = ({ input }: { readonly input?: string }, directory: string, ...args: string[]): string =>
    execFileSync('git', ['-c', 'init.defaultBranch=main', ...args], {
      cwd: directory,
      env: hermeticGit,
      ...(input === undefined ? {} : { input }),
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    }).trim();
  const git = (directory: string, ...args: string[]): string => gitWith({}, directory, ...args);
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
      const ref = `refs/heads/${branch}`;
      const isKnown = git(bare, 'for-each-ref', ref) !== '';
      const now = Math.floor(Date.now() / 1_000);
      const commit = [
        `commit ${ref}\nmark :1\nauthor ${ADA} ${now} +0000\ncommitter ${ADA} ${committedAt ?? now} +0000\n`,
        `${dataOf(message)}${isKnown && !orphan ? `from ${ref}^0\n` : ''}`,
        ...Object.entries(files).map(([path, content]) =>
          content === null ? `D ${quoted(path)}\n` : `M 100644 inline ${quoted(path)}\n${dataOf(content)}`,
        ),
        'get-mark :1\n',
      ];
      // One process; a clone, a commit and a push are seventeen.
      return gitWith({ input: commit.join('') }, bare, 'fast-import', '--quiet', ...(orphan ? ['--force'] : []));
    },
    remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }),
  };
}

/** As `git fast-import` takes it. */
function dataOf(text: string): string {
  return `data ${Buffer.byteLength(text)}\n${text}\n`;
}

/** A path as a string of C, which for these characters is one of JSON. */
function quoted(path: string): string {
  return JSON.stringify(path);
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
