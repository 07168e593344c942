import { type Dirent, readdirSync, unlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { KindState } from '../../model/agent/agent.ts';
import { type Diagnostic, diagnosticOf } from '../../model/fleet/diagnostic.ts';
import type { Digest } from '../../model/fleet/ids.ts';
import { displayKey, kindOf, nameOfKind, type ObjectKey } from '../../model/objects/object-key.ts';
import { sha256 } from '../../model/text/digest.ts';
import { compareText } from '../../model/text/json.ts';
import { errorText } from '../../model/text/messages.ts';
import type { Clock } from '../../ports/clock.ts';
import type { LiveState, ObservedObject } from '../../ports/cluster-api.ts';
import { isErrno, isTemporaryName } from '../disk/files.ts';
import { BlockedPath, checkedFolder, type PathState, readRegularFile, statePath } from './folder.ts';
import { isManifestName, LARGEST_FILE_BYTES, placeOfPath, readLiveFile } from './object-file.ts';
import { isStampedAtItsPath, OwnObject, type Stamped } from './own-object.ts';

/** A path that may hold live state, as of its last look. */
export interface LiveFile {
  /** The objects in the file. A file that cannot be read has the objects of its last successful read, marked stale. */
  readonly objects: readonly ObservedObject[];
  /** Absent if the path cannot be opened. */
  readonly read?: {
    readonly signature: string;
    readonly bytesDigest: string;
    /** Milliseconds since 1970. */
    readonly at: number;
  };
  /** `invalid`: the content is no list of objects. `skipped`: the path cannot be opened, or is no file of reasonable size. */
  readonly problem?: { readonly type: 'invalid' | 'skipped'; readonly message: string };
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

interface Context {
  readonly root: string;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly files: Map<string, LiveFile>;
  readonly byKey: Map<ObjectKey, Set<string>>;
  /** Kinds that were ever seen, by their name in lower case. */
  readonly kinds: Map<string, string>;
  readonly visitFolder: (path: string) => void;
  /** Temporary files are left over from a crash: this process has written none yet. */
  clearsLeftOvers: boolean;
  version: number;
  /** Undefined after a change of `files`. */
  state: LiveState | undefined;
}

/**
 * The live files of a folder; a file is read again only after it has changed. `visitFolder` is called with the path of each folder before it is read ('' is the root). Without it the folder is only
 * read: files that a crash has left are not removed.
 */
export function createLiveFiles(root: string, clock: Context['clock'], visitFolder?: (path: string) => void) {
  const context: Context = {
    root,
    clock,
    files: new Map(),
    byKey: new Map(),
    kinds: new Map(),
    visitFolder: visitFolder ?? (() => undefined),
    clearsLeftOvers: visitFolder !== undefined,
    version: 0,
    state: undefined,
  };
  const { files } = context;

  return {
    files: files as ReadonlyMap<string, LiveFile>,
    /** Counts the changes of `files`. */
    version: () => context.version,
    /** Paths of the files that hold an object. */
    pathsOf: (key: ObjectKey) => context.byKey.get(key) ?? NOWHERE,
    /** The live state as of the last looks; the same value while nothing has changed. */
    state: (paused: boolean): LiveState => {
      if (context.state?.paused !== paused) context.state = liveStateOf(context, paused);
      return context.state;
    },
    /** Updates the path of a file. */
    lookAtFile: (path: string): void => {
      lookAtFile(context, path);
      if (files.has(path)) forget(context, [path]);
    },
    /** Updates one path now: a file, a folder with everything in it, or a removed path. */
    look: (path: string) => void [...update(context, path)],
    /** Updates all paths, in slices between which the event loop runs. */
    walk: async (): Promise<void> => {
      let sliceEnd = clock.monotonic() + SLICE_MS;
      for (const now of update(context, '')) {
        if (now < sliceEnd) continue;
        await nextTurn();
        sliceEnd = clock.monotonic() + SLICE_MS;
      }
      context.clearsLeftOvers = false;
    },
    /** Records a file that fleetrelay has just written, so that it is not read again. `digest`: of its value. */
    wrote: (path: string, bytes: Uint8Array, object: Stamped, digest: Digest): void => {
      const state = statePath(root, path);
      if (state.type !== 'file') return;
      const read = { signature: state.signature, bytesDigest: sha256(bytes), at: clock.now() };
      put(context, path, { read, objects: [new OwnObject(root, object, digest)] });
    },
  };
}

/** Updates a path and everything below it ('' is the root). Yields the monotonic time after each file. */
function* update(context: Context, path: string): Generator<number> {
  const seen = new Set<string>();
  for (const file of entries(context, path)) {
    seen.add(file);
    lookAtFile(context, file);
    yield context.clock.monotonic();
  }
  const isBelow = (known: string) => path === '' || known === path || known.startsWith(`${path}/`);
  forget(
    context,
    [...context.files.keys()].filter((known) => isBelow(known) && !seen.has(known)),
  );
}

/** Paths of all entries at or below a path that may hold live state. */
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
      if (context.clearsLeftOvers && isTemporaryName(entry.name)) removeLeftOver(context, child);
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

/** Lists a folder. If it cannot be read, it is recorded as skipped and has no entries; a readable one is not skipped any more. */
function readFolder(context: Context, path: string): readonly Dirent[] {
  try {
    const found = readdirSync(join(context.root, path), { withFileTypes: true });
    if (context.files.get(path)?.problem?.type === 'skipped') put(context, path, undefined);
    return found;
  } catch (error) {
    // The root must be readable: a cluster that cannot be read is not an empty one.
    if (path === '') throw error;
    if (!isErrno(error, 'ENOENT', 'ENOTDIR')) skip(context, path, `a folder that cannot be read: ${errorText(error)}`);
    return [];
  }
}

function lookAtFile(context: Context, path: string): void {
  const { files, clock, root } = context;
  const known = files.get(path)?.read;
  const state = stateOrSkip(context, path);
  if (state === undefined || state.type === 'absent' || state.type === 'folder') return;
  if (state.type === 'other') skip(context, path, state.what);
  else if (state.size > LARGEST_FILE_BYTES) skip(context, path, `larger than ${LARGEST_FILE_BYTES} bytes`);
  else if (known === undefined && files.size >= MOST_FILES) {
    skip(context, path, `beyond the ${MOST_FILES} files that are read`);
  } else if (known?.signature !== state.signature || known.at - state.modifiedAt <= CLOCK_TICK_MS) {
    const at = clock.now();
    try {
      const found = readRegularFile(root, path, LARGEST_FILE_BYTES);
      if (found !== undefined) take(context, path, found.bytes, { signature: found.signature, at });
    } catch (error) {
      skip(context, path, `a file that cannot be read: ${errorText(error)}`);
    }
  }
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

function take(
  context: Context,
  path: string,
  bytes: Uint8Array,
  { signature, at }: { readonly signature: string; readonly at: number },
): void {
  const known = context.files.get(path);
  const read = { signature, at, bytesDigest: sha256(bytes) };
  if (known?.read?.bytesDigest === read.bytesDigest) {
    context.files.set(path, { ...known, read });
    return;
  }
  const content = readLiveFile(path, bytes);
  const objectOf = (object: ObservedObject): ObservedObject =>
    isStampedAtItsPath(object) ? new OwnObject(context.root, object) : object;
  if (content.ok) put(context, path, { read, objects: content.value.map(objectOf) });
  else {
    const problem = { type: 'invalid', message: content.problem } as const;
    put(context, path, { read, objects: staleObjects(known), problem });
  }
}

function staleObjects(file: LiveFile | undefined): readonly ObservedObject[] {
  return (file?.objects ?? []).map((object) =>
    object instanceof OwnObject ? object.asStale() : { ...object, stale: true },
  );
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
  context.version += 1;
  context.state = undefined;
}

function skip(context: Context, path: string, message: string): void {
  const known = context.files.get(path);
  if (known?.problem?.type === 'skipped' && known.problem.message === message) return;
  put(context, path, { objects: staleObjects(known), problem: { type: 'skipped', message } });
}

/** Drops the paths that are proven to be absent. A path that cannot be read keeps its last known objects. */
function forget(context: Context, paths: readonly string[]): void {
  for (const path of paths) {
    const state = stateOrUnknown(context, path);
    const isSkipped = context.files.get(path)?.problem?.type === 'skipped';
    if (state === 'absent' || (state === 'folder' && !isSkipped)) put(context, path, undefined);
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

/** Composes the live state of the files, and remembers their kinds. */
function liveStateOf({ files, kinds }: Context, paused: boolean): LiveState {
  const objects = new Map<ObjectKey, ObservedObject>();
  const diagnostics: Diagnostic[] = [];
  const unknown = new Map<string, string>();
  for (const [path, file] of [...files].sort(([a], [b]) => compareText(a, b))) {
    for (const object of file.objects) {
      const kind = kindOf(object.key);
      kinds.set(kind.toLowerCase(), kind);
      const first = objects.get(object.key);
      if (first !== undefined) diagnostics.push(duplicate(object, first));
      if (first === undefined || isStampedAtItsPath(object)) objects.set(object.key, object);
    }
    if (file.problem === undefined) continue;
    diagnostics.push(problemOf(path, file.problem));
    for (const kind of kindsAt(path, file)) {
      if (!kinds.has(kind)) kinds.set(kind, kind);
      unknown.set(kind, `${path} cannot be read`);
    }
  }
  const states = [...kinds].map(([name, kind]): KindState => {
    const message = unknown.get(name);
    return message === undefined ? { kind, state: 'complete', message: '' } : { kind, state: 'unknown', message };
  });
  return { objects, kinds: states.sort((a, b) => compareText(a.kind, b.kind)), diagnostics, paused };
}

/** The kinds that an unreadable path can hold, in lower case: the kind that names its folder, and the kinds of its last known objects. */
function kindsAt(path: string, { objects }: LiveFile): readonly string[] {
  const place = placeOfPath(path) ?? placeOfPath(`${path}/any`);
  return [...(place === undefined ? [] : [nameOfKind(place)]), ...objects.map(({ key }) => kindOf(key).toLowerCase())];
}

function problemOf(path: string, { type, message }: NonNullable<LiveFile['problem']>): Diagnostic {
  const at = { path };
  return type === 'invalid'
    ? diagnosticOf({ severity: 'error', reason: 'UnreadableLiveFile', message, at })
    : diagnosticOf({ severity: 'warning', reason: 'SkippedLiveFile', message: `passed over: ${message}`, at });
}

function duplicate(object: ObservedObject, first: ObservedObject): Diagnostic {
  return diagnosticOf({
    severity: 'warning',
    reason: 'DuplicateLiveObject',
    message: `${displayKey(object.key)} is in ${first.where} as well`,
    hint: 'delete one of the two',
    at: { path: object.where },
  });
}
