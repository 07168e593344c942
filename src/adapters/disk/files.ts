import { randomBytes } from 'node:crypto';
import { closeSync, constants, existsSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
const TEMPORARY_PREFIX = '.fleetrelay-';
const TEMPORARY_SUFFIX = '.tmp';

/** How a new file is made. */
export interface NewFile {
  /** Permissions, which the umask of the process limits. */
  readonly mode: number;
  /** Changes the owner or the permissions of the open file before its content is written. */
  readonly prepare?: (descriptor: number) => void;
  /** False: the content can be lost in a power failure. True unless set. */
  readonly isDurable?: boolean;
}

/**
 * Replaces a file atomically and durably: other processes read the old or the new content, never a part. A symbolic link is
 * replaced, not followed. Throws a system error if the file cannot be written; the old one is then unchanged.
 */
export function replaceFile(path: string, content: Uint8Array | string, how: NewFile): void {
  const temporary = writeTemporary(dirname(path), content, how);
  try {
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  syncFolder(dirname(path));
}

/**
 * Writes a temporary file into the folder and returns its path. The caller renames, links or removes it; a crash can leave it
 * behind. Throws a system error, and leaves no file, if it cannot be written.
 */
export function writeTemporary(folder: string, content: Uint8Array | string, how: NewFile): string {
  const { mode, prepare, isDurable = true } = how;
  const path = join(folder, `${TEMPORARY_PREFIX}${randomBytes(8).toString('hex')}${TEMPORARY_SUFFIX}`);
  const descriptor = openSync(path, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, mode);
  try {
    prepare?.(descriptor);
    writeFileSync(descriptor, content);
    if (isDurable) fsyncSync(descriptor);
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
  return path;
}

/** Whether this is the name of a file of {@link writeTemporary}. */
export function isTemporaryName(name: string): boolean {
  return name.startsWith(TEMPORARY_PREFIX) && name.endsWith(TEMPORARY_SUFFIX);
}

/** True for a system error with one of these codes (`ENOENT`, ...). */
export function isErrno(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && codes.includes(error.code);
}

/** Makes a rename or removal in this folder durable, except on Windows, which cannot sync a folder. */
export function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const descriptor = openSync(folder, constants.O_RDONLY);
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Renames a damaged file to the first free `PATH.corrupt-N`, and its companions with these suffixes. Returns the new path. */
export function moveAside(path: string, companions: readonly string[] = []): string {
  let number = 1;
  while (existsSync(`${path}.corrupt-${number}`)) number += 1;
  const aside = `${path}.corrupt-${number}`;
  for (const suffix of [...companions, '']) {
    if (existsSync(path + suffix)) renameSync(path + suffix, aside + suffix);
  }
  return aside;
}
