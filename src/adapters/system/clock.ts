import type { Clock } from '../../ports/clock.ts';

/** Longest delay that a timer of the platform can hold; longer ones are waited for in pieces. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The machine's own time. */
export function createSystemClock(): Clock {
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    sleep: (milliseconds, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted === true) {
          resolve();
          return;
        }
        const cancel = startTimer(milliseconds, true, done);
        function done(): void {
          cancel();
          signal?.removeEventListener('abort', done);
          resolve();
        }
        signal?.addEventListener('abort', done);
      }),
    schedule: (milliseconds, callback) => startTimer(milliseconds, false, callback),
  };
}

function startTimer(milliseconds: number, keepsAlive: boolean, callback: () => void): () => void {
  if (milliseconds <= LONGEST_TIMER_MS) {
    const timer = setTimeout(callback, Math.max(0, milliseconds));
    if (!keepsAlive) timer.unref();
    return () => clearTimeout(timer);
  }
  return startLongTimer(milliseconds, keepsAlive, callback);
}

function startLongTimer(milliseconds: number, keepsAlive: boolean, callback: () => void): () => void {
  let remaining = milliseconds;
  let timer: NodeJS.Timeout;
  arm();
  return () => clearTimeout(timer);

  function arm(): void {
    const piece = Math.min(remaining, LONGEST_TIMER_MS);
    remaining -= piece;
    timer = setTimeout(() => (remaining > 0 ? arm() : callback()), piece);
    if (!keepsAlive) timer.unref();
  }
}
