import { createIsomorphicGitRepo } from '../../src/adapters/git/isomorphic-git-repo.ts';
import type { GitRepoOptions } from '../../src/adapters/git/repo-options.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { gitThreadBytes, startGitThread } from '../../src/compose/serve/git-thread.ts';
import type { Result } from '../../src/model/values/result.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { GitRepo } from '../../src/ports/git-repo.ts';
import { createKeptLog } from './git-quiet-log.ts';

/** A repository that is read without the git program. */
export function isomorphicRepo(
  options: GitRepoOptions,
  environment: Readonly<Record<string, string | undefined>> = {},
  clock: Clock = createSystemClock(),
  threadBytes = gitThreadBytes,
): Result<GitRepo> {
  const deps = { clock, log: createKeptLog(), environment, startThread: startGitThread, threadBytes };
  return createIsomorphicGitRepo(deps, options);
}
