import type { Clock } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';

export interface PollerOptions {
  /** Between two looks when all is well; jittered by a tenth. */
  readonly intervalMs: number;
  /** The first wait after a failure; doubles with each further one. */
  readonly retryMs: number;
  /** The longest wait after failures. */
  readonly maxRetryMs: number;
}

/** Looks again and again: at its interval, later and later while it fails, and at once when triggered. */
export interface Poller {
  start(): void;
  /** A trigger while a look is under way causes exactly one more look, however many there are. */
  trigger(): void;
  /** Triggers, and resolves when a look that began after this call is over. */
  look(): Promise<void>;
  /** Aborts the look under way and waits for its end. */
  stop(): Promise<void>;
}

/** `look` resolves with whether it succeeded; a rejection counts as a failure (and is `look`'s to report). */
export function createPoller(
  deps: {
    readonly clock: Clock;
    readonly random: Random;
    readonly look: (signal: AbortSignal) => Promise<boolean>;
  },
  options: PollerOptions,
): Poller {
  const { clock, random, look } = deps;
  const stopping = new AbortController();
  let underway: Promise<void> | undefined;
  let again = false;
  let failures = 0;
  let begun = 0;
  const waiting = new Set<{ readonly after: number; readonly done: () => void }>();
  let cancelWait = (): void => undefined;

  async function lookUntilQuiet(): Promise<void> {
    do {
      again = false;
      begun += 1;
      const succeeded = await look(stopping.signal).catch(() => false);
      failures = succeeded ? 0 : failures + 1;
      release((after) => after < begun);
    } while (again && !stopping.signal.aborted);
  }

  function release(isDue: (after: number) => boolean): void {
    for (const waiter of waiting) {
      if (!isDue(waiter.after)) continue;
      waiting.delete(waiter);
      waiter.done();
    }
  }

  function trigger(): void {
    if (underway === undefined) run();
    else again = true;
  }

  function run(): void {
    cancelWait();
    if (stopping.signal.aborted) return;
    underway = lookUntilQuiet().then(() => {
      underway = undefined;
      if (!stopping.signal.aborted) cancelWait = clock.schedule(waitMs(), run);
    });
  }

  function waitMs(): number {
    if (failures === 0) return options.intervalMs * (0.9 + 0.2 * random.next());
    // Half fixed, half random: many followers of one broken server come back spread out.
    const ceiling = Math.min(options.maxRetryMs, options.retryMs * 2 ** Math.min(failures - 1, 30));
    return ceiling * (0.5 + 0.5 * random.next());
  }

  return {
    start: run,
    trigger,
    look: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.add({ after: begun, done: resolve });
      trigger();
      return promise;
    },
    stop: async () => {
      stopping.abort();
      cancelWait();
      await underway;
      release(() => true);
    },
  };
}
