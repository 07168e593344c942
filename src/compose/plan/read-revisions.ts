import { lstat, readFile, realpath } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { readWorkTreeChanges, type WorkTreeChanges } from '../../adapters/git/work-tree.ts';
import { createSystemClock } from '../../adapters/system/clock.ts';
import { decoders } from '../../domains/decoders.ts';
import type { SidedRef } from '../../engine/explain/plan-causes.ts';
import { defaultDecodeLimits } from '../../manifest/limits.ts';
import { createLocator } from '../../manifest/locate.ts';
import type { Location } from '../../model/fleet/diagnostic.ts';
import { quote } from '../../model/fleet/ids.ts';
import { excessText, type RevisionLimits } from '../../model/limits/revision-limits.ts';
import { errorText } from '../../model/text/messages.ts';
import type { TreeChange, TreeEntry } from '../../ports/git-repo.ts';
import { emptyTree, type ReadTree, readTree, type Tree } from '../../sources/tree/tree-reader.ts';
import { openDecoder } from '../decoding/decode-with-warnings.ts';

/** Two states of a folder of a git repository. */
export interface ReadRevisions {
  readonly before: Tree;
  readonly after: ReadTree;
  /** The commit of the first state. */
  readonly base: string;
  /** The commit of the second state; null: the work tree. */
  readonly revision: string | null;
  /** The line of a document or a value; only the path if it cannot be found. */
  locate(ref: Omit<SidedRef, 'source'>): Promise<Location>;
  /** Ends the process that reads blobs. */
  close(): void;
}

interface RevisionsRequest {
  /** Of the repository, absolute. */
  readonly folder: string;
  /** A commit; what it shares with the second state is the first state. */
  readonly base: string;
  /** The commit of the second state; absent: the work tree with its untracked files. */
  readonly revision?: string;
  readonly limits: RevisionLimits;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The blob of a file in the work tree; no commit has it. */
const ON_DISK = 'disk:';

/**
 * Reads a folder as it is at a commit, and as it is later: unchanged files are decoded once. Rejects with a text for a
 * person if git does not know a commit, or a limit is exceeded.
 */
export async function readRevisions(request: RevisionsRequest): Promise<ReadRevisions> {
  const { folder, base, revision, limits, env } = request;
  const range = revision === undefined ? base : `${base}..${revision}`;
  const opened = await readWorkTreeChanges({ clock: createSystemClock(), environment: env }, folder, range);
  if (!opened.ok) throw new Error(opened.problem);
  const repository = opened.value;
  try {
    const below = relative(repository.root, await realpath(folder)).replaceAll('\\', '/');
    const read = readerOf(repository, folder);
    const decode = await openDecoder();
    const { maxBytes } = defaultDecodeLimits;
    const options = {
      decode,
      limits,
      maxFileBytes: maxBytes,
      read: async (path: string, { blob }: TreeEntry) => (await read(path, blob)) ?? { reason: GONE },
    };
    const { from, to, diff } = repository;
    const before = await readTree(options, emptyTree, await diff(null, from, below));
    if ('excess' in before) throw new Error(`the folder at ${base} ${excessText(before.excess)}`);
    const changes = to === null ? await workTreeChanges(repository, folder, below) : await diff(from, to, below);
    const after = await readTree(options, before.tree, changes);
    if ('excess' in after) throw new Error(`the folder ${quote(folder)} ${excessText(after.excess)}`);
    const locate = locatorOf(read, { before: before.tree, after: after.tree });
    return { before: before.tree, after, base: from, revision: to, locate, close: repository.close };
  } catch (error) {
    repository.close();
    throw error;
  }
}

const GONE = 'cannot be read any more';

type ReadBytes = (
  path: string,
  blob: string,
) => Promise<{ readonly bytes: Uint8Array } | { readonly reason: string } | undefined>;

function readerOf({ readBlob }: WorkTreeChanges, folder: string): ReadBytes {
  const { maxBytes } = defaultDecodeLimits;
  return async (path, blob) => {
    if (blob.startsWith(ON_DISK)) {
      return readFile(join(folder, path)).then(
        (bytes) => (bytes.length > maxBytes ? { reason: tooLarge(bytes.length) } : { bytes }),
        (error: unknown) => ({ reason: `cannot be read: ${errorText(error)}` }),
      );
    }
    const outcome = await readBlob(blob, maxBytes);
    if (outcome.type === 'read') return { bytes: outcome.bytes };
    return outcome.type === 'oversized' ? { reason: tooLarge(outcome.size) } : undefined;
  };
}

function tooLarge(size: number): string {
  return `is ${size} bytes large; at most ${defaultDecodeLimits.maxBytes} are read`;
}

/** The differences between the commit and the work tree. Links are links, as in a commit. */
async function workTreeChanges(
  { root, changes }: WorkTreeChanges,
  folder: string,
  below: string,
): Promise<readonly TreeChange[]> {
  const prefix = below === '' ? '' : `${below}/`;
  const inside = changes.filter(({ path }) => path.startsWith(prefix));
  return Promise.all(
    inside.map(async ({ path: whole, now }): Promise<TreeChange> => {
      const path = whole.slice(prefix.length);
      const found = now === null ? undefined : await lstat(resolve(root, whole)).catch(() => undefined);
      // What is no file, link or folder git does not commit.
      const isOther = found !== undefined && !(found.isFile() || found.isSymbolicLink() || found.isDirectory());
      if (found === undefined || now === null || isOther) return { path, entry: null };
      if (found.isDirectory()) return { path, entry: { kind: 'submodule', blob: `${ON_DISK}${path}`, size: 0 } };
      const kind = found.isFile() ? 'file' : 'symlink';
      return { path, entry: { kind, blob: `${ON_DISK}${folder}/${path}`, size: found.size } };
    }),
  );
}

function locatorOf(read: ReadBytes, trees: Readonly<Record<'before' | 'after', Tree>>): ReadRevisions['locate'] {
  /** By side and path: most questions about a file come together. */
  const known = new Map<string, Promise<ReturnType<typeof createLocator> | undefined>>();
  return async ({ side, path, identity, field = [] }) => {
    const blob = trees[side].nodes.get(path)?.entry.blob;
    if (blob === undefined) return { path };
    const find =
      known.get(`${side}${path}`) ??
      read(path, blob).then((content) =>
        content !== undefined && 'bytes' in content ? createLocator(decoders, path, content.bytes) : undefined,
      );
    known.set(`${side}${path}`, find);
    return (await find)?.({ identity, field, part: 'value' })?.at ?? { path };
  };
}
