import type { Clock } from '../ports/clock.ts';
import { sliceOf } from './loop.ts';

/** Does this work in slices of ten milliseconds, between which the event loop turns. The work yields after each piece. */
export async function inSlices(clock: Pick<Clock, 'monotonic' | 'sleep'>, work: Iterable<undefined>): Promise<void> {
  let isUp = sliceOf(clock);
  for (const _ of work) {
    if (!isUp()) continue;
    await clock.sleep(0);
    isUp = sliceOf(clock);
  }
}
