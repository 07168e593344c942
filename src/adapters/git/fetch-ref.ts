import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { GitFailure, GitFetchOutcome } from '../../ports/git-repo.ts';
import { makeFolders } from '../disk/folders.ts';
import type { CopyReader } from './copy-reader.ts';
import { failureOf } from './failures.ts';
import { type FetchContext, fetchInto, probe, tipOf, tooLarge } from './fetch-into.ts';
import type { GitCommand } from './git-command.ts';
import { isObjectId } from './git-objects.ts';
import { initCopy, OTHER_OBJECTS, openCopy, otherPath } from './local-copy.ts';
import { parseRef } from './remote.ts';

export interface RefFetcherOptions {
  readonly reader: CopyReader;
  /** The parent of the local copy. */
  readonly directory: string;
  readonly cloneDeadlineMs: number;
}

/** The answer of a server that does not have, or does not serve, the commit that it was asked for. */
const NOT_SERVED = /not our ref|unadvertised object/i;
/** Where git finds the objects of the copy, from the objects of the repository. */
const BORROWED = '../../copy.git/objects\n';
const NO_REF = /couldn't find remote ref/i;

/**
 * Fetches one other ref at a time into a repository beside the local copy, which borrows the objects of the copy. So a pull request
 * can neither damage the copy nor make it grow, and nothing is left of it when the next ref is fetched.
 */
export function createRefFetcher({ reader, directory, cloneDeadlineMs }: RefFetcherOptions) {
  const path = otherPath(directory);
  /** The ref in the repository. */
  let last: string | undefined;
  const discard = async (): Promise<void> => {
    last = undefined;
    await rm(path, { recursive: true, force: true });
    await makeFolders(join(directory, OTHER_OBJECTS));
  };
  /** Makes the repository for a ref, whose first commits are to come after `tip`. */
  const open = async (git: GitCommand, ref: string, tip: string | undefined): Promise<GitFailure | undefined> => {
    if (last === ref && existsSync(join(path, 'HEAD'))) return undefined;
    last = undefined;
    const problem = await initCopy(git, path, tip?.length === 64 ? 'sha256' : 'sha1');
    if (problem === undefined) await writeFile(join(path, 'objects', 'info', 'alternates'), BORROWED);
    return problem;
  };
  const fetch = async (context: FetchContext, ref: string): Promise<GitFetchOutcome> => {
    const { git, remote, authorization, deadlineMs, maxCopyBytes } = context;
    const copy = await openCopy(git, directory);
    if (copy.type === 'failed') return copy;
    if (await reader.reading.hasCommit(ref)) return { type: 'fetched', commit: ref };
    const tip = await reader.fetched();
    const problem = await open(git, ref, tip);
    if (problem !== undefined) return problem;
    const what = `fetching ${ref} from ${remote.url}`;
    const deadline = tip === undefined ? cloneDeadlineMs : deadlineMs;
    const { outcome, isTooLarge } = await fetchInto(context, ref, path, deadline);
    const commit = outcome.succeeded && !isTooLarge ? await tipOf(git, path) : undefined;
    if (commit !== undefined) {
      last = ref;
      if (!(await reader.reading.hasCommit(commit))) reader.restart();
      return { type: 'fetched', commit };
    }
    await discard();
    if (isTooLarge) return tooLarge(what, maxCopyBytes);
    // A ref that names no commit has none to fetch.
    if (outcome.succeeded || (isObjectId(ref) && NOT_SERVED.test(outcome.errors))) return { type: 'absent' };
    const found = NO_REF.test(outcome.errors) ? await probe(context, ref, what) : undefined;
    return found === undefined || found.type === 'fetched'
      ? failureOf(outcome, what, authorization?.secrets ?? [])
      : found;
  };
  return {
    /** Removes what was fetched, because the copy whose objects it borrows is replaced. */
    discard,
    fetch: async (context: FetchContext, name: string): Promise<GitFetchOutcome> => {
      const ref = parseRef(name);
      // No repository has a ref of such a name.
      return ref.ok ? fetch(context, ref.value) : { type: 'absent' };
    },
  };
}
