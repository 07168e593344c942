import { mkdir } from 'node:fs/promises';
import { createTurns } from '../../model/in-turn.ts';
import { ok, type Result } from '../../model/result.ts';
import type { Clock } from '../../ports/clock.ts';
import type { GitFailure, GitRepo } from '../../ports/git-repo.ts';
import type { Log } from '../../ports/log.ts';
import { createCopyReader } from './copy-reader.ts';
import { type AuthorizationHeader, authorizationHeader, type GitCredentials } from './credentials.ts';
import { createFetcher, DEFAULT_BRANCH } from './fetch.ts';
import { createGitCommand, type Environment, type GitCommand } from './git-command.ts';
import { createLocalCopy } from './local-copy.ts';
import { publishCommit } from './publish.ts';
import { parseBranch, parseRemote, type Remote } from './remote.ts';

/** What a native git repository is made of. */
export interface NativeGitOptions {
  /** `https://`, `http://`, `file://` or a path; without credentials. */
  readonly remote: string;
  /** The remote's default branch unless set. */
  readonly branch?: string;
  /** For the local copy; belongs to this object alone. Made if it is not there. */
  readonly directory: string;
  readonly credentials?: GitCredentials;
  /** Certificates (PEM) to trust instead of the machine's. */
  readonly caFile?: string;
  /** For each call over the network; 60 unless set. */
  readonly deadlineSeconds?: number;
  /** For the first fetch, which brings the whole history; 900 unless set. */
  readonly cloneDeadlineSeconds?: number;
}

const MIN_VERSION = [2, 31] as const;

/**
 * A {@link GitRepo} by the machine's own `git` (2.31 or newer). A problem if an option is wrong. `environment`: of this
 * process; credentials are looked up in it, and the variables that name a proxy or certificates are handed on.
 */
export function createNativeGitRepo(
  deps: { readonly clock: Clock; readonly log: Log; readonly environment: Environment },
  options: NativeGitOptions,
): Result<GitRepo> {
  const remote = parseRemote(options.remote);
  if (!remote.ok) return remote;
  const branch = options.branch === undefined ? ok(undefined) : parseBranch(options.branch);
  if (!branch.ok) return branch;
  if (options.credentials !== undefined && !remote.value.secure) {
    deps.log.warn('credentials travel unencrypted to this repository', { repository: remote.value.url });
  }
  return ok(assemble(deps, options, remote.value, branch.value));
}

function assemble(
  deps: { readonly clock: Clock; readonly log: Log; readonly environment: Environment },
  options: NativeGitOptions,
  remote: Remote,
  branch: string | undefined,
): GitRepo {
  const { clock, log, environment } = deps;
  const git = createGitCommand(
    { clock, environment },
    { directory: options.directory, remote, caFile: options.caFile },
  );
  const deadlineMs = (options.deadlineSeconds ?? 60) * 1000;
  const cloneDeadlineMs = (options.cloneDeadlineSeconds ?? 900) * 1000;
  const copy = createLocalCopy(git, options.directory);
  const reader = createCopyReader({ git, clock, repository: copy.path });
  const closing = new AbortController();
  const inTurn = createTurns();
  const fetcher = createFetcher({ git, copy, reader, log }, { remote, branch, deadlineMs, cloneDeadlineMs });
  const prepare = createPreparation({ git, environment }, options, remote);
  const either = (signal: AbortSignal | undefined): AbortSignal =>
    signal === undefined ? closing.signal : AbortSignal.any([signal, closing.signal]);
  return {
    address: remote.url,
    get branch() {
      return fetcher.branch() ?? DEFAULT_BRANCH;
    },
    fetch: (signal) =>
      inTurn(() =>
        guarded(async () => {
          const ready = await prepare();
          return 'type' in ready ? ready : await fetcher.fetch(ready.authorization, either(signal));
        }),
      ),
    hasCommit: reader.hasCommit,
    isAncestor: reader.isAncestor,
    commitInfo: reader.commitInfo,
    diff: reader.diff,
    readBlob: reader.readBlob,
    publish: (request, signal) =>
      inTurn(() =>
        guarded(async () => {
          const ready = await prepare();
          if ('type' in ready) return ready;
          const branchName = fetcher.branch();
          if (branchName === undefined) return failed('LocalTrouble', 'the branch is not known before the first fetch');
          const opened = await copy.open();
          if (!opened.ok) return failed('LocalTrouble', `the local copy cannot be made: ${opened.problem}`);
          const { authorization } = ready;
          const context = {
            git,
            repository: copy.path,
            remote,
            branch: branchName,
            authorization,
            deadlineMs,
            signal: either(signal),
          };
          return await publishCommit(context, request);
        }),
      ),
    close: async () => {
      closing.abort();
      reader.stop();
      await inTurn(async () => undefined);
      reader.stop();
    },
  };
}

/** What each use of the remote needs: once a git that is new enough, and the credentials as they are now. */
function createPreparation(
  deps: { readonly git: GitCommand; readonly environment: Environment },
  options: NativeGitOptions,
  remote: Remote,
): () => Promise<{ readonly authorization: AuthorizationHeader | undefined } | GitFailure> {
  let checked = false;
  return async () => {
    if (!checked) {
      await mkdir(options.directory, { recursive: true, mode: 0o700 });
      const trouble = await versionTrouble(deps.git);
      if (trouble !== undefined) return trouble;
      checked = true;
    }
    if (options.credentials === undefined || remote.local) return { authorization: undefined };
    const header = await authorizationHeader(options.credentials, deps.environment);
    return header.ok ? { authorization: header.value } : failed('Unauthorized', header.problem);
  };
}

function failed(reason: GitFailure['reason'], message: string): GitFailure {
  return { type: 'failed', reason, message };
}

/** Trouble with this machine's files is a failure like any other; a programming error is not. */
async function guarded<Outcome>(step: () => Promise<Outcome>): Promise<Outcome | GitFailure> {
  try {
    return await step();
  } catch (error) {
    if (error instanceof Error && (error.name === 'GitCopyError' || 'syscall' in error)) {
      return failed('LocalTrouble', error.message);
    }
    throw error;
  }
}

async function versionTrouble(git: GitCommand): Promise<GitFailure | undefined> {
  const outcome = await git.run({ args: ['version'], deadlineMs: 10_000 });
  const [, major = '', minor = ''] = /(\d+)\.(\d+)/.exec(outcome.output.toString('latin1')) ?? [];
  if (outcome.end !== 'exited' || major === '') {
    return failed('LocalTrouble', 'git could not be started; install git 2.31 or newer and put it on the PATH');
  }
  const tooOld = Number(major) < MIN_VERSION[0] || (Number(major) === MIN_VERSION[0] && Number(minor) < MIN_VERSION[1]);
  return tooOld
    ? failed('LocalTrouble', `git ${major}.${minor} is too old; install git ${MIN_VERSION.join('.')} or newer`)
    : undefined;
}
