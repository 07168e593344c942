import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A work tree of git. */
export interface WorkTree {
  readonly directory: string;
  /** Runs git in it and returns its standard output. */
  git(...args: string[]): Promise<string>;
  /** Commits all files and pushes to `main`; returns the commit. */
  push(message: string): Promise<string>;
}

const DEADLINE_MS = 60_000;

/** An environment in which git reads no settings of the machine or of its user. */
function gitEnvironment(path: string | undefined): Record<string, string> {
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

/** Runs git in a folder that is a work tree or a bare repository, or becomes one by `git init`. */
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
