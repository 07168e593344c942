import { fchmodSync, linkSync, unlinkSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isErrno, type NewFile, replaceFile, syncFolder, writeTemporary } from '../disk/files.ts';
import { makeFolders } from '../disk/folders.ts';

/** The bytes of a file; undefined: it does not exist. */
export async function readIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** The umask of the process limits the mode of a new file; it does not limit a change of the mode. */
const PRIVATE: NewFile = { mode: 0o600, prepare: (descriptor) => fchmodSync(descriptor, 0o600) };

/** Writes a file atomically that only its owner can read; durable when it returns. */
export function writePrivate(path: string, bytes: Uint8Array): void {
  replaceFile(path, bytes, PRIVATE);
}

/** As {@link writePrivate}, but false if the file exists, which stays as it is. */
export function createPrivate(path: string, bytes: Uint8Array): boolean {
  const temporary = writeTemporary(dirname(path), bytes, PRIVATE);
  try {
    linkSync(temporary, path);
    syncFolder(dirname(path));
    return true;
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false;
    throw error;
  } finally {
    unlinkSync(temporary);
  }
}

/** Creates a folder that only its owner can enter; an existing one stays as it is. */
export async function ensurePrivateFolder(path: string): Promise<void> {
  await makeFolders(path, { mode: 0o700 });
}

/** A file that only its owner can read. The first write makes its folder. */
export function privateFile(path: string) {
  return {
    path,
    read: () => readIfThere(path),
    async write(bytes: Uint8Array): Promise<void> {
      await ensurePrivateFolder(dirname(path));
      writePrivate(path, bytes);
    },
  };
}
