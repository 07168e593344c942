import type { World } from '../world.ts';

/** What is to be remembered is in the store after this time, if it can be written. */
const WRITE_MS = 1_000;

/** Since when a process may have told its store nothing. */
export interface Unwritten {
  /** What the process noted before this moment is in the store; asked while it lives, or when it has just died. */
  since(process: string): number;
}

/** A time in which a process could not write its store. */
interface Failure {
  readonly from: number;
  /** Infinity: it goes on. */
  to: number;
}

export function followUnwritten(world: World): Unwritten {
  const failures = new Map<string, Failure>();
  /** The failure whose writes may still wait: a process that can write again writes them in several batches. */
  const failureOf = (process: string): Failure | undefined => {
    const last = failures.get(process);
    return last !== undefined && last.to > world.time.elapsed() - WRITE_MS ? last : undefined;
  };
  world.listen((event) => {
    if (event.type !== 'log') return;
    const { message, process } = event.line;
    const failure = failureOf(process);
    // It fails since the first of these lines; a later one has another reason.
    if (message === 'the store cannot be written')
      failures.set(process, { from: failure?.from ?? world.time.elapsed(), to: Number.POSITIVE_INFINITY });
    if (message === 'the store can be written again' && failure !== undefined) failure.to = world.time.elapsed();
  });
  return { since: (process) => (failureOf(process)?.from ?? world.time.elapsed()) - WRITE_MS };
}
