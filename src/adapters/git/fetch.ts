import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../ports/clock.ts';
import type { GitFailure, GitFetchOutcome } from '../../ports/git-repo.ts';
import type { Log } from '../../ports/log.ts';
import { type CopyReader, isObjectId } from './copy-reader.ts';
import { failed, failureOf, isBrokenConnection } from './failures.ts';
import { folderSize } from './folder-size.ts';
import type { GitCommand, ProcessOutcome } from './git-command.ts';
import { type AuthorizationHeader, parseBranch, type Remote } from './remote.ts';

/** The name of the branch while it is not known. */
export const DEFAULT_BRANCH = 'the default branch';

const FETCHED_REF = 'refs/fleetrelay/fetched';
const LOCAL_DEADLINE_MS = 30_000;
const TIDY_DEADLINE_MS = 600_000;
/** Each fetch adds a pack or loose objects; `git gc` runs after this many fetches of a new tip. */
const FETCHES_BEFORE_TIDYING = 40;
const LOCKS = ['HEAD.lock', 'config.lock', 'packed-refs.lock', 'shallow.lock', 'gc.pid', 'gc.pid.lock'];

export interface FetcherOptions {
  readonly git: GitCommand;
  readonly reader: CopyReader;
  readonly log: Log;
  readonly remote: Remote;
  /** Undefined: the remote's default branch, which is looked up once. */
  readonly branch: string | undefined;
  /** The parent of the local copy; belongs to this process alone. */
  readonly directory: string;
  readonly deadlineMs: number;
  readonly cloneDeadlineMs: number;
  /** A fetch is ended when the local copy is larger. */
  readonly maxCopyBytes: number;
  readonly clock: Clock;
}

interface Fetching extends FetcherOptions {
  readonly authorization: AuthorizationHeader | undefined;
  readonly signal: AbortSignal;
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

/** The path of the local copy (GIT_DIR). */
export function copyPath(directory: string): string {
  return join(directory, 'copy.git');
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
    /** Creates the local copy if it does not exist. */
    open: () => openCopy(options.git, options.directory),
    fetch: async (authorization: AuthorizationHeader | undefined, signal: AbortSignal): Promise<GitFetchOutcome> => {
      const fetching = { ...options, authorization, signal, state };
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
  const found = await probe(fetching);
  if (found.type !== 'fetched') return found;
  if (found.commit === tooLarge.tip) return tooLarge.failure;
  fetching.state.tooLarge = undefined;
  return undefined;
}

/** Remembers that the branch needs too much disk, and removes what was transferred of it. */
async function refuseTooLarge(fetching: Fetching, repository: string, isNew: boolean): Promise<GitFailure> {
  const { remote, maxCopyBytes, state, reader } = fetching;
  if (isNew) {
    reader.restart();
    await rm(repository, { recursive: true, force: true });
  } else await clearLeftovers(repository);
  const what = `fetching ${state.branch ?? DEFAULT_BRANCH} from ${remote.url}`;
  const message = `${what} was ended: the local copy with its history would be larger than ${maxCopyBytes} bytes (limits.cloneBytes of the RelayConfig)`;
  const failure = failed('TooLarge', message);
  const found = await probe(fetching);
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
    const isNew = opened.created || (state.last === undefined && (await tipOf(fetching, path)) === undefined);
    const { outcome, isTooLarge } = await fetchInto(fetching, path, isNew ? cloneDeadlineMs : deadlineMs);
    state.unclean = outcome.end !== 'exited';
    if (isTooLarge && isNew) return refuseTooLarge(fetching, path, true);
    if (isTooLarge) {
      // A part of the copy may be history that the branch has left behind. What is transferred is removed first.
      await clearLeftovers(path);
      const tip = await probe(fetching);
      return tip.type === 'fetched' ? replaceCopy(fetching, tip.commit) : tip;
    }
    const commit = outcome.succeeded ? await tipOf(fetching, path) : undefined;
    if (commit !== undefined) return { type: 'fetched', commit };
    const failure = failureHere(fetching, outcome);
    if (state.unclean || isBrokenConnection(outcome.errors) || failure.reason === 'BadObjects') return failure;
  }
  const found = await probe(fetching);
  return found.type === 'fetched' ? replaceCopy(fetching, found.commit) : found;
}

/** Between two looks at the size of the copy, in milliseconds. */
const SIZE_INTERVAL_MS = 200;

/** Fetches, and ends git when the repository is larger than the limit. */
async function fetchInto(
  fetching: Fetching,
  repository: string,
  deadlineMs: number,
): Promise<{ readonly outcome: ProcessOutcome; readonly isTooLarge: boolean }> {
  const { clock, maxCopyBytes, signal } = fetching;
  const ending = new AbortController();
  let hasEnded = false;
  const isAbove = async (): Promise<boolean> => (await folderSize(repository)) > maxCopyBytes;
  const watch = async (): Promise<void> => {
    while (!hasEnded && !ending.signal.aborted) {
      if (await isAbove()) ending.abort();
      else await clock.sleep(SIZE_INTERVAL_MS, signal);
      if (signal.aborted) return;
    }
  };
  const watching = watch();
  const outcome = await runFetch(
    { ...fetching, signal: AbortSignal.any([signal, ending.signal]) },
    repository,
    deadlineMs,
  );
  hasEnded = true;
  const isTooLarge = ending.signal.aborted || (outcome.succeeded && (await isAbove()));
  await watching;
  return { outcome, isTooLarge };
}

function runFetch(fetching: Fetching, repository: string, deadlineMs: number): Promise<ProcessOutcome> {
  const { git, remote, authorization, signal, state } = fetching;
  const flags = ['--quiet', '--no-tags', '--no-recurse-submodules', '--no-write-fetch-head', '--force'];
  const refspec = `+refs/heads/${state.branch}:${FETCHED_REF}`;
  const args = ['fetch', ...flags, remote.url, refspec];
  return git.run({ args, repository, deadlineMs, network: { authorization }, signal });
}

async function tipOf({ git }: Fetching, repository: string): Promise<string | undefined> {
  const args = ['rev-parse', '--verify', '--quiet', `${FETCHED_REF}^{commit}`];
  const outcome = await git.run({ args, repository, deadlineMs: LOCAL_DEADLINE_MS });
  const commit = outcome.output.toString('latin1').trim();
  return outcome.succeeded && isObjectId(commit) ? commit : undefined;
}

/** Asks the remote for the tip alone: distinguishes an absent branch and a damaged copy from a broken remote. */
async function probe(fetching: Fetching): Promise<GitFetchOutcome> {
  const { remote, state } = fetching;
  const branch = `refs/heads/${state.branch}`;
  const outcome = await askRemote(fetching, ['--exit-code', '--refs', remote.url, branch]);
  if (outcome.code === 2) return isGitAnswer(remote, outcome) ? { type: 'absent' } : notGit(remote);
  const commit = outcome.output.toString('latin1').split('\t', 1)[0] ?? '';
  return outcome.succeeded && isObjectId(commit) ? { type: 'fetched', commit } : failureHere(fetching, outcome);
}

function askRemote(fetching: Fetching, args: readonly string[]): Promise<ProcessOutcome> {
  const { git, deadlineMs, authorization, signal } = fetching;
  return git.run({ args: ['ls-remote', ...args], deadlineMs, network: { authorization, tracePackets: true }, signal });
}

/** Git takes any page for a very old server without branches; only packets prove that a git server has answered. */
function isGitAnswer(remote: Remote, outcome: ProcessOutcome): boolean {
  return remote.local || /packet: +\S+< /.test(outcome.errors);
}

function notGit(remote: Remote): GitFailure {
  return failed(
    'Unreachable',
    `what answers at ${remote.url} is not a git server (a sign-in page or a proxy, perhaps)`,
  );
}

function failureHere({ remote, authorization, state }: Fetching, outcome: ProcessOutcome): GitFailure {
  const what = `fetching ${state.branch ?? DEFAULT_BRANCH} from ${remote.url}`;
  return failureOf(outcome, what, authorization?.secrets ?? []);
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
  const { git, reader, remote, directory, cloneDeadlineMs, log, state } = fetching;
  const [path, fresh, old] = copyPaths(directory);
  const problem = await initCopy(git, fresh, tip.length === 64 ? 'sha256' : 'sha1');
  if (problem !== undefined) return problem;
  const { outcome, isTooLarge } = await fetchInto(fetching, fresh, cloneDeadlineMs);
  if (isTooLarge) return refuseTooLarge(fetching, fresh, true);
  const commit = outcome.succeeded ? await tipOf(fetching, fresh) : undefined;
  if (commit === undefined) return failureHere(fetching, outcome);
  reader.restart();
  await rm(old, { recursive: true, force: true });
  await rename(path, old);
  await rename(fresh, path);
  await rm(old, { recursive: true, force: true });
  // A second time, because a read of the old copy may have begun in between.
  reader.restart();
  log.info('made a new local copy of a repository', { repository: remote.url, branch: state.branch });
  return { type: 'fetched', commit };
}

/** Paths of the copy, of its replacement, and of the copy that is being replaced. */
function copyPaths(directory: string): readonly [string, string, string] {
  return [copyPath(directory), join(directory, 'copy.new.git'), join(directory, 'copy.old.git')];
}

async function openCopy(
  git: GitCommand,
  directory: string,
): Promise<{ readonly type: 'open'; readonly created: boolean } | GitFailure> {
  const [path, fresh, old] = copyPaths(directory);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await rm(fresh, { recursive: true, force: true });
  // The process ended between the two renames of a replacement: the old copy is valid.
  if (!existsSync(path) && existsSync(old)) await rename(old, path);
  await rm(old, { recursive: true, force: true });
  if (existsSync(join(path, 'HEAD'))) return { type: 'open', created: false };
  return (await initCopy(git, path, 'sha1')) ?? { type: 'open', created: true };
}

async function initCopy(git: GitCommand, path: string, format: 'sha1' | 'sha256'): Promise<GitFailure | undefined> {
  await rm(path, { recursive: true, force: true });
  const args = ['init', '--quiet', '--bare', '--template=', `--object-format=${format}`, path];
  const outcome = await git.run({ args, deadlineMs: LOCAL_DEADLINE_MS });
  if (outcome.succeeded) return undefined;
  return failed('LocalFailure', `the local copy cannot be made: ${outcome.errors.trim() || outcome.end}`);
}

/** Removes the lock files and incomplete packs of killed processes. */
async function clearLeftovers(path: string): Promise<void> {
  for (const lock of LOCKS) await rm(join(path, lock), { force: true });
  await removeMatching(join(path, 'refs', 'fleetrelay'), /\.lock$/);
  await removeMatching(join(path, 'objects', 'pack'), /^(tmp_|\.tmp-)|\.lock$/);
  const folders = await readdir(join(path, 'objects')).catch(() => []);
  for (const folder of folders.filter((name) => /^[0-9a-f]{2}$/.test(name))) {
    await removeMatching(join(path, 'objects', folder), /^tmp_obj_/);
  }
}

async function removeMatching(folder: string, pattern: RegExp): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) if (pattern.test(name)) await rm(join(folder, name), { force: true });
}
