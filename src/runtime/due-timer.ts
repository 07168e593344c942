import type { Clock } from '../ports/clock.ts';

/** Longest wait of the timer: the wall clock may jump while it runs. */
const LOOK_MS = 60_000;

/** Calls `due` once the wall clock has reached the moment that was set last. */
export function createDueTimer(clock: Pick<Clock, 'now' | 'schedule'>, due: () => void) {
  let moment = Number.POSITIVE_INFINITY;
  let cancel = (): void => undefined;
  const wait = (): void => {
    const left = moment - clock.now();
    cancel = clock.schedule(Math.max(0, Math.min(left, LOOK_MS)), () => {
      if (clock.now() < moment) return wait();
      moment = Number.POSITIVE_INFINITY;
      due();
    });
  };
  return {
    /** Milliseconds since 1970; infinity: no wait. */
    set: (at: number): void => {
      if (at === moment) return;
      cancel();
      moment = at;
      if (at !== Number.POSITIVE_INFINITY) wait();
    },
    stop: (): void => cancel(),
  };
}
