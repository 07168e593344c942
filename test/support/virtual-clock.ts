import type { Clock } from '../../src/ports/clock.ts';

/** A clock that stands still until it is told to go on. Wall clock and monotonic time advance together. */
export interface VirtualClock extends Clock {
  /**
   * Advances by `milliseconds` and calls what falls due, in order of time and then of scheduling. Between
   * two callbacks pending promises get their turn, so what a callback schedules within the time is called back as well.
   */
  advance(milliseconds: number): Promise<void>;
  /** Lets promises that need no time run on, without advancing. */
  settle(): Promise<void>;
  /** Callbacks that wait, sleepers included. */
  waiting(): number;
}

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly callback: () => void;
}

/** Creates the clock. `startAt`: the first wall-clock time, in milliseconds since 1970. */
export function createVirtualClock(startAt = Date.UTC(2026, 0, 1)): VirtualClock {
  let elapsed = 0;
  let order = 0;
  const timers = new Set<Timer>();

  function schedule(milliseconds: number, callback: () => void): () => void {
    order += 1;
    const timer = { at: elapsed + Math.max(0, milliseconds), order, callback };
    timers.add(timer);
    return () => timers.delete(timer);
  }

  function nextDue(until: number): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of timers) {
      if (timer.at > until) continue;
      if (next === undefined || timer.at < next.at || (timer.at === next.at && timer.order < next.order)) next = timer;
    }
    return next;
  }

  return {
    now: () => startAt + elapsed,
    monotonic: () => elapsed,
    sleep: (milliseconds, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted === true) return resolve();
        const cancel = schedule(milliseconds, done);
        function done(): void {
          cancel();
          signal?.removeEventListener('abort', done);
          resolve();
        }
        signal?.addEventListener('abort', done);
      }),
    schedule,
    advance: async (milliseconds) => {
      const until = elapsed + milliseconds;
      await settle();
      for (let timer = nextDue(until); timer !== undefined; timer = nextDue(until)) {
        timers.delete(timer);
        elapsed = timer.at;
        timer.callback();
        await settle();
      }
      elapsed = until;
    },
    settle,
    waiting: () => timers.size,
  };
}

/** Enough turns for chains of promises; work that needs real input or output is not waited for. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}
