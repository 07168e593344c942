import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import packageJson from '../../package.json' with { type: 'json' };

/** Fleetrelay as it ships: a bundle without sources, in a folder of its own. */
export interface InstalledBundle {
  /** The file that Node runs. */
  readonly program: string;
  remove(): Promise<void>;
}

const PROJECT = join(import.meta.dirname, '..', '..');

/** Builds the bundle and lays it out as an installed package: beside it are the files that package.json names, and no others. */
export async function installBundle(): Promise<InstalledBundle> {
  const folder = await mkdtemp(join(tmpdir(), 'fleetrelay-bundle-'));
  await promisify(execFile)(process.execPath, [join(PROJECT, 'scripts', 'build.ts'), join(folder, 'dist')]);
  for (const part of ['package.json', ...packageJson.files.filter((name) => name !== 'dist')]) {
    await cp(join(PROJECT, part), join(folder, part), { recursive: true });
  }
  return {
    program: join(folder, 'bin', 'fleetrelay.cjs'),
    // A process that is ending may still write compiled code: a folder that is not empty is tried again.
    remove: () => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }),
  };
}

/** For vitest's `globalSetup`: processes that tests start run the bundle, which starts in half the time of the sources. */
export async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env.FLEETRELAY_PROGRAM !== undefined) return undefined;
  const { program, remove } = await installBundle();
  process.env.FLEETRELAY_PROGRAM = program;
  // Compiled code of this bundle is of no use to later ones, and goes with it.
  process.env.NODE_COMPILE_CACHE = join(program, '..', '..', 'compiled');
  return remove;
}
