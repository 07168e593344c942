import { createIsomorphicGitRepo } from '../../adapters/git/isomorphic-git-repo.ts';
import { createNativeGitRepo, GIT_VERSION, installedGit } from '../../adapters/git/native-git-repo.ts';
import { parseRemote } from '../../adapters/git/remote.ts';
import type { GitRepoOptions } from '../../adapters/git/repo-options.ts';
import type { RelayConfig } from '../../model/fleet/relay-config.ts';
import { must } from '../../model/values/result.ts';
import type { Clock } from '../../ports/clock.ts';
import type { GitRepo } from '../../ports/git-repo.ts';
import type { Log } from '../../ports/log.ts';
import { gitThreadBytes, startGitThread } from './git-thread.ts';

interface Deps {
  readonly clock: Clock;
  readonly log: Log;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** How the repositories of a process are read. */
export interface GitAdapter {
  readonly name: 'native' | 'isomorphic';
  /** Opens a repository whose options were checked with the configuration. */
  open(options: GitRepoOptions): GitRepo;
}

/**
 * Chooses the adapter of the configuration, and logs which one it is. Rejects with a text for people if it cannot do what the
 * configuration asks for.
 */
export async function chooseGitAdapter(config: RelayConfig, { clock, log, env }: Deps): Promise<GitAdapter> {
  const wanted = config.git.adapter;
  const installed = wanted === 'isomorphic' ? undefined : await installedGit({ clock, environment: env });
  if (wanted === 'native' || installed?.isUsable === true) {
    log.info('repositories are read by the git program', { version: installed?.version ?? 'none found' });
    const deps = { clock, log, environment: env };
    return { name: 'native', open: (options) => must(createNativeGitRepo(deps, options)) };
  }
  const why =
    wanted === 'isomorphic'
      ? 'git.adapter is isomorphic'
      : installed === undefined
        ? 'there is no git program on the PATH'
        : `the git program is ${installed.version}, and ${GIT_VERSION} is the oldest that is used`;
  refuseWhatNeedsGit(config, why);
  log.info('repositories are read by isomorphic-git', { why });
  const deps = { clock, log, environment: env, startThread: startGitThread, threadBytes: gitThreadBytes };
  return { name: 'isomorphic', open: (options) => must(createIsomorphicGitRepo(deps, options)) };
}

function refuseWhatNeedsGit({ sources, statusGit, approvalSigners }: RelayConfig, why: string): void {
  const mend = `${why}; install git ${GIT_VERSION} or newer, and set git.adapter to auto or native`;
  for (const source of sources) {
    if (source.type === 'git') refuseAddress(source.url, `of the source ${source.name}`, mend);
  }
  if (statusGit.enabled && statusGit.url !== undefined) refuseAddress(statusGit.url, 'of status.git.url', mend);
  if (approvalSigners === undefined) return;
  throw new Error(`bounds.approvalSigners: only the git program verifies signatures of commits: ${mend}`);
}

function refuseAddress(url: string, whose: string, mend: string): void {
  const remote = must(parseRemote(url));
  if (remote.local) throw new Error(`the repository ${whose} is local, which only the git program reads: ${mend}`);
  if (remote.ssh) throw new Error(`the repository ${whose} is reached by SSH, which only the git program can: ${mend}`);
}
