import type { Clock } from '../../ports/clock.ts';
import { type GitBlobOutcome, type GitRepo, type GitTreeChange, gitCopyError } from '../../ports/git-repo.ts';
import { cleanMessage } from './failures.ts';
import type { GitCommand } from './git-command.ts';
import { createObjectBatch, isObjectId } from './object-batch.ts';
import { belowFolder, type ListedEntry, parseCommit, parseTreeDiff, parseTreeList } from './parse-output.ts';

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
  const contents = batch('--batch');
  const headers = batch('--batch-check');
  let damaged = false;
  const noticed = async <Value>(reading: Promise<Value>): Promise<Value> => {
    try {
      return await reading;
    } catch (error) {
      damaged = true;
      throw error;
    }
  };
  const local = (args: readonly string[]) =>
    git.run({ args, repository, deadlineMs: LOCAL_DEADLINE_MS, maxOutputBytes: MAX_LISTING_BYTES });
  const list = async (args: readonly string[], parse: (output: Buffer) => readonly ListedEntry[], folder: string) => {
    const outcome = await local(args);
    if (outcome.end === 'exited' && outcome.code === 0) return belowFolder(parse(outcome.output), folder);
    throw gitCopyError(`listing the local copy failed: ${cleanMessage(outcome.errors, []) || outcome.end}`);
  };
  const withSize = async ({ path, entry }: ListedEntry): Promise<GitTreeChange> => {
    if (entry === null) return { path, entry };
    if (entry.size !== undefined) return { path, entry: { ...entry, size: entry.size } };
    const header = await headers.read(entry.blob, 0);
    if (!header.found) throw gitCopyError(`the local copy lacks the object ${entry.blob}`);
    return { path, entry: { ...entry, size: header.size } };
  };
  const hasCommit = async (commit: string): Promise<boolean> => {
    const header = await headers.read(commit, 0);
    return header.found && header.type === 'commit';
  };
  const isAncestor = async (ancestor: string, descendant: string): Promise<boolean> => {
    if (ancestor === descendant) return hasCommit(ancestor);
    if (!(await hasCommit(ancestor)) || !(await hasCommit(descendant))) return false;
    const outcome = await local(['merge-base', '--is-ancestor', ancestor, descendant]);
    if (outcome.end === 'exited' && outcome.code < 2 && outcome.code >= 0) return outcome.code === 0;
    throw gitCopyError(`walking the history failed: ${cleanMessage(outcome.errors, []) || outcome.end}`);
  };
  const diff = async (from: string | null, to: string, folder: string): Promise<readonly GitTreeChange[]> => {
    for (const id of [to, ...(from === null ? [] : [from])]) if (!isObjectId(id)) throw new Error('not a commit id');
    const paths = folder === '' ? [] : ['--', folder];
    const entries =
      from === null
        ? await list(['ls-tree', '-r', '-l', '-z', '--full-tree', to, ...paths], parseTreeList, folder)
        : await list(['diff-tree', '-r', '-z', '--raw', '--no-renames', from, to, ...paths], parseTreeDiff, folder);
    return Promise.all(entries.map(withSize));
  };
  const readBlob = async (blob: string, maxBytes: number): Promise<GitBlobOutcome> => {
    const object = await contents.read(blob, maxBytes);
    if (!object.found || object.type !== 'blob') return { type: 'missing' };
    if (object.bytes === undefined) return { type: 'oversized', size: object.size };
    return { type: 'read', bytes: object.bytes };
  };
  const commitInfo = async (commit: string) => {
    const object = await contents.read(commit, MAX_COMMIT_BYTES);
    if (!object.found || object.bytes === undefined) throw gitCopyError(`the local copy lacks the commit ${commit}`);
    return parseCommit(object.bytes);
  };
  const stop = (): void => {
    contents.stop();
    headers.stop();
  };
  return {
    hasCommit: (commit) => noticed(hasCommit(commit)),
    isAncestor: (ancestor, descendant) => noticed(isAncestor(ancestor, descendant)),
    commitInfo: (commit) => noticed(commitInfo(commit)),
    diff: (from, to, folder) => noticed(diff(from, to, folder)),
    readBlob: (blob, maxBytes) => noticed(readBlob(blob, maxBytes)),
    damaged: () => damaged,
    restart: () => {
      damaged = false;
      stop();
    },
    stop,
  };
}
