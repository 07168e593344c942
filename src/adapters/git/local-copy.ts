import { existsSync } from 'node:fs';
import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { GitFailure } from '../../ports/git-repo.ts';
import { makeFolders } from '../disk/folders.ts';
import { failed } from './failures.ts';
import type { GitCommand } from './git-command.ts';

const LOCAL_DEADLINE_MS = 30_000;
const LOCKS = ['HEAD.lock', 'config.lock', 'packed-refs.lock', 'shallow.lock', 'gc.pid', 'gc.pid.lock'];

/** The ref of a local copy that a fetch sets, and the commit that it names. */
export const FETCHED_REF = 'refs/fleetrelay/fetched';
export const FETCHED_COMMIT = `${FETCHED_REF}^{commit}`;

/** The path of the local copy (GIT_DIR). */
export function copyPath(directory: string): string {
  return join(directory, 'copy.git');
}

/** Where the objects of {@link otherPath} are, relative to the parent of the copy. */
export const OTHER_OBJECTS = join('other.git', 'objects');

/** The path of the repository with what {@link GitRepo.fetchRef} has fetched beside the copy. */
export function otherPath(directory: string): string {
  return join(directory, 'other.git');
}

/** Paths of the copy, of its replacement, and of the copy that is being replaced. */
export function copyPaths(directory: string): readonly [string, string, string] {
  return [copyPath(directory), join(directory, 'copy.new.git'), join(directory, 'copy.old.git')];
}

/** Creates the local copy if it does not exist. */
export async function openCopy(
  git: GitCommand,
  directory: string,
): Promise<{ readonly type: 'open'; readonly created: boolean } | GitFailure> {
  const [path, fresh, old] = copyPaths(directory);
  await makeFolders(directory, { mode: 0o700 });
  await rm(fresh, { recursive: true, force: true });
  // The process ended between the two renames of a replacement: the old copy is valid.
  if (!existsSync(path) && existsSync(old)) await rename(old, path);
  await rm(old, { recursive: true, force: true });
  // Processes that read the copy look here only if the folder exists when they start.
  await makeFolders(join(directory, OTHER_OBJECTS));
  if (existsSync(join(path, 'HEAD'))) return { type: 'open', created: false };
  return (await initCopy(git, path, 'sha1')) ?? { type: 'open', created: true };
}

/** Makes an empty repository at a path, and removes what is there. */
export async function initCopy(
  git: GitCommand,
  path: string,
  format: 'sha1' | 'sha256',
): Promise<GitFailure | undefined> {
  await rm(path, { recursive: true, force: true });
  const args = ['init', '--quiet', '--bare', '--template=', `--object-format=${format}`, path];
  const outcome = await git.run({ args, deadlineMs: LOCAL_DEADLINE_MS });
  if (outcome.succeeded) return undefined;
  return failed('LocalFailure', `the local copy cannot be made: ${outcome.errors.trim() || outcome.end}`);
}

/** Removes the lock files and incomplete packs of killed processes. */
export async function clearLeftovers(path: string): Promise<void> {
  for (const lock of LOCKS) await rm(join(path, lock), { force: true });
  await removeMatching(join(path, 'refs', 'fleetrelay'), /\.lock$/);
  await removeMatching(join(path, 'objects', 'pack'), /^(tmp_|\.tmp-)|\.lock$/);
  const folders = await readdir(join(path, 'objects')).catch(() => []);
  for (const folder of folders.filter((name) => /^[0-9a-f]{2}$/.test(name))) {
    await removeMatching(join(path, 'objects', folder), /^tmp_obj_/);
  }
}

/** The names of the files that hold the objects of fetches. */
export async function packsOf(path: string): Promise<ReadonlySet<string>> {
  return new Set(await readdir(join(path, 'objects', 'pack')).catch(() => []));
}

/** Takes a copy back to the commit that was fetched before, with the packs that it had then. */
export async function undoFetch(
  git: GitCommand,
  path: string,
  commit: string,
  packs: ReadonlySet<string>,
): Promise<void> {
  await clearLeftovers(path);
  await git.run({ args: ['update-ref', FETCHED_REF, commit], repository: path, deadlineMs: LOCAL_DEADLINE_MS });
  const added = [...(await packsOf(path))].filter((name) => !packs.has(name));
  for (const name of added) await rm(join(path, 'objects', 'pack', name), { force: true });
}

async function removeMatching(folder: string, pattern: RegExp): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) if (pattern.test(name)) await rm(join(folder, name), { force: true });
}
