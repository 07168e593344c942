import type { Clock } from '../../ports/clock.ts';
import { createTurnShare } from './turn-share.ts';

/** Longest delay that a timer of the platform can hold; longer ones are waited for in pieces. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** One for the process: its clocks share the event loop. */
const inTurn = createTurnShare();

/** Creates the clock of this machine. */
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
  let timer: NodeJS.Timeout;
  let isCancelled = false;
  const due = (): void => {
    if (!isCancelled) callback();
  };
  const wait = (remaining: number): void => {
    const piece = Math.min(remaining, LONGEST_TIMER_MS);
    timer = setTimeout(() => (remaining > piece ? wait(remaining - piece) : inTurn(due)), Math.max(0, piece));
    if (!keepsAlive) timer.unref();
  };
  wait(milliseconds);
  return () => {
    isCancelled = true;
    clearTimeout(timer);
  };
}
