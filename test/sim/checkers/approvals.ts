import type { MakeChecker } from './checker.ts';
import { releasedBy } from './leave.ts';
import { followUnwritten } from './unwritten.ts';

/**
 * A file that approves removals releases them once, also if the file changes later, and if the store loses its outcome. That it
 * releases only the removals that its author saw is checked with the guards.
 */
export const approvals: MakeChecker = (world, fail) => {
  const unwritten = followUnwritten(world);
  const used = new Map<string, { readonly at: number; readonly process: string }>();
  const forgetUnwritten = (by: string): void => {
    for (const [name, { at, process }] of used) if (process === by && at >= unwritten.since(by)) used.delete(name);
  };
  world.listen((event) => {
    switch (event.type) {
      case 'log': {
        const { message, data, process } = event.line;
        // What its turn had released without the store is void.
        if (message === 'this replica does not lead any more') return forgetUnwritten(process);
        const name = releasedBy(message, data.by);
        if (name === undefined) return;
        if (used.has(name)) fail(`the RemovalApproval ${name} has let go something twice`);
        used.set(name, { at: world.time.elapsed(), process });
        return;
      }
      case 'died':
        return forgetUnwritten(event.process);
      default:
        return;
    }
  });
  return { name: 'approvals' };
};
