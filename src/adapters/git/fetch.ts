import type { GitFailure, GitFetchOutcome } from '../../ports/git-repo.ts';
import type { Log } from '../../ports/log.ts';
import type { CopyReader } from './copy-reader.ts';
import type { AuthorizationHeader } from './credentials.ts';
import { failureOf, isBrokenConnection } from './failures.ts';
import type { GitCommand } from './git-command.ts';
import type { LocalCopy } from './local-copy.ts';
import { isObjectId } from './object-batch.ts';
import type { Remote } from './remote.ts';
import type { ProcessOutcome } from './run-process.ts';

const FETCHED_REF = 'refs/fleetrelay/fetched';
const LOCAL_DEADLINE_MS = 30_000;
const TIDY_DEADLINE_MS = 600_000;
/** Each fetch adds a pack or loose objects; after this many that brought something, git may tidy up. */
const FETCHES_BEFORE_TIDYING = 40;

export interface FetcherOptions {
  readonly remote: Remote;
  readonly branch: string;
  readonly deadlineMs: number;
  readonly cloneDeadlineMs: number;
}

/** Brings the branch into the local copy, and makes the copy anew when it is the copy that is broken. */
export function createFetcher(
  deps: { readonly git: GitCommand; readonly copy: LocalCopy; readonly reader: CopyReader; readonly log: Log },
  options: FetcherOptions,
): { fetch(authorization: AuthorizationHeader | undefined, signal: AbortSignal): Promise<GitFetchOutcome> } {
  const { git, copy, reader, log } = deps;
  const { remote, branch } = options;
  const what = `fetching ${branch} from ${remote.url}`;
  let last: string | undefined;
  let unclean = true;
  let sinceTidying = 0;

  async function fetchInto(repository: string, deadlineMs: number, network: Network): Promise<ProcessOutcome> {
    const flags = ['--quiet', '--no-tags', '--no-recurse-submodules', '--no-write-fetch-head', '--force'];
    const refspec = `+refs/heads/${branch}:${FETCHED_REF}`;
    const { signal, ...rest } = network;
    return git.run({ args: ['fetch', ...flags, remote.url, refspec], repository, deadlineMs, network: rest, signal });
  }

  async function tipOf(repository: string): Promise<string | undefined> {
    const args = ['rev-parse', '--verify', '--quiet', `${FETCHED_REF}^{commit}`];
    const outcome = await git.run({ args, repository, deadlineMs: LOCAL_DEADLINE_MS });
    const commit = outcome.output.toString('latin1').trim();
    return outcome.end === 'exited' && outcome.code === 0 && isObjectId(commit) ? commit : undefined;
  }

  /** Asks the remote about the branch alone: tells an absent branch and a broken copy from a broken remote. */
  async function probe(network: Network): Promise<{ type: 'there'; commit: string } | { type: 'absent' } | GitFailure> {
    const { signal, ...rest } = network;
    const args = ['ls-remote', '--exit-code', '--refs', remote.url, `refs/heads/${branch}`];
    const outcome = await git.run({ args, deadlineMs: options.deadlineMs, network: rest, signal });
    if (outcome.end === 'exited' && outcome.code === 2) return { type: 'absent' };
    const commit = outcome.output.toString('latin1').split('\t', 1)[0] ?? '';
    if (outcome.end === 'exited' && outcome.code === 0 && isObjectId(commit)) return { type: 'there', commit };
    return failureOf(outcome, what, network.authorization?.secrets ?? []);
  }

  /** A whole new copy beside the old one, which stays until the new one is complete. */
  async function remake(tip: string, network: Network): Promise<GitFetchOutcome> {
    const fresh = await copy.prepare(tip.length === 64 ? 'sha256' : 'sha1');
    if ('problem' in fresh) return localTrouble(fresh.problem);
    const outcome = await fetchInto(fresh.path, options.cloneDeadlineMs, network);
    const commit = outcome.end === 'exited' && outcome.code === 0 ? await tipOf(fresh.path) : undefined;
    if (commit === undefined) return failureOf(outcome, what, network.authorization?.secrets ?? []);
    reader.restart();
    await copy.replaceBy(fresh.path);
    reader.restart();
    log.info('made a new local copy of a repository', { repository: remote.url, branch });
    return { type: 'fetched', commit };
  }

  async function fetch(network: Network): Promise<GitFetchOutcome> {
    const opened = await copy.open();
    if (!opened.ok) return localTrouble(opened.problem);
    if (unclean) await copy.clearLeftovers();
    unclean = true;
    const mend = reader.damaged();
    const isNew = opened.created || (last === undefined && (await tipOf(copy.path)) === undefined);
    if (!mend) {
      const outcome = await fetchInto(copy.path, isNew ? options.cloneDeadlineMs : options.deadlineMs, network);
      const exited = outcome.end === 'exited';
      unclean = !exited;
      const commit = exited && outcome.code === 0 ? await tipOf(copy.path) : undefined;
      if (commit !== undefined) return { type: 'fetched', commit };
      if (!exited || isBrokenConnection(outcome.errors))
        return failureOf(outcome, what, network.authorization?.secrets ?? []);
      const failure = failureOf(outcome, what, network.authorization?.secrets ?? []);
      if (failure.reason === 'BadObjects') return failure;
    }
    const found = await probe(network);
    return found.type === 'there' ? remake(found.commit, network) : found;
  }

  return {
    fetch: async (authorization, signal) => {
      const outcome = await fetch({ authorization, signal });
      if (outcome.type === 'fetched' && outcome.commit !== last) {
        last = outcome.commit;
        sinceTidying += 1;
        if (sinceTidying >= FETCHES_BEFORE_TIDYING) {
          sinceTidying = 0;
          const args = ['-c', 'gc.auto=1000', '-c', 'gc.autoDetach=false', 'gc', '--auto', '--quiet'];
          await git.run({ args, repository: copy.path, deadlineMs: TIDY_DEADLINE_MS, signal });
        }
      }
      return outcome;
    },
  };
}

interface Network {
  readonly authorization: AuthorizationHeader | undefined;
  readonly signal: AbortSignal;
}

function localTrouble(problem: string): GitFailure {
  return { type: 'failed', reason: 'LocalTrouble', message: `the local copy cannot be made: ${problem}` };
}
