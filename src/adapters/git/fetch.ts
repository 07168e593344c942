import type { GitFailure, GitFetchOutcome } from '../../ports/git-repo.ts';
import type { Log } from '../../ports/log.ts';
import type { CopyReader } from './copy-reader.ts';
import type { AuthorizationHeader } from './credentials.ts';
import { failureOf, isBrokenConnection } from './failures.ts';
import type { GitCommand } from './git-command.ts';
import type { LocalCopy } from './local-copy.ts';
import { isObjectId } from './object-batch.ts';
import { parseBranch, type Remote } from './remote.ts';
import type { ProcessOutcome } from './run-process.ts';

/** What the branch is called while its name is not known. */
export const DEFAULT_BRANCH = 'the default branch';

const FETCHED_REF = 'refs/fleetrelay/fetched';
const LOCAL_DEADLINE_MS = 30_000;
const TIDY_DEADLINE_MS = 600_000;
/** Each fetch adds a pack or loose objects; after this many that brought something, git may tidy up. */
const FETCHES_BEFORE_TIDYING = 40;

export interface FetcherOptions {
  readonly remote: Remote;
  /** Undefined: the remote's default branch, which is asked for once. */
  readonly branch: string | undefined;
  readonly deadlineMs: number;
  readonly cloneDeadlineMs: number;
}

export interface FetcherDeps {
  readonly git: GitCommand;
  readonly copy: LocalCopy;
  readonly reader: CopyReader;
  readonly log: Log;
}

interface Fetching extends FetcherDeps {
  readonly options: FetcherOptions;
  readonly authorization: AuthorizationHeader | undefined;
  readonly signal: AbortSignal;
  readonly state: FetcherState;
}

interface FetcherState {
  branch: string | undefined;
  last: string | undefined;
  /** A process may have been killed in the copy. */
  unclean: boolean;
  sinceTidying: number;
}

export interface Fetcher {
  /** The branch, as far as it is known. */
  branch(): string | undefined;
  fetch(authorization: AuthorizationHeader | undefined, signal: AbortSignal): Promise<GitFetchOutcome>;
}

/** Brings the branch into the local copy, and makes the copy anew when it is the copy that is broken. */
export function createFetcher(deps: FetcherDeps, options: FetcherOptions): Fetcher {
  const state: FetcherState = { branch: options.branch, last: undefined, unclean: true, sinceTidying: 0 };
  return {
    branch: () => state.branch,
    fetch: async (authorization, signal) => {
      const fetching = { ...deps, options, authorization, signal, state };
      const found = state.branch === undefined ? await findDefaultBranch(fetching) : undefined;
      if (found !== undefined) return found;
      const outcome = await fetchBranch(fetching);
      if (outcome.type === 'fetched' && outcome.commit !== state.last) {
        state.last = outcome.commit;
        state.sinceTidying += 1;
        if (state.sinceTidying >= FETCHES_BEFORE_TIDYING) await tidy(fetching);
      }
      return outcome;
    },
  };
}

/** Undefined: found. */
async function findDefaultBranch(fetching: Fetching): Promise<GitFetchOutcome | undefined> {
  const { git, options, authorization, signal, state } = fetching;
  const args = ['ls-remote', '--symref', options.remote.url, 'HEAD'];
  const network = { authorization, tracePackets: true };
  const outcome = await git.run({ args, deadlineMs: options.deadlineMs, network, signal });
  if (outcome.end !== 'exited' || outcome.code !== 0) return failureHere(fetching, outcome);
  if (!isGitAnswer(options.remote, outcome)) return notGit(options.remote);
  const name = /^ref: refs\/heads\/(\S+)\tHEAD$/m.exec(outcome.output.toString('utf8'))?.[1];
  const branch = name === undefined ? undefined : parseBranch(name);
  if (branch?.ok !== true) return { type: 'absent' };
  state.branch = branch.value;
  return undefined;
}

async function fetchBranch(fetching: Fetching): Promise<GitFetchOutcome> {
  const { copy, reader, options, state } = fetching;
  const opened = await copy.open();
  if (!opened.ok) return localTrouble(opened.problem);
  if (state.unclean) await copy.clearLeftovers();
  state.unclean = true;
  if (!reader.damaged()) {
    const isNew = opened.created || (state.last === undefined && (await tipOf(fetching, copy.path)) === undefined);
    const outcome = await fetchInto(fetching, copy.path, isNew ? options.cloneDeadlineMs : options.deadlineMs);
    const exited = outcome.end === 'exited';
    state.unclean = !exited;
    const commit = exited && outcome.code === 0 ? await tipOf(fetching, copy.path) : undefined;
    if (commit !== undefined) return { type: 'fetched', commit };
    const failure = failureHere(fetching, outcome);
    if (!exited || isBrokenConnection(outcome.errors) || failure.reason === 'BadObjects') return failure;
  }
  const found = await probe(fetching);
  return found.type === 'there' ? remake(fetching, found.commit) : found;
}

async function fetchInto(fetching: Fetching, repository: string, deadlineMs: number): Promise<ProcessOutcome> {
  const { git, options, authorization, signal, state } = fetching;
  const flags = ['--quiet', '--no-tags', '--no-recurse-submodules', '--no-write-fetch-head', '--force'];
  const refspec = `+refs/heads/${state.branch}:${FETCHED_REF}`;
  const args = ['fetch', ...flags, options.remote.url, refspec];
  return git.run({ args, repository, deadlineMs, network: { authorization }, signal });
}

async function tipOf({ git }: Fetching, repository: string): Promise<string | undefined> {
  const args = ['rev-parse', '--verify', '--quiet', `${FETCHED_REF}^{commit}`];
  const outcome = await git.run({ args, repository, deadlineMs: LOCAL_DEADLINE_MS });
  const commit = outcome.output.toString('latin1').trim();
  return outcome.end === 'exited' && outcome.code === 0 && isObjectId(commit) ? commit : undefined;
}

/** Asks the remote about the branch alone: tells an absent branch and a broken copy from a broken remote. */
async function probe(
  fetching: Fetching,
): Promise<{ readonly type: 'there'; readonly commit: string } | { readonly type: 'absent' } | GitFailure> {
  const { git, options, authorization, signal, state } = fetching;
  const args = ['ls-remote', '--exit-code', '--refs', options.remote.url, `refs/heads/${state.branch}`];
  const network = { authorization, tracePackets: true };
  const outcome = await git.run({ args, deadlineMs: options.deadlineMs, network, signal });
  if (outcome.end === 'exited' && outcome.code === 2) {
    return isGitAnswer(options.remote, outcome) ? { type: 'absent' } : notGit(options.remote);
  }
  const commit = outcome.output.toString('latin1').split('\t', 1)[0] ?? '';
  if (outcome.end === 'exited' && outcome.code === 0 && isObjectId(commit)) return { type: 'there', commit };
  return failureHere(fetching, outcome);
}

/** Git takes any page for a very old server without branches; only packets show that a git server has answered. */
function isGitAnswer(remote: Remote, outcome: ProcessOutcome): boolean {
  return remote.local || /packet: +\S+< /.test(outcome.errors);
}

function notGit(remote: Remote): GitFailure {
  const message = `what answers at ${remote.url} is not a git server (a sign-in page or a proxy, perhaps)`;
  return { type: 'failed', reason: 'Unreachable', message };
}

/** A whole new copy beside the old one, which stays until the new one is complete. */
async function remake(fetching: Fetching, tip: string): Promise<GitFetchOutcome> {
  const { copy, reader, options, log, state } = fetching;
  const fresh = await copy.prepare(tip.length === 64 ? 'sha256' : 'sha1');
  if ('problem' in fresh) return localTrouble(fresh.problem);
  const outcome = await fetchInto(fetching, fresh.path, options.cloneDeadlineMs);
  const commit = outcome.end === 'exited' && outcome.code === 0 ? await tipOf(fetching, fresh.path) : undefined;
  if (commit === undefined) return failureHere(fetching, outcome);
  reader.restart();
  await copy.replaceBy(fresh.path);
  // Once more: somebody may have read from the old one meanwhile.
  reader.restart();
  log.info('made a new local copy of a repository', { repository: options.remote.url, branch: state.branch });
  return { type: 'fetched', commit };
}

async function tidy({ git, copy, signal, state }: Fetching): Promise<void> {
  state.sinceTidying = 0;
  const args = ['-c', 'gc.auto=1000', '-c', 'gc.autoDetach=false', 'gc', '--auto', '--quiet'];
  const outcome = await git.run({ args, repository: copy.path, deadlineMs: TIDY_DEADLINE_MS, signal });
  state.unclean = outcome.end !== 'exited';
}

function failureHere({ options, authorization, state }: Fetching, outcome: ProcessOutcome): GitFailure {
  return failureOf(
    outcome,
    `fetching ${state.branch ?? DEFAULT_BRANCH} from ${options.remote.url}`,
    authorization?.secrets ?? [],
  );
}

function localTrouble(problem: string): GitFailure {
  return { type: 'failed', reason: 'LocalTrouble', message: `the local copy cannot be made: ${problem}` };
}
