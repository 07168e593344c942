import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, lstat, open, readdir, realpath, stat } from 'node:fs/promises';
import { basename, join, resolve, sep } from 'node:path';
import { watch as watchFolder } from 'chokidar';
import { quote } from '../../model/fleet/ids.ts';
import {
  defaultRevisionLimits,
  type Excess,
  excessOf,
  excessText,
  type RevisionLimits,
} from '../../model/limits/revision-limits.ts';
import { errorText } from '../../model/text/messages.ts';
import type {
  FileTree,
  FileTreeContent,
  FileTreeEntry,
  FileTreeListing,
  FolderMembers,
  ReadMembers,
} from '../../ports/file-tree.ts';
import type { Log } from '../../ports/log.ts';
import { childOfWalk, LEFT_OUT } from './child-of-walk.ts';

export interface FileTreeOptions {
  readonly folder: string;
  /** A folder above the limits for entries and depth is not listed; the defaults of a revision unless set. */
  readonly limits?: Pick<RevisionLimits, 'entries' | 'depth'>;
  /** Asked at each listing; absent: every file of the folder counts. */
  readonly readMembers?: ReadMembers;
}

/** A {@link FileTree} of a real folder, watched with the platform's file events. */
export function createFileTree(deps: { readonly log: Log }, options: FileTreeOptions): FileTree {
  const folder = resolve(options.folder);
  let isInside = createIsInside(folder);
  let leftOut: ReadonlySet<string> = new Set();
  return {
    address: folder,
    list: async (wanted) => {
      isInside = createIsInside(folder);
      const members = await options
        .readMembers?.(folder)
        .catch((error: unknown) => failed('FolderUnreadable', errorText(error)));
      if (members !== undefined && 'type' in members) return members;
      leftOut = new Set(members?.leftOut);
      return listFolder({ folder, isInside, members }, wanted, { ...defaultRevisionLimits, ...options.limits });
    },
    read: async (path, maxBytes) =>
      leftOut.has(path) ? { type: 'unreadable', message: LEFT_OUT } : readInside({ folder, isInside }, path, maxBytes),
    watch: async (changed, hidden = []) => {
      const watcher = watchFolder(folder, {
        ignoreInitial: true,
        followSymlinks: false,
        ignored: (path) => path !== folder && basename(path).startsWith('.') && !hidden.includes(basename(path)),
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

interface Inside {
  readonly folder: string;
  /** Whether a path without symbolic links is in the folder. */
  isInside(target: string): Promise<boolean>;
}

/**
 * The folder may be a symbolic link that is changed, so where it leads is looked up again for each listing, and before a path
 * is refused.
 */
function createIsInside(folder: string): Inside['isInside'] {
  let root: string | undefined;
  return async (target) => {
    if (root !== undefined && target.startsWith(root + sep)) return true;
    root = await realpath(folder);
    return target.startsWith(root + sep);
  };
}

class TooManyEntries extends Error {
  readonly excess: Excess;
  constructor(excess: Excess) {
    super();
    this.excess = excess;
  }
}

async function listFolder(
  inside: Inside & { readonly members: FolderMembers | undefined },
  wanted: (path: string) => boolean,
  limits: RevisionLimits,
): Promise<FileTreeListing> {
  const { folder, members } = inside;
  const entries = (members?.leftOut ?? []).filter(wanted).map(leftOutEntry);
  let seen = 0;
  const count = (limit: 'entries' | 'depth', found: number): void => {
    const excess = excessOf(limits, limit, found);
    if (excess !== undefined) throw new TooManyEntries(excess);
  };
  const walk = async (relative: string, depth: number): Promise<void> => {
    count('depth', depth);
    const children = await readdir(join(folder, relative), { withFileTypes: true });
    for (const child of children) {
      const path = relative === '' ? child.name : `${relative}/${child.name}`;
      const { isCounted, kind } = childOfWalk({ members, wanted }, path, child);
      if (isCounted) count('entries', ++seen);
      if (kind === undefined) continue;
      if (kind === 'folder') await walk(path, depth + 1).catch(passOver);
      else if (kind === 'submodule') entries.push({ path, kind, size: 0, stamp: kind });
      else {
        const entry = await (members === undefined ? entryAt(inside, path) : memberAt(inside, path)).catch(passOver);
        if (entry !== undefined && !(await isHiddenFolder(folder, entry))) entries.push(entry);
      }
    }
  };
  try {
    if (!(await stat(folder)).isDirectory()) return failed('FolderMissing', `${quote(folder)} is not a folder`);
    await walk('', 0);
    return { type: 'listed', entries };
  } catch (error) {
    if (error instanceof TooManyEntries) {
      const { excess } = error;
      return { type: 'failed', reason: 'TooManyFiles', message: `${quote(folder)} ${excessText(excess)}`, excess };
    }
    const code = codeOf(error);
    return code === 'ENOENT' || code === 'ENOTDIR'
      ? failed('FolderMissing', `the folder ${quote(folder)} is not there`)
      : failed('FolderUnreadable', `the folder ${quote(folder)} cannot be listed completely (${code})`);
  }
}

/** A link that begins with a dot and leads to a folder, as in the volume of a ConfigMap: it is passed over as such a folder is. */
async function isHiddenFolder(folder: string, { path, kind }: FileTreeEntry): Promise<boolean> {
  if (kind !== 'symlink' || !basename(path).startsWith('.')) return false;
  return stat(join(folder, path)).then(
    (target) => target.isDirectory(),
    () => false,
  );
}

/** Something that went away while the folder was walked; everything else spoils the listing. */
function passOver(error: unknown): undefined {
  if (codeOf(error) !== 'ENOENT') throw error;
  return undefined;
}

function failed(
  reason: 'FolderMissing' | 'FolderUnreadable',
  message: string,
): Extract<FileTreeListing, { readonly type: 'failed' }> {
  return { type: 'failed', reason, message };
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
}

function leftOutEntry(path: string): FileTreeEntry {
  return { path, kind: 'file', size: 0, stamp: 'left out' };
}

/** The entry of a work tree, of which git commits links as links. */
async function memberAt({ folder }: Inside, path: string): Promise<FileTreeEntry> {
  const own = await lstat(join(folder, path), { bigint: true });
  return own.isSymbolicLink()
    ? { path, kind: 'symlink', size: 0, stamp: `${own.ino}:${own.ctimeNs}` }
    : entryOf(path, own);
}

async function entryAt(inside: Inside, path: string): Promise<FileTreeEntry | undefined> {
  const at = join(inside.folder, path);
  const own = await lstat(at, { bigint: true });
  if (!own.isSymbolicLink()) return entryOf(path, own);
  const target = await targetInside(inside, at).catch(() => undefined);
  if (target === undefined) return { path, kind: 'symlink', size: 0, stamp: `${own.ino}:${own.ctimeNs}` };
  return entryOf(path, await lstat(target, { bigint: true }));
}

function entryOf(path: string, { size, mtimeNs, ctimeNs, ino }: BigIntStats): FileTreeEntry {
  return { path, kind: 'file', size: Number(size), stamp: `${size}:${mtimeNs}:${ctimeNs}:${ino}` };
}

/** Returns where a path leads after all symbolic links; undefined unless that is a plain file inside the folder. */
async function targetInside({ isInside }: Inside, at: string): Promise<string | undefined> {
  const target = await realpath(at);
  return (await isInside(target)) && (await lstat(target)).isFile() ? target : undefined;
}

async function readInside({ folder, isInside }: Inside, path: string, maxBytes: number): Promise<FileTreeContent> {
  let file: FileHandle | undefined;
  try {
    const target = await realpath(join(folder, path));
    if (!(await isInside(target))) return leadsElsewhere;
    // Another process may replace the file meanwhile: no symbolic link is followed, and no pipe is waited for.
    file = await open(target, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stats = await file.stat();
    if (!stats.isFile()) return leadsElsewhere;
    if (stats.size > maxBytes) return { type: 'oversized' };
    // A file that grows while it is read has another stamp afterwards.
    return { type: 'read', bytes: await readBytes(file, stats.size) };
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT') return (await isThere(join(folder, path))) ? leadsElsewhere : { type: 'missing' };
    return { type: 'unreadable', message: `cannot be read (${code})` };
  } finally {
    await file?.close();
  }
}

const leadsElsewhere: FileTreeContent = { type: 'unreadable', message: 'leads to no plain file inside the folder' };

/** True also for a symbolic link that leads nowhere. */
async function isThere(at: string): Promise<boolean> {
  return lstat(at).then(
    () => true,
    () => false,
  );
}

/** Returns the first `size` bytes, or fewer if the file has become shorter. */
async function readBytes(file: FileHandle, size: number): Promise<Uint8Array> {
  const buffer = Buffer.alloc(size);
  let length = 0;
  while (length < size) {
    const { bytesRead } = await file.read(buffer, length, size - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return buffer.subarray(0, length);
}
