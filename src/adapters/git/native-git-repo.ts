import { tmpdir } from 'node:os';
import { DEFAULT_CLONE_BYTES } from '../../model/limits/revision-limits.ts';
import { errorText } from '../../model/text/messages.ts';
import { createTurns } from '../../model/values/in-turn.ts';
import { ok, problem, type Result } from '../../model/values/result.ts';
import type { Clock } from '../../ports/clock.ts';
import type { GitFailure, GitFetchOutcome, GitPublishOutcome, GitRepo } from '../../ports/git-repo.ts';
import type { Log } from '../../ports/log.ts';
import { makeFolders } from '../disk/folders.ts';
import { createCopyReader } from './copy-reader.ts';
import { failed } from './failures.ts';
import { createFetcher, DEFAULT_BRANCH } from './fetch.ts';
import type { FetchContext } from './fetch-into.ts';
import { createRefFetcher } from './fetch-ref.ts';
import { createGitCommand, type GitCommand, type ProcessOutcome, runProgram } from './git-command.ts';
import { copyPath, OTHER_OBJECTS, openCopy } from './local-copy.ts';
import { publishCommit } from './publish.ts';
import {
  type AuthorizationHeader,
  authorizationHeader,
  type Environment,
  parseBranch,
  parseRemote,
  type Remote,
} from './remote.ts';
import type { GitRepoOptions } from './repo-options.ts';
import { sshCommand, sshFilesProblem, withKey } from './ssh.ts';

interface Deps {
  readonly clock: Clock;
  readonly log: Log;
  /** The environment of this process: git gets its proxy and certificate variables. */
  readonly environment: Environment;
}

const MIN_VERSION = [2, 31] as const;
/** The oldest git program that is used. */
export const GIT_VERSION = MIN_VERSION.join('.');
const VERSION_DEADLINE_MS = 10_000;

/** Creates a {@link GitRepo} that runs the `git` of this machine (2.31 or newer). A problem if an option is invalid. */
export function createNativeGitRepo(deps: Deps, options: GitRepoOptions): Result<GitRepo> {
  const remote = parseRemote(options.remote);
  if (!remote.ok) return remote;
  if (remote.value.ssh && options.ssh === undefined) {
    return problem('an SSH address needs a key and known hosts (ssh.keyFile and ssh.knownHostsFile)');
  }
  const branch = options.branch === undefined ? ok(undefined) : parseBranch(options.branch);
  if (!branch.ok) return branch;
  if (options.credentials !== undefined && !remote.value.secure) {
    deps.log.warn('credentials travel unencrypted to this repository', { repository: remote.value.url });
  }
  return ok(assemble(deps, options, remote.value, branch.value));
}

function assemble(deps: Deps, options: GitRepoOptions, remote: Remote, branch: string | undefined): GitRepo {
  const { clock, log, environment } = deps;
  const { directory, caFile, ssh, deadlineSeconds = 60, cloneDeadlineSeconds = 900 } = options;
  const { maxCopyBytes = DEFAULT_CLONE_BYTES } = options;
  const git = createGitCommand(
    { clock, environment },
    { directory, remote, caFile, sshCommand: ssh && sshCommand(ssh) },
  );
  const repository = copyPath(directory);
  const deadlineMs = deadlineSeconds * 1000;
  const closing = new AbortController();
  // A read after the end fails, and starts no process.
  const readGit: GitCommand = { ...git, run: (call) => git.run({ ...call, signal: closing.signal }) };
  const { signers } = options;
  const reader = createCopyReader(readGit, clock, repository, { signers, otherObjects: OTHER_OBJECTS });
  const cloneDeadlineMs = cloneDeadlineSeconds * 1000;
  const refs = createRefFetcher({ reader, directory, cloneDeadlineMs });
  const fetcher = createFetcher({ reader, log, branch, directory, cloneDeadlineMs, replacing: refs.discard });
  const inTurn = createTurns();
  const prepare = createPreparation(git, options, remote);
  /** Runs a step that uses the remote, after the steps before it. */
  const withRemote = <Outcome extends GitFetchOutcome | GitPublishOutcome>(
    signal: AbortSignal | undefined,
    step: (context: FetchContext) => Promise<Outcome>,
  ): Promise<Outcome | GitFailure> =>
    inTurn(() =>
      guarded(async () => {
        if (closing.signal.aborted) return failed('Stopped', `the use of ${remote.url} was stopped`);
        const ready = await prepare();
        const either = signal === undefined ? closing.signal : AbortSignal.any([signal, closing.signal]);
        if ('type' in ready) return ready;
        const { authorization } = ready;
        const outcome = await step({ git, clock, remote, authorization, deadlineMs, maxCopyBytes, signal: either });
        return ssh !== undefined && outcome.type === 'failed' ? withKey(outcome, ssh, environment) : outcome;
      }),
    );
  return {
    address: remote.url,
    get branch() {
      return fetcher.branch() ?? DEFAULT_BRANCH;
    },
    fetch: (signal) => withRemote(signal, fetcher.fetch),
    fetchRef: (ref, signal) => withRemote(signal, (context) => refs.fetch(context, ref)),
    ...reader.reading,
    publish: (request, signal) =>
      withRemote(signal, async (context) => {
        const name = fetcher.branch();
        if (name === undefined) return failed('LocalFailure', 'the branch is not known before the first fetch');
        const opened = await openCopy(git, directory);
        if (opened.type === 'failed') return opened;
        return publishCommit({ ...context, repository, branch: name }, request);
      }),
    close: async () => {
      closing.abort();
      reader.stop();
      await inTurn(async () => undefined);
    },
  };
}

/** Returns a step before each use of the remote: checks the version of git once, and reads the credentials each time. */
function createPreparation(
  git: GitCommand,
  { directory, credentials, ssh }: GitRepoOptions,
  remote: Remote,
): () => Promise<{ readonly authorization: AuthorizationHeader | undefined } | GitFailure> {
  let isChecked = false;
  return async () => {
    if (!isChecked) {
      await makeFolders(directory, { mode: 0o700 });
      const reason = await versionProblem(git);
      if (reason !== undefined) return failed('LocalFailure', reason);
      isChecked = true;
    }
    const refused = ssh && (await sshFilesProblem(ssh));
    if (refused !== undefined) return refused;
    if (credentials === undefined || remote.local) return { authorization: undefined };
    const header = await credentials().then(authorizationHeader, (error: unknown) => problem(errorText(error)));
    return header.ok ? { authorization: header.value } : failed('Unauthorized', header.problem);
  };
}

/** Turns errors of the local copy and of system calls into failures; other errors are defects and reject. */
async function guarded<Outcome>(step: () => Promise<Outcome>): Promise<Outcome | GitFailure> {
  try {
    return await step();
  } catch (error) {
    if (error instanceof Error && (error.name === 'GitCopyError' || 'syscall' in error)) {
      return failed('LocalFailure', error.message);
    }
    throw error;
  }
}

async function versionProblem(git: GitCommand): Promise<string | undefined> {
  const version = versionIn(await git.run({ args: ['version'], deadlineMs: VERSION_DEADLINE_MS }));
  if (version === undefined)
    return `git could not be started; install git ${GIT_VERSION} or newer and put it on the PATH`;
  return isUsable(version) ? undefined : `git ${version.join('.')} is too old; install git ${GIT_VERSION} or newer`;
}

/** The git program of this machine; undefined: there is none on the PATH. */
export async function installedGit(
  deps: Pick<Deps, 'clock' | 'environment'>,
): Promise<{ readonly version: string; readonly isUsable: boolean } | undefined> {
  const call = { program: 'git', args: ['version'], directory: tmpdir(), deadlineMs: VERSION_DEADLINE_MS };
  const version = versionIn(await runProgram(deps, call));
  return version && { version: version.join('.'), isUsable: isUsable(version) };
}

type Version = readonly [major: number, minor: number];

function versionIn({ end, output }: ProcessOutcome): Version | undefined {
  const [, major = '', minor = ''] = /(\d+)\.(\d+)/.exec(output.toString('latin1')) ?? [];
  return end === 'exited' && major !== '' ? [Number(major), Number(minor)] : undefined;
}

function isUsable([major, minor]: Version): boolean {
  return major > MIN_VERSION[0] || (major === MIN_VERSION[0] && minor >= MIN_VERSION[1]);
}
