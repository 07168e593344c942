import { type Dirent, readdirSync, unlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sha256 } from '../../model/digest.ts';
import type { Digest } from '../../model/ids.ts';
import { errorText } from '../../model/messages.ts';
import type { ObjectKey } from '../../model/object-key.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ObservedObject } from '../../ports/cluster-api.ts';
import { isErrno } from '../disk/files.ts';
import {
  BlockedPath,
  checkedFolder,
  type FileBytes,
  isTemporaryName,
  type PathState,
  readRegularFile,
  statePath,
} from './folder.ts';
import { isManifestName } from './layout.ts';
import { LARGEST_FILE_BYTES, readLiveFile } from './live-file.ts';

/** One live file at its last read. */
export interface LiveFile {
  readonly signature: string;
  readonly bytesDigest: Digest;
  /** When it was read, in milliseconds since 1970. */
  readonly readAt: number;
  /** The objects in the file; of an unreadable file those of the last successful read, marked stale. */
  readonly objects: readonly ObservedObject[];
  /** Why the file is unreadable. */
  readonly problem?: string;
}

/** A path that is skipped, and the reason. */
export interface SkippedPath {
  readonly path: string;
  readonly what: string;
}

/**
 * An edit within the same tick of the file system's clock does not change the signature. A file that was read this soon
 * after its last change is read again at the next look.
 */
const CLOCK_TICK_MS = 50;
/** How long a walk may block the event loop. */
const SLICE_MS = 8;
const DEEPEST_FOLDER = 16;
const MOST_FILES = 200_000;
const NOWHERE: ReadonlySet<string> = new Set();
/** The signature of a file that can no longer be read. */
const UNREAD = '';

/** The live files of a folder; a file is read again only after it has changed. */
export interface LiveFiles {
  readonly files: ReadonlyMap<string, LiveFile>;
  readonly skipped: ReadonlyMap<string, SkippedPath>;
  /** Counts the changes of `files` and `skipped`. */
  version(): number;
  /** Paths of the files that hold an object. */
  pathsOf(key: ObjectKey): ReadonlySet<string>;
  /** Updates one path now: a file, a folder with everything in it, or a removed path. */
  look(path: string): void;
  /** Updates the path of a file. */
  lookAtFile(path: string): void;
  /** Updates all paths, in slices between which the event loop runs. */
  walk(): Promise<void>;
  /** Records a file that fleetrelay has just written, so that it is not read again. */
  wrote(path: string, bytes: Uint8Array, object: ObservedObject): void;
}

/**
 * `visitFolder` is called with the path of each folder before it is read ('' is the root). With `isReadOnly`, what a crash
 * has left is not cleared away.
 */
export function createLiveFiles(
  root: string,
  clock: Pick<Clock, 'now' | 'monotonic'>,
  visitFolder: (path: string) => void,
  { isReadOnly = false }: { readonly isReadOnly?: boolean } = {},
): LiveFiles {
  const context: Context = {
    root,
    clock,
    files: new Map(),
    byKey: new Map(),
    skipped: new Map(),
    changes: { version: 0, clearsLeftOvers: !isReadOnly },
    visitFolder,
  };
  const { files, skipped, changes } = context;

  return {
    files,
    skipped,
    version: () => changes.version,
    pathsOf: (key) => context.byKey.get(key) ?? NOWHERE,
    lookAtFile: (path) => {
      lookAtFile(context, path);
      if (files.has(path)) forget(context, [path]);
    },
    look: (path) => {
      const seen = new Set<string>();
      for (const file of entries(context, path)) {
        seen.add(file);
        lookAtFile(context, file);
      }
      forget(
        context,
        knownPaths(context).filter((known) => (known === path || known.startsWith(`${path}/`)) && !seen.has(known)),
      );
    },
    walk: async () => {
      const seen = new Set<string>();
      let sliceEnd = clock.monotonic() + SLICE_MS;
      for (const file of entries(context, '')) {
        seen.add(file);
        lookAtFile(context, file);
        if (clock.monotonic() < sliceEnd) continue;
        await nextTurn();
        sliceEnd = clock.monotonic() + SLICE_MS;
      }
      changes.clearsLeftOvers = false;
      forget(
        context,
        knownPaths(context).filter((known) => !seen.has(known)),
      );
    },
    wrote: (path, bytes, object) => {
      const state = statePath(root, path);
      if (state.type !== 'file') return;
      const { signature } = state;
      put(context, path, { signature, bytesDigest: sha256(bytes), readAt: clock.now(), objects: [object] });
      skipped.delete(path);
    },
  };
}

interface Context {
  readonly root: string;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly files: Map<string, LiveFile>;
  readonly byKey: Map<ObjectKey, Set<string>>;
  readonly skipped: Map<string, SkippedPath>;
  readonly changes: { version: number; clearsLeftOvers: boolean };
  readonly visitFolder: (path: string) => void;
}

/** Paths of everything at or below a path that may hold live state. */
function* entries(context: Context, path: string): Generator<string> {
  const state = path === '' ? { type: 'folder' as const } : stateOrSkip(context, path);
  if (state === undefined) return;
  if (state.type === 'folder') yield* folderEntries(context, path);
  else if (state.type !== 'absent' && isManifestName(path.slice(path.lastIndexOf('/') + 1))) yield path;
}

function* folderEntries(context: Context, path: string): Generator<string> {
  if (path.split('/').length > DEEPEST_FOLDER) {
    skip(context, path, 'a folder nested too deep');
    return;
  }
  context.visitFolder(path);
  for (const entry of readFolder(context, path)) {
    const child = path === '' ? entry.name : `${path}/${entry.name}`;
    if (entry.name.startsWith('.')) {
      // On the first walk this process has not written yet: the file is left over from a crash.
      if (context.changes.clearsLeftOvers && isTemporaryName(entry.name)) removeLeftOver(context, child);
    } else if (entry.isDirectory()) {
      yield* folderEntries(context, child);
    } else if (isManifestName(entry.name)) {
      yield child;
    }
  }
}

function removeLeftOver({ root }: Context, path: string): void {
  try {
    unlinkSync(join(root, path));
  } catch {
    // A hidden file has no effect.
  }
}

function readFolder(context: Context, path: string): readonly Dirent[] {
  try {
    const found = readdirSync(join(context.root, path), { withFileTypes: true });
    unskip(context, path);
    return found;
  } catch (error) {
    // The root must be readable: a cluster that cannot be read is not an empty one.
    if (path === '') throw error;
    if (!isErrno(error, 'ENOENT', 'ENOTDIR')) skip(context, path, `a folder that cannot be read: ${errorText(error)}`);
    return [];
  }
}

function lookAtFile(context: Context, path: string): void {
  const { files, clock } = context;
  const known = files.get(path);
  const state = stateOrSkip(context, path);
  if (state === undefined || state.type === 'absent' || state.type === 'folder') return;
  const obstacle = obstacleTo(context, path, state);
  if (obstacle !== undefined || state.type === 'other') {
    skip(context, path, obstacle ?? '');
    return;
  }
  const settled = known !== undefined && known.readAt - state.modifiedAt > CLOCK_TICK_MS;
  if (known?.signature !== state.signature || !settled) {
    const readAt = clock.now();
    const read = readFile(context, path);
    if (read === undefined) return;
    take(context, path, read, readAt);
  }
  unskip(context, path);
}

/** The state of a path; undefined if it cannot be read, and then only this path is skipped. */
function stateOrSkip(context: Context, path: string): PathState | undefined {
  try {
    return statePath(context.root, path);
  } catch (error) {
    if (!isErrno(error, 'ENOTDIR')) skip(context, path, `a path that cannot be read: ${errorText(error)}`);
    return undefined;
  }
}

/** Why a path is skipped; undefined: it is not. */
function obstacleTo(
  { files }: Context,
  path: string,
  state: Extract<PathState, { type: 'file' | 'other' }>,
): string | undefined {
  if (state.type === 'other') return state.what;
  if (state.size > LARGEST_FILE_BYTES) return `larger than ${LARGEST_FILE_BYTES} bytes`;
  return files.has(path) || files.size < MOST_FILES ? undefined : `beyond the ${MOST_FILES} files that are read`;
}

function readFile(context: Context, path: string): FileBytes | undefined {
  try {
    return readRegularFile(context.root, path, LARGEST_FILE_BYTES);
  } catch (error) {
    skip(context, path, `a file that cannot be read: ${errorText(error)}`);
    return undefined;
  }
}

function take(context: Context, path: string, { bytes, signature }: FileBytes, readAt: number): void {
  const known = context.files.get(path);
  const bytesDigest = sha256(bytes);
  if (known?.bytesDigest === bytesDigest && known.signature !== UNREAD) {
    context.files.set(path, { ...known, signature, readAt });
    return;
  }
  const content = readLiveFile(path, bytes);
  const found = content.ok
    ? { objects: content.value }
    : { objects: (known?.objects ?? []).map(asStale), problem: content.problem };
  put(context, path, { signature, bytesDigest, readAt, ...found });
}

function asStale(object: ObservedObject): ObservedObject {
  return { ...object, stale: true };
}

function put(context: Context, path: string, file: LiveFile | undefined): void {
  for (const { key } of context.files.get(path)?.objects ?? []) {
    const paths = context.byKey.get(key);
    if (paths?.delete(path) && paths.size === 0) context.byKey.delete(key);
  }
  if (file === undefined) context.files.delete(path);
  else context.files.set(path, file);
  for (const { key } of file?.objects ?? []) {
    const paths = context.byKey.get(key);
    if (paths === undefined) context.byKey.set(key, new Set([path]));
    else paths.add(path);
  }
  context.changes.version += 1;
}

function skip(context: Context, path: string, what: string): void {
  if (context.skipped.get(path)?.what === what) return;
  context.skipped.set(path, { path, what });
  const known = context.files.get(path);
  if (known !== undefined) put(context, path, { ...known, signature: UNREAD, objects: known.objects.map(asStale) });
  context.changes.version += 1;
}

function unskip(context: Context, path: string): void {
  if (context.skipped.delete(path)) context.changes.version += 1;
}

function knownPaths({ files, skipped }: Context): readonly string[] {
  return [...files.keys(), ...skipped.keys()];
}

/** Drops the paths that are proven to be gone. A path that cannot be read keeps its last known state. */
function forget(context: Context, paths: readonly string[]): void {
  for (const path of paths) {
    const state = stateOrUnknown(context, path);
    if (context.files.has(path) && (state === 'absent' || state === 'folder')) put(context, path, undefined);
    if (state === 'absent') unskip(context, path);
  }
}

function stateOrUnknown({ root }: Context, path: string): PathState['type'] | 'unknown' {
  try {
    return checkedFolder(root, dirname(path)) === undefined ? 'absent' : statePath(root, path).type;
  } catch (error) {
    // Paths behind a link or a file are no part of this cluster.
    return error instanceof BlockedPath || isErrno(error, 'ENOTDIR') ? 'absent' : 'unknown';
  }
}
