import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { findProgram, howToGet, isNeeded, type Origin, PROGRAMS, type ProgramName } from './programs.ts';

/** How a program came to be here, or that it is not. `prepared`: by a script, which builds or downloads it. */
export type Readiness = 'found' | 'installed' | 'prepared' | 'skipped';

/** One program after the preparation. `path`: undefined if it is skipped. */
export interface ReadyProgram {
  readonly name: ProgramName;
  readonly readiness: Readiness;
  readonly path: string | undefined;
}

export interface PreparationDeps {
  readonly env: NodeJS.ProcessEnv;
  /** Whether the tests that take long are run, which start more programs. */
  readonly isLong: boolean;
  /** Whether packages of Debian may be installed. */
  readonly mayInstall: boolean;
  /** Runs a command to its end; resolves with whether it succeeded. */
  readonly run: (command: string, args: readonly string[]) => Promise<boolean>;
}

/** An installation or a build that has not ended by then is given up. */
const TIME_LIMIT_MS = 25 * 60_000;

/**
 * Makes the programs ready that tests start: missing packages of Debian are installed if that may be done, Kubernetes' programs are
 * built from Go modules, and Envoy is downloaded. What cannot be had is skipped. Never rejects.
 */
export async function preparePrograms(deps: PreparationDeps): Promise<readonly ReadyProgram[]> {
  const { env, isLong, mayInstall, run } = deps;
  const names = (Object.keys(PROGRAMS) as ProgramName[]).filter((name) => isNeeded(name, isLong));
  const before = names.filter((name) => findProgram(name, env) !== undefined);
  const missing = names.filter((name) => !before.includes(name)).map((name): Origin => PROGRAMS[name].origin);
  const packages = [...new Set(missing.flatMap((origin) => ('debian' in origin ? origin.debian.split(' ') : [])))];
  const scripts = [...new Set(missing.flatMap((origin) => ('script' in origin ? [origin.script] : [])))];
  if (packages.length > 0 && mayInstall) await install(packages, run);
  for (const script of scripts) await run(process.execPath, [join(import.meta.dirname, '..', `${script}.ts`)]);
  return names.map((name) => {
    const path = findProgram(name, env);
    const made = 'debian' in PROGRAMS[name].origin ? 'installed' : 'prepared';
    return { name, path, readiness: path === undefined ? 'skipped' : before.includes(name) ? 'found' : made };
  });
}

/** Installs all at once, else one by one: of several packages one may not exist. */
async function install(packages: readonly string[], run: PreparationDeps['run']): Promise<void> {
  const get = (names: readonly string[]) =>
    run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...names]);
  if (!(await run('apt-get', ['update', '-qq']))) return;
  if (await get(packages)) return;
  for (const name of packages) await get([name]);
}

/** The line of a program, for people. */
export function readinessLine({ name, readiness, path }: ReadyProgram): string {
  return `${readiness.padEnd(9)}  ${name.padEnd(23)}  ${path ?? `to get it: ${howToGet(name)}`}`;
}

/** The preparation of this machine: packages are installed for root, where there is apt-get. */
export function systemPreparation(env: NodeJS.ProcessEnv, isLong: boolean): PreparationDeps {
  return { env, isLong, mayInstall: process.getuid?.() === 0, run: (command, args) => succeeds(command, args, env) };
}

function succeeds(command: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<boolean> {
  return new Promise((resolve) => {
    const quiet = { ...env, DEBIAN_FRONTEND: 'noninteractive' };
    const child = spawn(command, args, { env: quiet, stdio: 'ignore', timeout: TIME_LIMIT_MS });
    child.once('error', () => resolve(false));
    child.once('close', (code) => resolve(code === 0));
  });
}
