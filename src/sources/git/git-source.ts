import type { SourceName } from '../../model/ids.ts';
import type { Clock } from '../../ports/clock.ts';
import type { GitRepo } from '../../ports/git-repo.ts';
import type { Log } from '../../ports/log.ts';
import type { Random } from '../../ports/random.ts';
import type { Source } from '../../ports/source.ts';
import { createAdmission } from '../tree/admission.ts';
import { createPoller } from '../tree/poller.ts';
import { createTreeReader, type DecodeFile } from '../tree/tree-reader.ts';
import { lookOnce, NO_BRANCH } from './git-look.ts';

export interface GitSourceOptions {
  readonly name: SourceName;
  readonly pollIntervalSeconds: number;
  /** Sub-folder to follow; the whole repository unless set. */
  readonly path?: string;
  /** Larger files are unreadable; 16 MiB unless set. */
  readonly maxFileBytes?: number;
  /** The longest wait between looks while they fail; 300 unless set. */
  readonly maxRetrySeconds?: number;
}

export interface GitSourceDeps {
  /** The branch to follow; the source closes it. */
  readonly repo: GitRepo;
  readonly decode: DecodeFile;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/**
 * Follows one branch of a repository. A revision enters after it was fetched and read whole; a rewritten history, a
 * vanished branch and an empty tree wait for a person.
 */
export function createGitSource(deps: GitSourceDeps, options: GitSourceOptions): Source {
  const { repo, decode, clock, random } = deps;
  const { name } = options;
  const log = deps.log.child({ source: name });
  const maxFileBytes = options.maxFileBytes ?? 16 * 1024 * 1024;
  const folder = folderOf(options.path ?? '');
  const reader = createTreeReader({ decode }, { maxFileBytes });
  const describe = (revision: string): string =>
    revision === NO_BRANCH ? `no branch ${repo.branch}` : `${repo.branch} at ${revision.slice(0, 12)}`;
  const admission = createAdmission({ reader }, { name, describe });
  const following = { repo, reader, admission, log, folder, maxFileBytes };
  const intervalMs = options.pollIntervalSeconds * 1000;
  const stopping = new AbortController();
  let isFollowing = false;
  /** A fetch that has begun before the first look, for it. */
  let ahead: ReturnType<GitRepo['fetch']> | undefined;
  const takeAhead = (): typeof ahead => {
    const taken = ahead;
    ahead = undefined;
    return taken;
  };
  const poller = createPoller(
    { clock, random, look: (signal) => lookOnce(following, signal, takeAhead()) },
    { intervalMs, retryMs: Math.min(intervalMs, 2_000), maxRetryMs: (options.maxRetrySeconds ?? 300) * 1000 },
  );
  return {
    name,
    address: `${repo.address} ${repo.branch}${folder === '' ? '' : ` ${folder}/`}`,
    start: (listener, admitted) => {
      admission.start(listener, admitted);
      isFollowing = true;
      poller.start();
    },
    prefetch: () => {
      ahead = repo.fetch(stopping.signal);
      // Who takes it hears of a rejection; until then nobody waits for it.
      ahead.catch(() => undefined);
    },
    trigger: () => {
      // Before the start nobody hears what is found: the first look finds it, with a fetch of its own.
      if (isFollowing) poller.trigger();
      else ahead = undefined;
    },
    look: poller.look,
    accept: admission.accept,
    read: async (_path, blob) => {
      const outcome = await repo.readBlob(blob, maxFileBytes).catch(() => undefined);
      return outcome?.type === 'read' ? outcome.bytes : undefined;
    },
    stop: async () => {
      stopping.abort();
      await poller.stop();
      await repo.close();
    },
  };
}

/** `./config/prod/` is `config/prod`; the root is empty. A path that leads out of the repository finds nothing in it. */
function folderOf(path: string): string {
  return path
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .join('/');
}
