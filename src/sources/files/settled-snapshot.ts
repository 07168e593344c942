import { sha256 } from '../../model/digest.ts';
import type { Digest } from '../../model/ids.ts';
import type { Clock } from '../../ports/clock.ts';
import type { FileTree, FileTreeEntry, FileTreeListing } from '../../ports/file-tree.ts';
import { IGNORE_FILE, isManifestName } from '../tree/ignore-file.ts';

/** One file of a snapshot. `problem`: why its content cannot be used, as the end of a sentence. */
export interface SnapshotFile extends Omit<FileTreeEntry, 'path'> {
  readonly blob: Digest;
  readonly problem?: string;
}

/** The manifests of a folder, and its ignore file, at one moment. */
export type Snapshot = ReadonlyMap<string, SnapshotFile>;

type Failure = Extract<FileTreeListing, { readonly type: 'failed' }>;

export type SnapshotOutcome =
  | { readonly type: 'settled'; readonly snapshot: Snapshot }
  | Failure
  | { readonly type: 'stopped' };

/** After so many looks, the files that still change are unreadable. */
const MAX_LOOKS = 25;

/**
 * Reads the folder until two looks, `settleMs` apart, find it equal: a file that is being written changes between two
 * looks. Files with the same stamp as in `known` are not read again.
 */
export async function settledSnapshot(
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
