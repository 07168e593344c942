import type { World } from '../world.ts';
import { limitsAt } from './limits.ts';

/** Which removals the guards have forgotten, because the window of the policy in force had ended. */
export interface EndedWindows {
  /**
   * Removals that were counted at this moment or before are forgotten, in milliseconds of the world: a later policy with a longer
   * window does not bring them back.
   */
  forgotten(): number;
  /** To be called after every event of the world. */
  stepped(): void;
}

/**
 * Only the first source has policies. A policy is in force as soon as the leader has admitted its revision. A server may have read
 * that revision long before, if the source was suspended or another server leads.
 */
export function followEndedWindows({ time, servers, repositories: [main] }: World): EndedWindows {
  const windows = new Map<string, number>();
  let forgotten = Number.NEGATIVE_INFINITY;
  const windowMsAt = ({ source, treeAt }: World['repositories'][number], revision: string): number => {
    const known = windows.get(revision);
    if (known !== undefined) return known;
    const found = limitsAt([{ source, tree: treeAt(revision) ?? new Map(), read: true }]).windowSeconds * 1_000;
    windows.set(revision, found);
    return found;
  };
  return {
    forgotten: () => forgotten,
    stepped: () => {
      if (main === undefined) return;
      for (const { life } of servers) {
        const now = life();
        if (now?.server === undefined || now.process.state() !== 'running' || !now.server.replica.leads()) continue;
        const revision = now.server.replica.lastAdmitted(main.source);
        if (revision !== undefined) forgotten = Math.max(forgotten, time.elapsed() - windowMsAt(main, revision));
      }
    },
  };
}
