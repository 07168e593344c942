import { sha256 } from '../../model/digest.ts';
import type { Digest } from '../../model/ids.ts';
import type { Clock } from '../../ports/clock.ts';
import type { FileTree, FileTreeListing } from '../../ports/file-tree.ts';
import { IGNORE_FILE, isManifestName } from '../tree/membership.ts';

/** One file of a snapshot. `trouble`: its content cannot be used (the end of a sentence). */
export interface SnapshotFile {
  readonly kind: 'file' | 'symlink';
  readonly size: number;
  readonly stamp: string;
  readonly blob: Digest;
  readonly trouble?: string;
}

/** The manifests of a folder (and its ignore file) at one moment. */
export type Snapshot = ReadonlyMap<string, SnapshotFile>;

export type SnapshotOutcome =
  | { readonly type: 'settled'; readonly snapshot: Snapshot }
  | Extract<FileTreeListing, { readonly type: 'failed' }>
  | { readonly type: 'stopped' };

export interface SettleOptions {
  /** A file enters when it was the same twice, this long apart. */
  readonly settleMs: number;
  /** After so many looks, what still changes is left out as unreadable. */
  readonly maxLooks: number;
  readonly maxFileBytes: number;
}

/**
 * Reads the folder until nothing changes any more: a file that is being written shows other bytes at the next look.
 * Files with the stamp that they had in `known` are taken from there.
 */
export async function settledSnapshot(
  deps: { readonly tree: FileTree; readonly clock: Clock },
  options: SettleOptions,
  known: Snapshot,
  signal: AbortSignal,
): Promise<SnapshotOutcome> {
  let before: Snapshot = known;
  for (let looks = 1; ; looks += 1) {
    const taken = await takeSnapshot(deps.tree, options.maxFileBytes, known);
    if (signal.aborted) return { type: 'stopped' };
    if (taken.type === 'failed') return taken;
    const moved = movedBetween(before, taken.snapshot);
    if (moved.length === 0) return { type: 'settled', snapshot: taken.snapshot };
    if (looks >= options.maxLooks) return { type: 'settled', snapshot: withoutMoving(taken.snapshot, moved) };
    before = taken.snapshot;
    await deps.clock.sleep(options.settleMs, signal);
  }
}

async function takeSnapshot(
  tree: FileTree,
  maxFileBytes: number,
  known: Snapshot,
): Promise<{ readonly type: 'taken'; readonly snapshot: Snapshot } | Extract<FileTreeListing, { type: 'failed' }>> {
  const listing = await tree.list(isRead);
  if (listing.type === 'failed') return listing;
  const snapshot = new Map<string, SnapshotFile>();
  for (const { path, kind, size, stamp } of listing.entries) {
    const same = known.get(path);
    if (same !== undefined && same.stamp === stamp && same.trouble === undefined) snapshot.set(path, same);
    else if (kind === 'symlink') snapshot.set(path, { kind, size, stamp, blob: sha256('symlink') });
    else if (size > maxFileBytes) snapshot.set(path, { kind, size, stamp, blob: sha256(`oversized ${stamp}`) });
    else {
      const content = await tree.read(path, maxFileBytes);
      if (content.type === 'missing') continue;
      if (content.type === 'read') snapshot.set(path, { kind, size, stamp, blob: sha256(content.bytes) });
      else {
        const trouble = content.type === 'oversized' ? 'grew while it was read' : content.message;
        snapshot.set(path, { kind, size, stamp, blob: sha256(trouble), trouble });
      }
    }
  }
  return { type: 'taken', snapshot };
}

/** Names under which editors keep what is not saved yet. */
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
    const trouble = 'keeps changing; it is read when it stays the same for a moment';
    result.set(path, { kind: 'file', size: 0, stamp: '', blob: sha256(trouble), trouble });
  }
  return result;
}
