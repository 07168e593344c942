import { mkdirSync, statSync } from 'node:fs';
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isErrno } from './files.ts';

/** Permissions of new folders, which the umask of the process limits. */
export interface NewFolders {
  readonly mode?: number;
}

/**
 * Makes a folder and those above it that are missing; what is there stays as it is. Rejects with a system error.
 *
 * `recursive` of Node's own `mkdir` is not used in this program: it never returns where a folder that exists answers that it
 * does not (`/proc`), and cannot be stopped.
 */
export async function makeFolders(path: string, { mode = 0o777 }: NewFolders = {}): Promise<void> {
  if (await made()) return;
  await makeFolders(dirname(path), { mode });
  if (!(await made())) throw takesNone(path);

  /** False: a folder above it is missing. */
  async function made(): Promise<boolean> {
    try {
      await mkdir(path, { mode });
      return true;
    } catch (error) {
      if ((await stat(path).catch(() => undefined))?.isDirectory() === true) return true;
      if (isMissing(error, path)) return false;
      throw error;
    }
  }
}

/** As {@link makeFolders}; throws a system error. */
export function makeFoldersSync(path: string, { mode = 0o777 }: NewFolders = {}): void {
  if (made()) return;
  makeFoldersSync(dirname(path), { mode });
  if (!made()) throw takesNone(path);

  function made(): boolean {
    try {
      mkdirSync(path, { mode });
      return true;
    } catch (error) {
      if (isFolder(path)) return true;
      if (isMissing(error, path)) return false;
      throw error;
    }
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

function isMissing(error: unknown, path: string): boolean {
  return isErrno(error, 'ENOENT') && dirname(path) !== path;
}

function takesNone(path: string): Error {
  const message = `ENOENT: ${dirname(path)} takes no new folders, mkdir '${path}'`;
  return Object.assign(new Error(message), { code: 'ENOENT', syscall: 'mkdir', path });
}
