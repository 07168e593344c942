import {
  type GitBlobOutcome,
  type GitCommitInfo,
  type GitRepo,
  gitCopyError,
  type TreeChange,
} from '../../ports/git-repo.ts';
import { parseCommit } from './commit-text.ts';
import { createTreeMeter } from './measure-tree.ts';
import { diffTrees, folderAt, type ReadTree } from './tree-diff.ts';

/** An object; `bytes` is undefined if the object is larger than requested and its start was not asked for. */
export interface GitObject {
  readonly id: string;
  readonly type: string;
  readonly size: number;
  readonly bytes: Buffer | undefined;
}

/** The objects of a local copy. Undefined: the object does not exist. Rejects with a `GitCopyError` if the copy cannot be read. */
export interface GitObjects {
  /** `wantsStart`: of a larger object the first `maxBytes` bytes. */
  read(id: string, maxBytes: number, wantsStart?: boolean): Promise<GitObject | undefined>;
  /** Type and size alone. */
  header(id: string): Promise<Omit<GitObject, 'bytes'> | undefined>;
}

const OBJECT_ID = /^[0-9a-f]{40}([0-9a-f]{24})?$/;
/** Of a commit: its message can be of any size. */
const COMMIT_START_BYTES = 64 * 1024;
/** Larger trees are listed by `measure` alone, which refuses them. */
const MOST_TREE_BYTES = 256 * 1024 * 1024;

/** True for a full object id. Nothing else is passed to a command line or a batch. */
export function isObjectId(text: string): boolean {
  return OBJECT_ID.test(text);
}

/** The part of a {@link GitRepo} that needs nothing but objects. */
export type ObjectReading = Pick<GitRepo, 'hasCommit' | 'commitInfo' | 'diff' | 'measure' | 'readBlob'>;

/** Reads commits, trees and blobs, each object by its id. */
export function createObjectReading(objects: GitObjects): ObjectReading {
  const readTree: ReadTree = async (tree) => {
    const object = await objects.read(tree, MOST_TREE_BYTES);
    return object?.type === 'tree' ? object.bytes : undefined;
  };
  const meter = createTreeMeter(async (tree, maxBytes) => {
    const object = await objects.read(tree, maxBytes);
    return object?.type === 'tree' ? (object.bytes ?? 'oversized') : undefined;
  });
  const treeOf = async (commit: string, folder: string): Promise<string | undefined> =>
    folderAt(readTree, (await readCommit(objects, commit)).tree, folder);
  return {
    hasCommit: async (commit) => (await objects.header(commit))?.type === 'commit',
    commitInfo: async (commit): Promise<GitCommitInfo> => parseCommit((await readCommit(objects, commit)).start),
    diff: async (from, to, folder) => {
      const [before, after] = await Promise.all([from === null ? undefined : treeOf(from, folder), treeOf(to, folder)]);
      return withSizes(objects, await diffTrees(readTree, before, after));
    },
    measure: async (commit, folder, limits) => {
      const tree = await treeOf(commit, folder);
      return tree === undefined ? undefined : meter.measure(tree, limits);
    },
    readBlob: (blob, maxBytes) => readBlob(objects, blob, maxBytes),
  };
}

/** Sizes that are asked for before the event loop turns. */
const ASKED_AT_ONCE = 1_000;

async function withSizes(
  objects: GitObjects,
  changes: Awaited<ReturnType<typeof diffTrees>>,
): Promise<readonly TreeChange[]> {
  const blobs = [...new Set(changes.flatMap(({ entry }) => (entry?.kind === 'file' ? [entry.blob] : [])))];
  const sizes = new Map<string, number>();
  const ask = async (blob: string): Promise<void> => {
    const header = await objects.header(blob);
    if (header === undefined) throw gitCopyError(`the local copy lacks the object ${blob}`);
    sizes.set(blob, header.size);
  };
  for (let from = 0; from < blobs.length; from += ASKED_AT_ONCE) {
    await Promise.all(blobs.slice(from, from + ASKED_AT_ONCE).map(ask));
  }
  return changes.map(({ path, entry }) => ({
    path,
    entry: entry === null ? null : { ...entry, size: (entry.kind === 'file' && sizes.get(entry.blob)) || 0 },
  }));
}

async function readBlob(objects: GitObjects, blob: string, maxBytes: number): Promise<GitBlobOutcome> {
  const object = await objects.read(blob, maxBytes);
  if (object?.type !== 'blob') return { type: 'missing' };
  if (object.bytes === undefined) return { type: 'oversized', size: object.size };
  return { type: 'read', bytes: object.bytes };
}

/** What walks of a history need of a commit, and the beginning of its object. */
export interface ReadCommit {
  readonly tree: string;
  readonly parents: readonly string[];
  readonly start: Buffer;
}

/** Reads a commit; rejects with a `GitCopyError` if there is none. */
export async function readCommit(objects: GitObjects, commit: string): Promise<ReadCommit> {
  const object = await objects.read(commit, COMMIT_START_BYTES, true);
  const start = object?.type === 'commit' ? object.bytes : undefined;
  if (start === undefined) throw gitCopyError(`the local copy lacks the commit ${commit}`);
  const [header = ''] = start.toString('latin1').split('\nauthor ', 1);
  const tree = /^tree ([0-9a-f]+)$/m.exec(header)?.[1] ?? '';
  return { tree, parents: [...header.matchAll(/^parent ([0-9a-f]+)$/gm)].map(([, id = '']) => id), start };
}

/** Commits that are looked at before a search for a near ancestor is given up. */
const MOST_NEAR = 200;

/** Whether `ancestor` is in the history of `descendant`; undefined: not among the nearest, and there are more. */
export async function isNearAncestor(
  objects: GitObjects,
  ancestor: string,
  descendant: string,
): Promise<boolean | undefined> {
  const seen = new Set([descendant]);
  let level = [descendant];
  while (level.length > 0 && seen.size <= MOST_NEAR) {
    const commits = await Promise.all(level.map((commit) => readCommit(objects, commit)));
    level = [...new Set(commits.flatMap(({ parents }) => parents))].filter((commit) => !seen.has(commit));
    if (level.includes(ancestor)) return true;
    for (const commit of level) seen.add(commit);
  }
  return level.length === 0 ? false : undefined;
}
