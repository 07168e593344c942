import { errorText } from '../../../model/text/messages.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Log } from '../../../ports/log.ts';

/** Work that is repeated until it is stopped. Two runs never overlap. */
export interface Repeated {
  /** Resolves at the end of the run that is under way, or else of the next one. */
  next(): Promise<void>;
  /** Runs within this time, yet never sooner than {@link LEAST_PAUSE_MS} after the last run has begun. */
  within(milliseconds: number): void;
  stop(): void;
}

/** Shortest time between the beginnings of two runs. */
export const LEAST_PAUSE_MS = 2_000;
/** Pause after a run that failed by a fault of this program. */
const FAILED_MS = 60_000;

/**
 * Repeats `run`, which resolves with the milliseconds until it is due again.
 *
 * @param firstMs milliseconds until the first run
 */
export function repeat(
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  firstMs: number,
  run: () => Promise<number>,
): Repeated {
  let ended = Promise.withResolvers<void>();
  let beganAt = Number.NEGATIVE_INFINITY;
  let isStopped = false;
  let isRunning = false;
  let next: { readonly at: number; readonly cancel: () => void } | undefined;
  /** Asked for during a run: monotonic milliseconds. */
  let asked = Number.POSITIVE_INFINITY;
  if (firstMs === 0) void Promise.resolve().then(runNow);
  else wakeAt(clock.monotonic() + firstMs);

  return {
    next: () => ended.promise,
    within(milliseconds) {
      const at = Math.max(clock.monotonic() + milliseconds, beganAt + LEAST_PAUSE_MS);
      if (isRunning) asked = Math.min(asked, at);
      else if (next === undefined || at < next.at) wakeAt(at);
    },
    stop() {
      isStopped = true;
      next?.cancel();
    },
  };

  function wakeAt(at: number): void {
    next?.cancel();
    if (!isStopped) next = { at, cancel: clock.schedule(Math.max(0, at - clock.monotonic()), () => void runNow()) };
  }

  async function runNow(): Promise<void> {
    // It was asked for before the first run, which has begun since.
    if (isStopped || isRunning) return;
    isRunning = true;
    beganAt = clock.monotonic();
    const wait = await run().catch((error: unknown) => {
      log.error('a report for the care of Shoots could not be made', { reason: errorText(error) });
      return FAILED_MS;
    });
    isRunning = false;
    ended.resolve();
    ended = Promise.withResolvers();
    const at = Math.min(clock.monotonic() + wait, asked);
    asked = Number.POSITIVE_INFINITY;
    wakeAt(at);
  }
}
