import { readFile } from 'node:fs/promises';
import { DEFAULT_CLONE_BYTES } from '../../model/limits/revision-limits.ts';
import { errorText } from '../../model/text/messages.ts';
import { createTurns } from '../../model/values/in-turn.ts';
import { ok, problem, type Result } from '../../model/values/result.ts';
import type { Clock } from '../../ports/clock.ts';
import type { GitFailure, GitRepo } from '../../ports/git-repo.ts';
import type { Log } from '../../ports/log.ts';
import { failed } from './failures.ts';
import { DEFAULT_BRANCH } from './fetch.ts';
import type { ThreadArguments, ThreadResult, ThreadUse } from './isomorphic/thread.ts';
import { createThreadCalls, type GitThread, type ThreadCalls } from './isomorphic/thread-calls.ts';
import { type AuthorizationHeader, authorizationHeader, type Environment, parseBranch, parseRemote } from './remote.ts';
import type { GitRepoOptions } from './repo-options.ts';

interface Deps {
  readonly clock: Clock;
  readonly log: Log;
  /** The environment of this process: requests go through its proxies. */
  readonly environment: Environment;
  /** Starts a thread that runs `runThread` of `isomorphic/thread.ts`. */
  readonly startThread: () => GitThread;
  /** The memory that a thread may need now to use the remote, in bytes. */
  readonly threadBytes: () => number;
}

const UNVERIFIED = { problem: 'signatures of commits are verified by the git program, which is not used here' };

/**
 * Creates a {@link GitRepo} that needs no git program: isomorphic-git in a thread of its own. It fetches older history when a
 * method asks for it. It verifies no signatures, and cannot read local or SHA-256 repositories. Returns a problem if an option is
 * invalid.
 */
export function createIsomorphicGitRepo(deps: Deps, options: GitRepoOptions): Result<GitRepo> {
  const remote = parseRemote(options.remote);
  if (!remote.ok) return remote;
  if (remote.value.local) {
    return problem('a path or a file:// address is read by the git program, which is not used here; use https://');
  }
  if (remote.value.ssh) {
    return problem(
      'an SSH address is read by the git program, which is not used here: set git.adapter of the RelayConfig to native',
    );
  }
  const branch = options.branch === undefined ? ok(undefined) : parseBranch(options.branch);
  if (!branch.ok) return branch;
  if (options.credentials !== undefined && !remote.value.secure) {
    deps.log.warn('credentials travel unencrypted to this repository', { repository: remote.value.url });
  }
  return ok(assemble(deps, options, remote.value.url, branch.value));
}

function assemble(deps: Deps, options: GitRepoOptions, url: string, branch: string | undefined): GitRepo {
  const { deadlineSeconds = 60, cloneDeadlineSeconds = 900, maxCopyBytes = DEFAULT_CLONE_BYTES } = options;
  const { directory, caFile } = options;
  const deadlineMs = deadlineSeconds * 1000;
  const longMs = cloneDeadlineSeconds * 1000;
  let known = branch;
  let hasFetched = false;
  const calls = createThreadCalls(deps, {
    start: async () => ({
      url,
      branch,
      directory,
      maxCopyBytes,
      deadlineMs,
      environment: deps.environment,
      ca: caFile === undefined ? undefined : await readFile(caFile, 'utf8'),
    }),
    branchFound: (name) => {
      known = name;
    },
  });
  const withRemote = remoteUses(calls, deps, options);
  const deepen = async (): Promise<void> => {
    const failure = await withRemote('deepen', longMs, undefined);
    if (failure !== undefined) throw new Error(failure.message);
  };
  const { read } = calls;
  return {
    address: url,
    get branch() {
      return known ?? DEFAULT_BRANCH;
    },
    fetch: async (signal) => {
      const outcome = await withRemote('fetch', hasFetched ? deadlineMs : longMs, signal);
      hasFetched ||= outcome.type === 'fetched';
      return outcome;
    },
    fetchRef: (ref, signal) => withRemote('fetchRef', longMs, signal, ref),
    publish: (request, signal) => withRemote('publish', deadlineMs, signal, request),
    hasCommit: (commit) => read('hasCommit', deepen, commit),
    isAncestor: (ancestor, descendant) => read('isAncestor', deepen, ancestor, descendant),
    mergeBase: (a, b) => read('mergeBase', deepen, a, b),
    commitInfo: (commit) => read('commitInfo', deepen, commit),
    diff: (from, to, folder) => read('diff', deepen, from, to, folder),
    measure: (commit, folder, limits) => read('measure', deepen, commit, folder, limits),
    readBlob: async (blob, maxBytes) => {
      const outcome = await read('readBlob', deepen, blob, maxBytes);
      return outcome.type === 'read' ? { type: 'read', bytes: Buffer.from(outcome.bytes) } : outcome;
    },
    signaturesOf: async (_commit, files) => new Map([...files.keys()].map((path) => [path, UNVERIFIED])),
    close: calls.close,
  };
}

/**
 * Returns a function that uses the remote after the uses before it, with the credentials as they are then. The deadline begins with
 * its turn.
 */
function remoteUses(calls: ThreadCalls, { threadBytes }: Deps, { credentials, remote }: GitRepoOptions) {
  type Use = 'fetch' | 'fetchRef' | 'deepen' | 'publish';
  type Rest<Method extends Use> = ThreadArguments<Method> extends [ThreadUse, ...infer Others] ? Others : never;
  const inTurn = createTurns();
  const use = async <Method extends Use>(
    method: Method,
    deadlineMs: number,
    signal: AbortSignal | undefined,
    rest: Rest<Method>,
  ): Promise<ThreadResult<Method> | GitFailure> => {
    const header = await credentials?.().then(authorizationHeader, (error: unknown) => problem(errorText(error)));
    if (header?.ok === false) return failed('Unauthorized', header.problem);
    const args = [useOf(header?.value), ...rest] as unknown as ThreadArguments<Method>;
    const maxBytes = threadBytes();
    const outcome = await calls
      .call(method, args, { deadlineMs, maxBytes, signal })
      .catch((error: unknown) => ({ type: 'unstarted' as const, message: errorText(error) }));
    switch (outcome.type) {
      case 'value':
        return outcome.value;
      case 'aborted':
        return failed('Stopped', `the use of ${remote} was stopped`);
      case 'timedOut':
        return failed('TimedOut', `the use of ${remote} took longer than its deadline`);
      case 'tooLarge':
        return failed(
          'TooLarge',
          `the use of ${remote} was ended: it needed more than ${maxBytes} bytes of memory; install git, which needs less`,
        );
      case 'unstarted':
        return failed('LocalFailure', outcome.message);
      case 'failed':
        if (outcome.error.name === 'GitCopyError') return failed('LocalFailure', outcome.error.message);
        throw outcome.error;
      case 'needsHistory':
        throw new Error('a use of the remote needs no history');
    }
  };
  return <Method extends Use>(
    method: Method,
    deadlineMs: number,
    signal: AbortSignal | undefined,
    ...rest: Rest<Method>
  ): Promise<ThreadResult<Method> | GitFailure> => inTurn(() => use(method, deadlineMs, signal, rest));
}

function useOf(authorization: AuthorizationHeader | undefined): ThreadUse {
  if (authorization === undefined) return { authorization: undefined, secrets: [] };
  const { header, secrets } = authorization;
  return { authorization: header.replace(/^Authorization: /, ''), secrets };
}
