import { once } from 'node:events';
import { lstat, unlink } from 'node:fs/promises';
import { connect } from 'node:net';
import process from 'node:process';
import { isErrno } from '../disk/files.ts';

/** Makes new files their owner's alone: mode 0600. */
const PRIVATE_UMASK = 0o177;

/** Implements `BindSocket` of the HTTP server. The path of a server that still listens is left to `listen`, which then fails. */
export async function bindPrivateSocket(path: string, listen: () => void): Promise<void> {
  if (await isLeftBehind(path)) await unlink(path);
  const umask = process.umask(PRIVATE_UMASK);
  try {
    // Binds before it returns: a mode that is set later would come too late.
    listen();
  } finally {
    process.umask(umask);
  }
}

async function isLeftBehind(path: string): Promise<boolean> {
  const found = await lstat(path).catch((error: unknown) => {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  });
  if (found === undefined) return false;
  if (!found.isSocket()) throw new Error(`${path} exists and is no socket: give another path, or remove it`);
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return false;
  } catch (error) {
    if (isErrno(error, 'ECONNREFUSED')) return true;
    throw error;
  } finally {
    socket.destroy();
  }
}
