import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { errorText } from '../../src/model/text/messages.ts';

const VERSION = '4.7.0';
const TIME_LIMIT_MS = 5 * 60_000;

/** The program, or why it cannot be had. */
export type PreCommit =
  | { readonly ok: true; readonly program: string }
  | { readonly ok: false; readonly problem: string };

/** Finds pre-commit (https://pre-commit.com) in the cache folder, to which pip installs it when it is first asked for. */
export async function findPreCommit(): Promise<PreCommit> {
  const folder = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'fleetrelay', `pre-commit-${VERSION}`);
  const program = join(folder, 'bin', 'pre-commit');
  if (existsSync(program)) return { ok: true, program };
  const run = promisify(execFile);
  try {
    await run('python3', ['-m', 'venv', folder], { timeout: TIME_LIMIT_MS });
    await run(join(folder, 'bin', 'pip'), ['install', '--quiet', `pre-commit==${VERSION}`], { timeout: TIME_LIMIT_MS });
    return { ok: true, program };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    return { ok: false, problem: `pre-commit ${VERSION} cannot be installed: ${errorText(error).slice(0, 300)}` };
  }
}
