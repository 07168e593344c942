import type { World } from '../world.ts';

/** What is to be remembered is in the store after this time, if it can be written. */
export const WRITE_MS = 1_000;

/** Since when a process may have told its store nothing. */
export interface Unwritten {
  /** What the process noted before this moment is in the store; asked while it lives, or when it has just died. */
  since(process: string): number;
}

export function followUnwritten(world: World): Unwritten {
  const failedAt = new Map<string, number>();
  world.listen((event) => {
    if (event.type !== 'log') return;
    const { message, process } = event.line;
    // It fails since the first of these lines; a later one has another reason.
    if (message === 'the store cannot be written' && !failedAt.has(process))
      failedAt.set(process, world.time.elapsed());
    if (message === 'the store can be written again') failedAt.delete(process);
  });
  return { since: (process) => (failedAt.get(process) ?? world.time.elapsed()) - WRITE_MS };
}
