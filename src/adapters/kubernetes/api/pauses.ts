import type { Random } from '../../../ports/random.ts';

const FIRST_MS = 500;
const LONGEST_MS = 30_000;
/** A server may ask for more patience than that, but not for any amount. */
const LONGEST_ASKED_MS = 120_000;

/** Pauses between attempts: exponential, with jitter over the upper half so that kinds do not come back in step. */
export function createPauses(random: Random): {
  /** Milliseconds until the next attempt; not before the server wants it. */
  next(askedMs?: number): number;
  reset(): void;
} {
  let attempts = 0;
  return {
    next(askedMs = 0) {
      const full = Math.max(
        Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(attempts, 10)),
        // Half of it is waited for in any case.
        2 * Math.min(askedMs, LONGEST_ASKED_MS),
      );
      attempts += 1;
      return Math.round(full / 2 + (random.next() * full) / 2);
    },
    reset() {
      attempts = 0;
    },
  };
}
