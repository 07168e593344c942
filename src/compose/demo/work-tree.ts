import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A person's clone of the demo's repository. */
export interface WorkTree {
  readonly directory: string;
  /** Runs git in it; returns what it printed. */
  git(...args: string[]): Promise<string>;
  /** Commits everything as it is and pushes; returns the commit. */
  push(message: string): Promise<string>;
}

const DEADLINE_MS = 60_000;

/** Git that heeds nothing of the user's: the demo is the same everywhere. */
export function gitEnvironment(path: string | undefined): Record<string, string> {
  return {
    PATH: path ?? '/usr/local/bin:/usr/bin:/bin',
    HOME: '/nonexistent',
    LC_ALL: 'C',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_AUTHOR_NAME: 'Fleet Demo',
    GIT_AUTHOR_EMAIL: 'demo@example.com',
    GIT_COMMITTER_NAME: 'Fleet Demo',
    GIT_COMMITTER_EMAIL: 'demo@example.com',
  };
}

/** A work tree in a folder that has a repository already. */
export function openWorkTree(directory: string, path: string | undefined): WorkTree {
  const git = async (...args: string[]): Promise<string> => {
    const { stdout } = await run('git', args, { cwd: directory, env: gitEnvironment(path), timeout: DEADLINE_MS });
    return stdout.trim();
  };
  return {
    directory,
    git,
    push: async (message) => {
      await git('add', '--all');
      await git('commit', '--quiet', '-m', message);
      await git('push', '--quiet', 'origin', 'HEAD:main');
      return git('rev-parse', 'HEAD');
    },
  };
}
