import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { GitCommand } from './git-command.ts';

/** Where the local copy lies, and what happens to it as a whole. */
export interface LocalCopy {
  /** The bare repository (git's GIT_DIR). */
  readonly path: string;
  /** Makes sure that a repository is there; `created`: it is new and empty. False: git could not make it. */
  open(): Promise<{ readonly ok: true; readonly created: boolean } | { readonly ok: false; readonly problem: string }>;
  /** Makes an empty repository beside the copy, for {@link LocalCopy.replaceBy}. */
  prepare(objectFormat: 'sha1' | 'sha256'): Promise<{ readonly path: string } | { readonly problem: string }>;
  /** Puts a repository from `prepare` into the place of the copy. */
  replaceBy(path: string): Promise<void>;
  /** Removes what killed processes leave behind: lock files and half-received packs. */
  clearLeftovers(): Promise<void>;
}

const LOCAL_DEADLINE_MS = 30_000;
const LOCKS = ['HEAD.lock', 'config.lock', 'packed-refs.lock', 'shallow.lock', 'gc.pid', 'gc.pid.lock'];

/** Maintains the copy below `directory`, which belongs to this process alone. */
export function createLocalCopy(git: GitCommand, directory: string): LocalCopy {
  const path = join(directory, 'copy.git');
  const fresh = join(directory, 'copy.new.git');
  const old = join(directory, 'copy.old.git');
  const init = async (at: string, objectFormat: string): Promise<string | undefined> => {
    await rm(at, { recursive: true, force: true });
    const args = ['init', '--quiet', '--bare', '--template=', `--object-format=${objectFormat}`, at];
    const outcome = await git.run({ args, deadlineMs: LOCAL_DEADLINE_MS });
    return outcome.end === 'exited' && outcome.code === 0 ? undefined : outcome.errors.trim() || outcome.end;
  };
  return {
    path,
    open: async () => {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      await rm(fresh, { recursive: true, force: true });
      // A process that ended between the two renames of a replacement: the old copy is still good.
      if (!(await exists(path)) && (await exists(old))) await rename(old, path);
      await rm(old, { recursive: true, force: true });
      if (await exists(join(path, 'HEAD'))) return { ok: true, created: false };
      const problem = await init(path, 'sha1');
      return problem === undefined ? { ok: true, created: true } : { ok: false, problem };
    },
    prepare: async (objectFormat) => {
      const problem = await init(fresh, objectFormat);
      return problem === undefined ? { path: fresh } : { problem };
    },
    replaceBy: async (from) => {
      await rm(old, { recursive: true, force: true });
      await rename(path, old);
      await rename(from, path);
      await rm(old, { recursive: true, force: true });
    },
    clearLeftovers: async () => {
      for (const lock of LOCKS) await rm(join(path, lock), { force: true });
      await removeMatching(join(path, 'refs', 'fleetrelay'), /\.lock$/);
      await removeMatching(join(path, 'objects', 'pack'), /^(tmp_|\.tmp-)|\.lock$/);
    },
  };
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}

async function removeMatching(folder: string, pattern: RegExp): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) if (pattern.test(name)) await rm(join(folder, name), { force: true });
}
