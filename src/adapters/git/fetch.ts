import { rename, rm } from 'node:fs/promises';
import type { GitFailure, GitFetchOutcome } from '../../ports/git-repo.ts';
import type { Log } from '../../ports/log.ts';
import type { CopyReader } from './copy-reader.ts';
import { failureOf, isBrokenConnection } from './failures.ts';
import { askRemote, type FetchContext, fetchInto, isGitAnswer, notGit, probe, tipOf, tooLarge } from './fetch-into.ts';
import type { ProcessOutcome } from './git-command.ts';
import { clearLeftovers, copyPath, copyPaths, initCopy, openCopy, packsOf, undoFetch } from './local-copy.ts';
import { parseBranch } from './remote.ts';

/** The name of the branch while it is not known. */
export const DEFAULT_BRANCH = 'the default branch';

const TIDY_DEADLINE_MS = 600_000;
/** Each fetch adds a pack or loose objects; `git gc` runs after this many fetches of a new tip. */
const FETCHES_BEFORE_TIDYING = 40;

export interface FetcherOptions {
  readonly reader: CopyReader;
  readonly log: Log;
  /** Undefined: the remote's default branch, which is looked up once. */
  readonly branch: string | undefined;
  /** The parent of the local copy; belongs to this process alone. */
  readonly directory: string;
  readonly cloneDeadlineMs: number;
  /** Called before the copy is replaced. */
  readonly replacing: () => Promise<void>;
}

interface Fetching extends FetcherOptions, FetchContext {
  readonly state: FetcherState;
}

interface FetcherState {
  branch: string | undefined;
  last: string | undefined;
  /** The failure of the last fetch that was too large, and the tip of the remote then. */
  tooLarge: { readonly tip: string | undefined; readonly failure: GitFailure } | undefined;
  /** A process may have been killed in the copy. */
  unclean: boolean;
  sinceTidying: number;
}

/** Fetches the branch into a local bare repository below `directory`, and replaces this copy if it is damaged. */
export function createFetcher(options: FetcherOptions) {
  const state: FetcherState = {
    branch: options.branch,
    last: undefined,
    tooLarge: undefined,
    unclean: true,
    sinceTidying: 0,
  };
  return {
    /** The branch; undefined until its name is known. */
    branch: () => state.branch,
    fetch: async (context: FetchContext): Promise<GitFetchOutcome> => {
      const fetching = { ...options, ...context, state };
      const problem = state.branch === undefined ? await findDefaultBranch(fetching) : undefined;
      if (problem !== undefined) return problem;
      const outcome = (await stillTooLarge(fetching)) ?? (await fetchBranch(fetching));
      if (outcome.type === 'fetched' && outcome.commit !== state.last) {
        state.last = outcome.commit;
        state.sinceTidying += 1;
        if (state.sinceTidying >= FETCHES_BEFORE_TIDYING) await tidy(fetching);
      }
      return outcome;
    },
  };
}

/** Sets the branch. The result is undefined, or the reason why the branch is not known. */
async function findDefaultBranch(fetching: Fetching): Promise<GitFetchOutcome | undefined> {
  const { remote, state } = fetching;
  const outcome = await askRemote(fetching, ['--symref', remote.url, 'HEAD']);
  if (!outcome.succeeded) return failureHere(fetching, outcome);
  if (!isGitAnswer(remote, outcome)) return notGit(remote);
  const name = /^ref: refs\/heads\/(\S+)\tHEAD$/m.exec(outcome.output.toString('utf8'))?.[1];
  const branch = name === undefined ? undefined : parseBranch(name);
  if (branch?.ok !== true) return { type: 'absent' };
  state.branch = branch.value;
  return undefined;
}

/** The failure of before if the remote has not changed since: another fetch would transfer the same objects again. */
async function stillTooLarge(fetching: Fetching): Promise<GitFetchOutcome | undefined> {
  const { tooLarge } = fetching.state;
  if (tooLarge?.tip === undefined) return undefined;
  const found = await probeBranch(fetching);
  if (found.type !== 'fetched') return found;
  if (found.commit === tooLarge.tip) return tooLarge.failure;
  fetching.state.tooLarge = undefined;
  return undefined;
}

/** Remembers that the branch needs too much disk, and removes the new copy of it. */
async function refuseTooLarge(fetching: Fetching, repository: string): Promise<GitFailure> {
  const { maxCopyBytes, state, reader } = fetching;
  reader.restart();
  await rm(repository, { recursive: true, force: true });
  const failure = tooLarge(whatOf(fetching), maxCopyBytes);
  const found = await probeBranch(fetching);
  state.tooLarge = { tip: found.type === 'fetched' ? found.commit : undefined, failure };
  return failure;
}

async function fetchBranch(fetching: Fetching): Promise<GitFetchOutcome> {
  const { git, reader, directory, deadlineMs, cloneDeadlineMs, state } = fetching;
  const path = copyPath(directory);
  const opened = await openCopy(git, directory);
  if (opened.type === 'failed') return opened;
  if (state.unclean) await clearLeftovers(path);
  state.unclean = true;
  if (!reader.damaged()) {
    const before = state.last ?? (opened.created ? undefined : await reader.fetched());
    const packs = await packsOf(path);
    const deadline = before === undefined ? cloneDeadlineMs : deadlineMs;
    const { outcome, isTooLarge } = await fetchInto(fetching, refOf(fetching), path, deadline);
    state.unclean = outcome.end !== 'exited';
    if (isTooLarge) {
      if (before === undefined) return refuseTooLarge(fetching, path);
      // A part of the copy may be history that the branch has left behind. What was transferred is removed first.
      await undoFetch(git, path, before, packs);
      const tip = await probeBranch(fetching);
      return tip.type === 'fetched' ? replaceCopy(fetching, tip.commit) : tip;
    }
    const commit = outcome.succeeded ? await reader.fetched() : undefined;
    if (commit !== undefined) return { type: 'fetched', commit };
    const failure = failureHere(fetching, outcome);
    if (state.unclean || isBrokenConnection(outcome.errors) || failure.reason === 'BadObjects') return failure;
  }
  const found = await probeBranch(fetching);
  return found.type === 'fetched' ? replaceCopy(fetching, found.commit) : found;
}

function refOf({ state }: Fetching): string {
  return `refs/heads/${state.branch}`;
}

function probeBranch(fetching: Fetching): Promise<GitFetchOutcome> {
  return probe(fetching, refOf(fetching), whatOf(fetching));
}

function whatOf({ remote, state }: Fetching): string {
  return `fetching ${state.branch ?? DEFAULT_BRANCH} from ${remote.url}`;
}

function failureHere(fetching: Fetching, outcome: ProcessOutcome): GitFailure {
  return failureOf(outcome, whatOf(fetching), fetching.authorization?.secrets ?? []);
}

async function tidy({ git, directory, signal, state }: Fetching): Promise<void> {
  state.sinceTidying = 0;
  const args = ['-c', 'gc.auto=1000', '-c', 'gc.autoDetach=false', 'gc', '--auto', '--quiet'];
  const repository = copyPath(directory);
  const outcome = await git.run({ args, repository, deadlineMs: TIDY_DEADLINE_MS, signal });
  state.unclean = outcome.end !== 'exited';
}

/** Fetches a new copy beside the old one, which stays until the new copy is complete. */
async function replaceCopy(fetching: Fetching, tip: string): Promise<GitFetchOutcome> {
  const { git, reader, remote, directory, cloneDeadlineMs, log, state, replacing } = fetching;
  const [path, fresh, old] = copyPaths(directory);
  const problem = await initCopy(git, fresh, tip.length === 64 ? 'sha256' : 'sha1');
  if (problem !== undefined) return problem;
  const { outcome, isTooLarge } = await fetchInto(fetching, refOf(fetching), fresh, cloneDeadlineMs);
  if (isTooLarge) return refuseTooLarge(fetching, fresh);
  const commit = outcome.succeeded ? await tipOf(git, fresh) : undefined;
  if (commit === undefined) return failureHere(fetching, outcome);
  reader.restart();
  await replacing();
  await rm(old, { recursive: true, force: true });
  await rename(path, old);
  await rename(fresh, path);
  await rm(old, { recursive: true, force: true });
  // A second time, because a read of the old copy may have begun in between.
  reader.restart();
  log.info('made a new local copy of a repository', { repository: remote.url, branch: state.branch });
  return { type: 'fetched', commit };
}
