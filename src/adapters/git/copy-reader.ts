import type { Clock } from '../../ports/clock.ts';
import {
  type GitBlobOutcome,
  type GitCommitInfo,
  type GitRepo,
  type GitTreeChange,
  gitCopyError,
} from '../../ports/git-repo.ts';
import { cleanMessage } from './failures.ts';
import type { GitCommand } from './git-command.ts';
import { createObjectBatch, isObjectId, type ObjectBatch } from './object-batch.ts';
import { belowFolder, type ListedEntry, parseCommit, parseTreeDiff, parseTreeList } from './parse-output.ts';
import type { ProcessOutcome } from './run-process.ts';

/** The part of a {@link GitRepo} that reads the local copy. */
export interface CopyReader extends Pick<GitRepo, 'hasCommit' | 'isAncestor' | 'commitInfo' | 'diff' | 'readBlob'> {
  /** Something could not be read since the last call of {@link CopyReader.restart}. */
  damaged(): boolean;
  /** The copy was replaced: what is open of the old one is let go. */
  restart(): void;
  stop(): void;
}

const LOCAL_DEADLINE_MS = 120_000;
const MAX_LISTING_BYTES = 256 * 1024 * 1024;
const MAX_COMMIT_BYTES = 1024 * 1024;

interface Context {
  readonly git: GitCommand;
  readonly repository: string;
  readonly contents: ObjectBatch;
  readonly headers: ObjectBatch;
}

/** Creates the reader; its long-lived processes start at the first use. */
export function createCopyReader(deps: {
  readonly git: GitCommand;
  readonly clock: Clock;
  readonly repository: string;
}): CopyReader {
  const { git, clock, repository } = deps;
  const batch = (mode: '--batch' | '--batch-check') =>
    createObjectBatch({
      clock,
      start: () => git.start(['cat-file', mode], repository),
      withContent: mode === '--batch',
    });
  const context = { git, repository, contents: batch('--batch'), headers: batch('--batch-check') };
  let damaged = false;
  const noticed = async <Value>(reading: Promise<Value>): Promise<Value> => {
    try {
      return await reading;
    } catch (error) {
      damaged = true;
      throw error;
    }
  };
  const stop = (): void => {
    context.contents.stop();
    context.headers.stop();
  };
  return {
    hasCommit: (commit) => noticed(hasCommit(context, commit)),
    isAncestor: (ancestor, descendant) => noticed(isAncestor(context, ancestor, descendant)),
    commitInfo: (commit) => noticed(commitInfo(context, commit)),
    diff: (from, to, folder) => noticed(diff(context, from, to, folder)),
    readBlob: (blob, maxBytes) => noticed(readBlob(context, blob, maxBytes)),
    damaged: () => damaged,
    restart: () => {
      damaged = false;
      stop();
    },
    stop,
  };
}

async function hasCommit({ headers }: Context, commit: string): Promise<boolean> {
  const header = await headers.read(commit, 0);
  return header.found && header.type === 'commit';
}

async function isAncestor(context: Context, ancestor: string, descendant: string): Promise<boolean> {
  const here = (await hasCommit(context, ancestor)) && (await hasCommit(context, descendant));
  if (!here || ancestor === descendant) return here;
  const outcome = await runLocal(context, ['merge-base', '--is-ancestor', ancestor, descendant]);
  if (outcome.end === 'exited' && (outcome.code === 0 || outcome.code === 1)) return outcome.code === 0;
  throw gitCopyError(`walking the history failed: ${cleanMessage(outcome.errors, []) || outcome.end}`);
}

async function diff(
  context: Context,
  from: string | null,
  to: string,
  folder: string,
): Promise<readonly GitTreeChange[]> {
  if (!isObjectId(to) || (from !== null && !isObjectId(from))) throw new Error('not a commit id');
  const paths = folder === '' ? [] : ['--', folder];
  const args =
    from === null
      ? ['ls-tree', '-r', '-l', '-z', '--full-tree', to, ...paths]
      : ['diff-tree', '-r', '-z', '--raw', '--no-renames', from, to, ...paths];
  const outcome = await runLocal(context, args);
  if (outcome.end !== 'exited' || outcome.code !== 0) {
    throw gitCopyError(`listing the local copy failed: ${cleanMessage(outcome.errors, []) || outcome.end}`);
  }
  const listed = from === null ? parseTreeList(outcome.output) : parseTreeDiff(outcome.output);
  return Promise.all(belowFolder(listed, folder).map((entry) => withSize(context, entry)));
}

async function withSize({ headers }: Context, { path, entry }: ListedEntry): Promise<GitTreeChange> {
  if (entry === null) return { path, entry };
  if (entry.size !== undefined) return { path, entry: { ...entry, size: entry.size } };
  const header = await headers.read(entry.blob, 0);
  if (!header.found) throw gitCopyError(`the local copy lacks the object ${entry.blob}`);
  return { path, entry: { ...entry, size: header.size } };
}

async function readBlob({ contents }: Context, blob: string, maxBytes: number): Promise<GitBlobOutcome> {
  const object = await contents.read(blob, maxBytes);
  if (!object.found || object.type !== 'blob') return { type: 'missing' };
  if (object.bytes === undefined) return { type: 'oversized', size: object.size };
  return { type: 'read', bytes: object.bytes };
}

async function commitInfo({ contents }: Context, commit: string): Promise<GitCommitInfo> {
  const object = await contents.read(commit, MAX_COMMIT_BYTES);
  if (!object.found || object.bytes === undefined) throw gitCopyError(`the local copy lacks the commit ${commit}`);
  return parseCommit(object.bytes);
}

function runLocal({ git, repository }: Context, args: readonly string[]): Promise<ProcessOutcome> {
  return git.run({ args, repository, deadlineMs: LOCAL_DEADLINE_MS, maxOutputBytes: MAX_LISTING_BYTES });
}
