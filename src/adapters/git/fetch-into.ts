import type { Clock } from '../../ports/clock.ts';
import type { GitFailure, GitFetchOutcome } from '../../ports/git-repo.ts';
import { failed, failureOf } from './failures.ts';
import { folderSize } from './folder-size.ts';
import type { GitCommand, ProcessOutcome } from './git-command.ts';
import { isObjectId } from './git-objects.ts';
import { FETCHED_COMMIT, FETCHED_REF } from './local-copy.ts';
import type { AuthorizationHeader, Remote } from './remote.ts';

/** What a use of the remote needs. */
export interface FetchContext {
  readonly git: GitCommand;
  readonly clock: Clock;
  readonly remote: Remote;
  readonly authorization: AuthorizationHeader | undefined;
  readonly deadlineMs: number;
  /** A fetch is ended when the local copy is larger. */
  readonly maxCopyBytes: number;
  readonly signal: AbortSignal;
}

const LOCAL_DEADLINE_MS = 30_000;
/** Between two looks at the size of the copy, in milliseconds. */
const SIZE_INTERVAL_MS = 200;

/** Fetches `ref` (a full name or a commit), and ends git when the repository is larger than the limit. */
export async function fetchInto(
  context: FetchContext,
  ref: string,
  repository: string,
  deadlineMs: number,
): Promise<{ readonly outcome: ProcessOutcome; readonly isTooLarge: boolean }> {
  const { clock, maxCopyBytes, signal } = context;
  const growth = new AbortController();
  const ended = new AbortController();
  const isAbove = async (): Promise<boolean> => (await folderSize(repository)) > maxCopyBytes;
  const watch = async (): Promise<void> => {
    while (!ended.signal.aborted) {
      await clock.sleep(SIZE_INTERVAL_MS, ended.signal);
      if (!ended.signal.aborted && (await isAbove())) return growth.abort();
    }
  };
  const watching = watch();
  const either = AbortSignal.any([signal, growth.signal]);
  const outcome = await runFetch({ ...context, signal: either }, ref, repository, deadlineMs);
  ended.abort();
  await watching;
  return { outcome, isTooLarge: growth.signal.aborted || (outcome.succeeded && (await isAbove())) };
}

function runFetch(
  { git, remote, authorization, signal }: FetchContext,
  ref: string,
  repository: string,
  deadlineMs: number,
): Promise<ProcessOutcome> {
  const flags = ['--quiet', '--no-tags', '--no-recurse-submodules', '--no-write-fetch-head', '--force'];
  const args = ['fetch', ...flags, remote.url, `+${ref}:${FETCHED_REF}`];
  return git.run({ args, repository, deadlineMs, network: { authorization }, signal });
}

/** The commit that the last fetch into a repository has brought. */
export async function tipOf(git: GitCommand, repository: string): Promise<string | undefined> {
  const args = ['rev-parse', '--verify', '--quiet', FETCHED_COMMIT];
  const outcome = await git.run({ args, repository, deadlineMs: LOCAL_DEADLINE_MS });
  const commit = outcome.output.toString('latin1').trim();
  return outcome.succeeded && isObjectId(commit) ? commit : undefined;
}

/** Asks the remote for the tip of a ref alone: distinguishes an absent ref and a damaged copy from a broken remote. */
export async function probe(context: FetchContext, ref: string, what: string): Promise<GitFetchOutcome> {
  const { remote, authorization } = context;
  const outcome = await askRemote(context, ['--exit-code', '--refs', remote.url, ref]);
  if (outcome.code === 2) return isGitAnswer(remote, outcome) ? { type: 'absent' } : notGit(remote);
  const commit = outcome.output.toString('latin1').split('\t', 1)[0] ?? '';
  if (outcome.succeeded && isObjectId(commit)) return { type: 'fetched', commit };
  return failureOf(outcome, what, authorization?.secrets ?? []);
}

export function askRemote(context: FetchContext, args: readonly string[]): Promise<ProcessOutcome> {
  const { git, deadlineMs, authorization, signal } = context;
  return git.run({ args: ['ls-remote', ...args], deadlineMs, network: { authorization, tracePackets: true }, signal });
}

/** Git takes any page for a very old server without branches; only packets prove that a git server has answered. */
export function isGitAnswer(remote: Remote, outcome: ProcessOutcome): boolean {
  return remote.local || /packet: +\S+< /.test(outcome.errors);
}

export function notGit(remote: Remote): GitFailure {
  return failed(
    'Unreachable',
    `what answers at ${remote.url} is not a git server (a sign-in page or a proxy, perhaps)`,
  );
}

export function tooLarge(what: string, maxCopyBytes: number): GitFailure {
  return failed(
    'TooLarge',
    `${what} was ended: the local copy with its history would be larger than ${maxCopyBytes} bytes (limits.cloneBytes of the RelayConfig)`,
  );
}
