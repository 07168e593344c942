import type { Clock } from '../ports/clock.ts';

/** Resolves when the work has ended, or after this time. Rejects if the work rejects before. */
export async function within(clock: Clock, milliseconds: number, work: Promise<unknown>): Promise<void> {
  const timeUp = new AbortController();
  await Promise.race([work, clock.sleep(milliseconds, timeUp.signal)]).finally(() => timeUp.abort());
}
