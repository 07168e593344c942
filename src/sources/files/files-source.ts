import type { Digest, SourceName } from '../../model/fleet/ids.ts';
import { defaultRevisionLimits, type RevisionLimits } from '../../model/limits/revision-limits.ts';
import { sha256, snapshotDigest } from '../../model/text/digest.ts';
import type { Clock } from '../../ports/clock.ts';
import type { FileTree, FileTreeEntry, FileTreeListing } from '../../ports/file-tree.ts';
import type { Log } from '../../ports/log.ts';
import type { Random } from '../../ports/random.ts';
import type { Source } from '../../ports/source.ts';
import { IGNORE_FILE, isManifestName } from '../tree/ignore-file.ts';
import { createPoller } from '../tree/poller.ts';
import { createRevisionCheck, type RevisionCheck, type RevisionState } from '../tree/revision-check.ts';
import type { DecodeFile, ReadTreeFile } from '../tree/tree-file.ts';
import { changesTo, readTree, type Tree } from '../tree/tree-reader.ts';

export interface FilesSourceOptions {
  readonly name: SourceName;
  /** Seconds between two complete looks at the folder without an event; 30 unless set. */
  readonly rescanSeconds?: number;
  /** A file is read when two looks, this long apart, find it equal; 200 unless set. */
  readonly settleMs?: number;
  /** Larger files are unreadable; 16 MiB unless set. */
  readonly maxFileBytes?: number;
  /** The defaults unless set. */
  readonly limits?: RevisionLimits;
}

export interface FilesSourceDeps {
  readonly tree: FileTree;
  readonly decode: DecodeFile;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

interface Following extends FilesSourceDeps {
  readonly check: RevisionCheck;
  readonly settleMs: number;
  readonly maxFileBytes: number;
  readonly limits: RevisionLimits;
  readonly trigger: () => void;
  known: Snapshot;
  endWatch: (() => Promise<void>) | undefined;
}

const MAX_TRIES = 5;

/**
 * Follows a plain folder. Events are hints: each event, and a timer, cause a look at the complete folder. A missing folder
 * makes the source failing; a folder that suddenly has no manifest waits for a person. Neither removes anything.
 */
export function createFilesSource(deps: FilesSourceDeps, options: FilesSourceOptions): Source {
  const { tree, clock, random } = deps;
  const {
    name,
    rescanSeconds = 30,
    settleMs = 200,
    maxFileBytes = 16 * 1024 * 1024,
    limits = defaultRevisionLimits,
  } = options;
  const describe = (revision: string): string => `${tree.address} with content ${revision.slice(0, 12)}`;
  const log = deps.log.child({ source: name });
  const check = createRevisionCheck(log, name, describe);
  const following: Following = {
    ...deps,
    log,
    check,
    settleMs,
    maxFileBytes,
    limits,
    trigger: () => poller.trigger(),
    known: new Map(),
    endWatch: undefined,
  };
  const intervalMs = rescanSeconds * 1000;
  const poller = createPoller(
    { clock, random, look: (signal) => lookOnce(following, signal), failed: check.failed },
    { intervalMs, retryMs: Math.min(intervalMs, 1_000), maxRetryMs: intervalMs },
  );
  return {
    name,
    address: tree.address,
    start: (listener, admitted) => {
      check.start(listener, admitted);
      poller.start();
    },
    trigger: poller.trigger,
    look: poller.look,
    accept: check.accept,
    read: async (path, blob) => {
      const content = await tree.read(path, maxFileBytes).catch(() => undefined);
      return content?.type === 'read' && sha256(content.bytes) === blob ? content.bytes : undefined;
    },
    stop: async () => {
      await poller.stop();
      await following.endWatch?.();
    },
  };
}

async function lookOnce(following: Following, signal: AbortSignal): Promise<boolean> {
  const { check, log } = following;
  // Watched before the first look, so that no later change is missed.
  following.endWatch ??= await following.tree.watch(following.trigger, [IGNORE_FILE, '.gitignore']);
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const outcome = await settledSnapshot(following, following.known, signal);
    if (outcome.type === 'stopped') return false;
    if (outcome.type === 'failed') {
      if (outcome.reason === 'TooManyFiles') {
        check.exceed({ revision: undefined, excess: outcome.excess });
        return true;
      }
      // The watch does not follow a folder that is removed and created again.
      await endWatch(following);
      log.warn('a folder cannot be read', { reason: outcome.reason, detail: outcome.message });
      check.failing(outcome.reason, outcome.message);
      return false;
    }
    if (await takeSnapshot(following, outcome.snapshot)) {
      following.known = outcome.snapshot;
      return true;
    }
  }
  check.failing('StillChanging', 'the folder changes faster than it can be read');
  return false;
}

async function endWatch(following: Following): Promise<void> {
  const end = following.endWatch;
  following.endWatch = undefined;
  await end?.();
}

/** Admits or refuses a settled snapshot. Returns false if a file changed before it was read: take another snapshot. */
async function takeSnapshot(following: Following, snapshot: Snapshot): Promise<boolean> {
  const { tree: folder, check, decode, clock, maxFileBytes, limits } = following;
  let hasMoved = false;
  const read: ReadTreeFile = async (path, entry) => {
    const problem = snapshot.get(path)?.problem;
    if (problem !== undefined) return { reason: problem };
    const content = await folder.read(path, maxFileBytes);
    if (content.type === 'read' && sha256(content.bytes) === entry.blob) return { bytes: content.bytes };
    hasMoved = true;
    return { reason: 'changed while it was read' };
  };
  const turn = (): Promise<void> => clock.sleep(0);
  const content = digestOf(snapshot);
  // What exceeds a limit is not read again before it has changed.
  if (check.state.exceeding?.revision === content) return check.found(content);
  // A person may accept the waiting revision while this one is read: then this one is read again after that one.
  for (let isTaken = false; !isTaken; ) {
    const { state } = check;
    const reading = { decode, read, maxFileBytes, limits, spare: state.waiting?.read.tree, turn };
    const found = await readTree(reading, state.tree, changesTo(state.tree, snapshot));
    if (hasMoved) return false;
    if ('excess' in found) return check.exceed({ revision: content, excess: found.excess });
    const revision = revisionOf(snapshot, found.tree);
    if (check.found(revision)) return true;
    if (found.tree.manifests === 0 && hadManifests(state, revision)) {
      const message = `the folder ${folder.address} holds no manifest any more`;
      isTaken = check.refuse({ revision, ...found }, { reason: 'EmptyTree', message });
    } else isTaken = check.admit({ revision, ...found }) && check.found(revision);
  }
  return true;
}

/** Assumes that the revision of an earlier process had manifests, unless it was this revision. */
function hadManifests({ admitted, observed, tree }: RevisionState, revision: string): boolean {
  if (observed !== undefined) return tree.manifests > 0;
  return admitted !== undefined && admitted !== revision;
}

/** The digest of the files that the source follows: a change of any other file is no new revision. */
function revisionOf(snapshot: Snapshot, { nodes }: Tree): string {
  return digestOf([...snapshot].filter(([path]) => nodes.get(path)?.isIgnored !== true));
}

function digestOf(files: Iterable<readonly [string, SnapshotFile]>): string {
  return snapshotDigest([...files].map(([path, { blob }]) => [path, blob] as const));
}

/** One file of a snapshot. `problem`: why its content cannot be used, as the end of a sentence. */
interface SnapshotFile extends Omit<FileTreeEntry, 'path'> {
  readonly blob: Digest;
  readonly problem?: string;
}

/** The manifests of a folder, and its ignore file, at one moment. */
type Snapshot = ReadonlyMap<string, SnapshotFile>;

type Failure = Extract<FileTreeListing, { readonly type: 'failed' }>;

type SnapshotOutcome =
  | { readonly type: 'settled'; readonly snapshot: Snapshot }
  | Failure
  | { readonly type: 'stopped' };

/** Most looks at files that change while they are read. Files that still change then are unreadable. */
const MAX_LOOKS = 25;

/**
 * Reads the folder until two looks, `settleMs` apart, find it equal: a file that is being written changes between two
 * looks. Files with the same stamp as in `known` are not read again.
 */
async function settledSnapshot(
  options: {
    readonly tree: FileTree;
    readonly clock: Clock;
    readonly settleMs: number;
    readonly maxFileBytes: number;
  },
  known: Snapshot,
  signal: AbortSignal,
): Promise<SnapshotOutcome> {
  const { tree, clock, settleMs, maxFileBytes } = options;
  let before: Snapshot = known;
  for (let looks = 1; ; looks += 1) {
    const listing = await tree.list(isRead);
    if (listing.type === 'failed') return signal.aborted ? { type: 'stopped' } : listing;
    const snapshot = await readFiles(tree, listing.entries, maxFileBytes, known);
    if (signal.aborted) return { type: 'stopped' };
    const moved = movedBetween(before, snapshot);
    if (moved.length === 0) return { type: 'settled', snapshot };
    if (looks >= MAX_LOOKS) return { type: 'settled', snapshot: withoutMoving(snapshot, moved) };
    before = snapshot;
    await clock.sleep(settleMs, signal);
  }
}

async function readFiles(
  tree: FileTree,
  entries: readonly FileTreeEntry[],
  maxFileBytes: number,
  known: Snapshot,
): Promise<Snapshot> {
  const snapshot = new Map<string, SnapshotFile>();
  for (const { path, ...file } of entries) {
    const { kind, size, stamp } = file;
    const same = known.get(path);
    if (same !== undefined && same.stamp === stamp && same.problem === undefined) snapshot.set(path, same);
    else if (kind === 'symlink') snapshot.set(path, { ...file, blob: sha256('symlink') });
    else if (size > maxFileBytes) snapshot.set(path, { ...file, blob: sha256(`oversized ${stamp}`) });
    else {
      const content = await tree.read(path, maxFileBytes);
      if (content.type === 'missing') continue;
      if (content.type === 'read') snapshot.set(path, { ...file, blob: sha256(content.bytes) });
      else {
        const problem = content.type === 'oversized' ? 'grew while it was read' : content.message;
        snapshot.set(path, { ...file, blob: sha256(problem), problem });
      }
    }
  }
  return snapshot;
}

/** Names of files with the unsaved changes of editors. */
const EDITOR_NAME = /^(\.#|\.~|~\$|#)/;

function isRead(path: string): boolean {
  if (path === IGNORE_FILE) return true;
  return isManifestName(path) && !EDITOR_NAME.test(path.slice(path.lastIndexOf('/') + 1));
}

function movedBetween(before: Snapshot, after: Snapshot): readonly string[] {
  const moved = [...before.keys()].filter((path) => !after.has(path));
  for (const [path, { stamp, blob, size }] of after) {
    const earlier = before.get(path);
    if (earlier?.blob !== blob || earlier.stamp !== stamp || earlier.size !== size) moved.push(path);
  }
  return moved;
}

function withoutMoving(snapshot: Snapshot, moved: readonly string[]): Snapshot {
  const result = new Map(snapshot);
  for (const path of moved) {
    const problem = 'keeps changing; it is read when it stays the same for a moment';
    result.set(path, { kind: 'file', size: 0, stamp: '', blob: sha256(problem), problem });
  }
  return result;
}
