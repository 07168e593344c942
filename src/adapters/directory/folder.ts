import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  unlinkSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { isErrno, syncFolder, writeTemporary } from '../disk/files.ts';
import { makeFoldersSync } from '../disk/folders.ts';

/** `signature` changes with each edit of a file, except for edits within one tick of the file system's clock. */
export interface FileBytes {
  readonly bytes: Uint8Array;
  readonly signature: string;
}

/** The state of a path. `other` is never opened: a symbolic link, a device. */
export type PathState =
  | { readonly type: 'absent' }
  | { readonly type: 'folder' }
  | {
      readonly type: 'file';
      readonly signature: string;
      /** Milliseconds since 1970. */
      readonly modifiedAt: number;
      readonly size: number;
    }
  | { readonly type: 'other'; readonly what: string };

/** A symbolic link or a file is in place of a folder; it is neither followed nor replaced. */
export class BlockedPath extends Error {}

/** The state of a path relative to the root, links not followed. */
export function statePath(root: string, path: string): PathState {
  const stats = lstatSync(join(root, path), { bigint: true, throwIfNoEntry: false });
  if (stats === undefined) return { type: 'absent' };
  if (stats.isDirectory()) return { type: 'folder' };
  if (stats.isSymbolicLink()) return { type: 'other', what: 'a symbolic link' };
  if (!stats.isFile()) return { type: 'other', what: 'not a regular file' };
  return { type: 'file', signature: signatureOf(stats), modifiedAt: Number(stats.mtimeMs), size: Number(stats.size) };
}

/** Reads a regular file, links not followed; undefined if it was removed or is larger than `largest` bytes. */
export function readRegularFile(root: string, path: string, largest: number): FileBytes | undefined {
  let descriptor: number;
  try {
    // O_NONBLOCK: opening a pipe in place of the file must not block.
    descriptor = openSync(join(root, path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ELOOP', 'ENOTDIR')) return undefined;
    throw error;
  }
  try {
    const stats = fstatSync(descriptor, { bigint: true });
    if (!stats.isFile() || Number(stats.size) > largest) return undefined;
    const bytes = readFileSync(descriptor);
    return bytes.byteLength > largest ? undefined : { bytes, signature: signatureOf(stats) };
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Writes a file atomically for other processes. The write is not durable: after a power failure the file can be missing,
 * old, empty or truncated, which is corrected as drift. Creates missing folders; none of them may be a link. Calls
 * `mayReplace` just before the rename; if that returns false, nothing is written and the result is false.
 */
export function writeFileAtomically(
  root: string,
  path: string,
  bytes: Uint8Array,
  { mode, mayReplace }: { readonly mode: number; readonly mayReplace: () => boolean },
): boolean {
  const folder = checkedFolder(root, dirname(path), true) ?? root;
  const temporary = writeTemporary(folder, bytes, { mode, isDurable: false });
  let placed = false;
  try {
    // A link can have replaced a folder since.
    if (realpathSync.native(folder) !== folder) throw new BlockedPath(`${dirname(path)} has become a symbolic link`);
    if (mayReplace()) {
      renameSync(temporary, join(root, path));
      placed = true;
    }
  } finally {
    if (!placed) rmSync(temporary, { force: true });
  }
  return placed;
}

/** Removes a file durably, and the folders above it that are empty then. */
export function removeFile(root: string, path: string): void {
  const folder = checkedFolder(root, dirname(path));
  if (folder === undefined) return;
  unlinkSync(join(root, path));
  syncFolder(folder);
  for (let above = dirname(path); above !== '.' && above !== '/'; above = dirname(above)) {
    try {
      rmdirSync(join(root, above));
    } catch (error) {
      if (isErrno(error, 'ENOTEMPTY', 'EEXIST', 'ENOENT', 'EBUSY', 'EPERM', 'EACCES')) return;
      throw error;
    }
  }
}

/** Device and inode, which differ for another folder at the same path; undefined: the path is no folder. */
export function folderIdentity(path: string): string | undefined {
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return stats?.isDirectory() ? `${stats.dev}:${stats.ino}` : undefined;
}

/**
 * A folder's absolute path; undefined if it does not exist. With `make`, missing folders are created. Throws
 * {@link BlockedPath} if a link is on the path.
 */
export function checkedFolder(root: string, path: string, make = false): string | undefined {
  let at = root;
  for (const part of path.split('/')) {
    at = join(at, part);
    let stats = lstatSync(at, { throwIfNoEntry: false });
    if (stats === undefined) {
      if (!make) return undefined;
      makeFoldersSync(at);
      stats = lstatSync(at);
    }
    if (stats.isDirectory()) continue;
    throw new BlockedPath(`${at.slice(root.length + 1)} is not a folder (links are not followed); move it away`);
  }
  return at;
}

function signatureOf(stats: BigIntStats): string {
  return `${stats.ino}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`;
}
