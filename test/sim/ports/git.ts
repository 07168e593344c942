import type { GitFailure, GitRepo } from '../../../src/ports/git-repo.ts';
import type { Dice } from '../core/dice.ts';
import type { SimProcess } from '../core/process.ts';

/** Faults between one server and a remote repository. */
export interface GitWeather {
  latencyMs: number;
  /** Why the remote cannot be used now. */
  failing: GitFailure['reason'] | undefined;
  /** Chance that a push arrives and its answer does not. */
  lostAnswers: number;
  /** Chance that a blob cannot be read out of the local copy. */
  damagedCopies: number;
}

export const fineGit = (): GitWeather => ({ latencyMs: 5, failing: undefined, lostAnswers: 0, damagedCopies: 0 });

/** A process's copy of a branch, with the faults of the way to it. */
export function createSimRepo(process: SimProcess, repo: GitRepo, weather: GitWeather, dice: Dice): GitRepo {
  const delay = (): number => dice.int(weather.latencyMs + 1);
  const problem = (): GitFailure | undefined =>
    weather.failing && { type: 'failed', reason: weather.failing, message: 'the weather is bad' };
  return {
    ...repo,
    fetch: (signal) => process.call(delay(), () => problem() ?? repo.fetch(signal)),
    fetchRef: (ref, signal) => process.call(delay(), () => problem() ?? repo.fetchRef(ref, signal)),
    mergeBase: (a, b) => process.call(0, () => repo.mergeBase(a, b)),
    hasCommit: (commit) => process.call(0, () => repo.hasCommit(commit)),
    isAncestor: (ancestor, descendant) => process.call(0, () => repo.isAncestor(ancestor, descendant)),
    commitInfo: (commit) => process.call(0, () => repo.commitInfo(commit)),
    diff: (from, to, folder) => process.call(0, () => repo.diff(from, to, folder)),
    readBlob: (blob, maxBytes) =>
      process.call(0, () =>
        dice.chance(weather.damagedCopies) ? { type: 'missing' as const } : repo.readBlob(blob, maxBytes),
      ),
    publish: (request, signal) =>
      process.write(delay(), async () => {
        const failure = problem();
        if (failure !== undefined) return failure;
        const outcome = await repo.publish(request, signal);
        return dice.chance(weather.lostAnswers)
          ? ({ type: 'failed', reason: 'TimedOut', message: 'no answer' } as const)
          : outcome;
      }),
  };
}
