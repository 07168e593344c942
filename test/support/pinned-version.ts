import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/**
 * The commit whose server and agents `test/e2e/upgrade.test.ts` upgrades to this version. A change that breaks an upgrade on purpose
 * moves it to a commit after the change, and says in CHANGELOG.md what has to be done by hand.
 */
const PINNED = 'b775c9869b8073085bbfa1fb7a76570d25d759ff';

const PROJECT = join(import.meta.dirname, '..', '..');
const run = promisify(execFile);

/** The older version; `problem`: why it cannot be had here. */
export type PinnedVersion =
  | {
      readonly ok: true;
      /** The file that Node runs. It runs the sources: a bundle would need the packages at their own place. */
      readonly program: string;
      remove(): Promise<void>;
    }
  | { readonly ok: false; readonly problem: string };

/** Lays out the pinned commit, which the history of this checkout has, beside the packages that are installed here. */
export async function pinnedVersion(): Promise<PinnedVersion> {
  const git = (...args: string[]) => run('git', ['-C', PROJECT, ...args], { encoding: 'utf8' });
  const known = await git('cat-file', '-e', `${PINNED}^{commit}`).then(
    () => true,
    () => false,
  );
  if (!known) {
    const problem = `the history of this checkout has no commit ${PINNED.slice(0, 8)}, which an upgrade begins at (of a shallow clone: git fetch --unshallow)`;
    return { ok: false, problem };
  }
  const folder = await mkdtemp(join(tmpdir(), 'fleetrelay-pinned-'));
  const archive = join(folder, 'pinned.tar');
  await git('archive', '--format=tar', `--output=${archive}`, PINNED);
  await run('tar', ['-xf', archive, '-C', folder]);
  await symlink(join(PROJECT, 'node_modules'), join(folder, 'node_modules'));
  return {
    ok: true,
    program: join(folder, 'bin', 'fleetrelay.cjs'),
    remove: () => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }),
  };
}
