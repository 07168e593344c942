import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readdir, realpath, stat } from 'node:fs/promises';
import { basename, join, resolve, sep } from 'node:path';
import { watch as watchFolder } from 'chokidar';
import { errorText } from '../../model/error-text.ts';
import { quote } from '../../model/ids.ts';
import type { FileTree, FileTreeContent, FileTreeEntry, FileTreeListing } from '../../ports/file-tree.ts';
import type { Log } from '../../ports/log.ts';

export interface FileTreeOptions {
  readonly folder: string;
  /** A folder with more entries is not listed; 200,000 unless set. */
  readonly maxEntries?: number;
}

/** A {@link FileTree} of a real folder, watched with the platform's file events. */
export function createFileTree(deps: { readonly log: Log }, options: FileTreeOptions): FileTree {
  const folder = resolve(options.folder);
  return {
    address: folder,
    list: (wanted) => listFolder(folder, wanted, options.maxEntries ?? 200_000),
    read: (path, maxBytes) => readInside(folder, path, maxBytes),
    watch: async (changed) => {
      const watcher = watchFolder(folder, {
        ignoreInitial: true,
        followSymlinks: false,
        ignored: (path) => path !== folder && isSkipped(basename(path)),
      });
      watcher.on('all', changed);
      // The source rescans in any case; without events it is only slower to notice.
      watcher.on('error', (error) => {
        const detail = errorText(error);
        deps.log.warn('file events are not to be had; changes are noticed by rescanning', { folder, detail });
      });
      await new Promise<void>((ready) => {
        watcher.once('ready', ready);
        watcher.once('error', () => ready());
      });
      return () => watcher.close();
    },
  };
}

function isSkipped(name: string): boolean {
  return name === '.git' || name.startsWith('..');
}

class TooManyEntries extends Error {}

async function listFolder(
  folder: string,
  wanted: (path: string) => boolean,
  maxEntries: number,
): Promise<FileTreeListing> {
  const entries: FileTreeEntry[] = [];
  let seen = 0;
  const walk = async (relative: string): Promise<void> => {
    const children = await readdir(join(folder, relative), { withFileTypes: true });
    for (const child of children) {
      seen += 1;
      if (seen > maxEntries) throw new TooManyEntries();
      const path = relative === '' ? child.name : `${relative}/${child.name}`;
      if (isSkipped(child.name)) continue;
      if (child.isDirectory()) await walk(path).catch(passOver);
      else if ((child.isFile() || child.isSymbolicLink()) && wanted(path)) {
        const entry = await entryAt(folder, path).catch(passOver);
        if (entry !== undefined) entries.push(entry);
      }
    }
  };
  try {
    if (!(await stat(folder)).isDirectory()) return failed('FolderMissing', `${quote(folder)} is not a folder`);
    await walk('');
    return { type: 'listed', entries };
  } catch (error) {
    if (error instanceof TooManyEntries) {
      return failed('TooManyFiles', `${quote(folder)} holds more than ${maxEntries} files and folders`);
    }
    const code = codeOf(error);
    return code === 'ENOENT' || code === 'ENOTDIR'
      ? failed('FolderMissing', `the folder ${quote(folder)} is not there`)
      : failed('FolderUnreadable', `the folder ${quote(folder)} cannot be listed whole (${code})`);
  }
}

/** Something that went away while the folder was walked; everything else spoils the listing. */
function passOver(error: unknown): undefined {
  if (codeOf(error) !== 'ENOENT') throw error;
  return undefined;
}

function failed(
  reason: 'FolderMissing' | 'FolderUnreadable' | 'TooManyFiles',
  message: string,
): Extract<FileTreeListing, { readonly type: 'failed' }> {
  return { type: 'failed', reason, message };
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
}

async function entryAt(folder: string, path: string): Promise<FileTreeEntry | undefined> {
  const at = join(folder, path);
  const own = await lstat(at, { bigint: true });
  const target = own.isSymbolicLink() ? await targetInside(folder, at) : at;
  if (target === undefined) return { path, kind: 'symlink', size: 0, stamp: `${own.ino}:${own.ctimeNs}` };
  const { size, mtimeNs, ctimeNs, ino } = await lstat(target, { bigint: true });
  return { path, kind: 'file', size: Number(size), stamp: `${size}:${mtimeNs}:${ctimeNs}:${ino}` };
}

/** Where a path really leads, if that is a plain file inside the folder. */
async function targetInside(folder: string, at: string): Promise<string | undefined> {
  try {
    const [root, target] = await Promise.all([realpath(folder), realpath(at)]);
    return target.startsWith(root + sep) && (await lstat(target)).isFile() ? target : undefined;
  } catch {
    return undefined;
  }
}

async function readInside(folder: string, path: string, maxBytes: number): Promise<FileTreeContent> {
  let file: FileHandle | undefined;
  try {
    await lstat(join(folder, path));
    const target = await targetInside(folder, join(folder, path));
    if (target === undefined) return { type: 'unreadable', message: 'leads to no plain file inside the folder' };
    // Whatever is put into the file's place meanwhile: no link is followed, and no pipe waited for.
    file = await open(target, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const { size } = await file.stat();
    if (size > maxBytes) return { type: 'oversized' };
    const buffer = Buffer.alloc(Math.min(size, maxBytes) + 1);
    const length = await readAll(file, buffer);
    // A file that grew while it was read is caught by its next stamp.
    return { type: 'read', bytes: buffer.subarray(0, Math.min(length, size)) };
  } catch (error) {
    const code = codeOf(error);
    return code === 'ENOENT' ? { type: 'missing' } : { type: 'unreadable', message: `cannot be read (${code})` };
  } finally {
    await file?.close();
  }
}

async function readAll(file: FileHandle, buffer: Buffer): Promise<number> {
  let length = 0;
  while (length < buffer.length) {
    const { bytesRead } = await file.read(buffer, length, buffer.length - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return length;
}
