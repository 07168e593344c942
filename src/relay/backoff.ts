import type { Random } from '../ports/random.ts';
import type { EndCode } from '../ports/transport.ts';

/** First and longest pause in milliseconds; each further attempt doubles it. */
export interface Pace {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** `soon`: the server asked to come again. `slow`: it said no. `lost`: nobody said anything. */
export interface Paces {
  readonly soon: Pace;
  readonly lost: Pace;
  readonly slow: Pace;
}

/** A restarted server sees its agents within a second; a refused agent notices a mended fleet within half a minute. */
export const DEFAULT_PACES: Paces = {
  soon: { firstMs: 250, longestMs: 5_000 },
  lost: { firstMs: 500, longestMs: 30_000 },
  slow: { firstMs: 2_000, longestMs: 30_000 },
};

/** How long to wait before the next attempt. */
export interface Backoff {
  /** Milliseconds until the next attempt after a link that ended like this. */
  next(code: EndCode): number;
  /** The link was good: start over. */
  reset(): void;
}

/** Exponential, per way of ending, with jitter over the upper half so that a fleet does not come back in step. */
export function createBackoff(random: Random, paces: Paces): Backoff {
  let last: keyof Paces | undefined;
  let attempts = 0;
  return {
    next(code) {
      const pace = paceOf(code);
      attempts = pace === last ? attempts + 1 : 0;
      last = pace;
      const { firstMs, longestMs } = paces[pace];
      const full = Math.min(longestMs, firstMs * 2 ** Math.min(attempts, 20));
      return Math.round(full / 2 + (random.next() * full) / 2);
    },
    reset() {
      last = undefined;
      attempts = 0;
    },
  };
}

function paceOf(code: EndCode): keyof Paces {
  switch (code) {
    case 'unavailable':
    case 'done':
      return 'soon';
    case 'lost':
      return 'lost';
    case 'refused':
    case 'unauthenticated':
    case 'invalid':
    case 'exhausted':
      return 'slow';
  }
}
