import type { MakeChecker } from './checker.ts';
import { followReleases } from './releases.ts';

/**
 * A file that approves removals releases them once, also if the file changes later, and if the store loses its outcome. That it
 * releases only the removals that its author saw, and lets them leave once, is checked with the guards.
 */
export const approvals: MakeChecker = (world, fail) => {
  followReleases(world, ({ name, type }) => {
    if (type === 'again') fail(`the RemovalApproval ${name} has let go something twice`);
  });
  return { name: 'approvals' };
};
