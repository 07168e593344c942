import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readFile, rename, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** The bytes of a file; undefined: it does not exist. */
export async function readIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** Writes a file atomically that only its owner can read; durable when it resolves. */
export async function writePrivate(path: string, bytes: Uint8Array): Promise<void> {
  const temporary = await writeTemporary(path, bytes);
  await rename(temporary, path);
  await syncFolder(dirname(path));
}

/** As {@link writePrivate}, but false if the file exists, which stays as it is. */
export async function createPrivate(path: string, bytes: Uint8Array): Promise<boolean> {
  const temporary = await writeTemporary(path, bytes);
  try {
    await link(temporary, path);
    await syncFolder(dirname(path));
    return true;
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false;
    throw error;
  } finally {
    await unlink(temporary);
  }
}

/** Creates a folder that only its owner can enter; an existing one stays as it is. */
export async function ensurePrivateFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
}

/** A file that only its owner can read. The first write makes its folder. */
export function privateFile(path: string) {
  return {
    path,
    read: () => readIfThere(path),
    async write(bytes: Uint8Array): Promise<void> {
      await ensurePrivateFolder(dirname(path));
      await writePrivate(path, bytes);
    },
  };
}

async function writeTemporary(path: string, bytes: Uint8Array): Promise<string> {
  const temporary = join(dirname(path), `.${randomBytes(8).toString('hex')}.tmp`);
  await using file = await open(temporary, 'wx', 0o600);
  // The umask of the process limits the mode of open; it does not limit chmod.
  await file.chmod(0o600);
  await file.writeFile(bytes);
  await file.sync();
  return temporary;
}

async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, 'r');
  await folder.sync();
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
