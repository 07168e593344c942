/** A token bucket: `burst` calls at once, refilled by `perSecond`. */
export interface Rate {
  readonly burst: number;
  readonly perSecond: number;
}

/** Keys that a rate limit remembers; it forgets the least recently used one first. */
const MOST_KEYS = 10_000;

/** Buckets by key for work whose amount is known only after it was done. */
export interface Budget {
  /** Takes an amount, which may be more than is there. */
  spend(key: string, amount: number): void;
  /** Milliseconds until there is something again; 0: now. */
  wait(key: string): number;
}

/** Makes a bucket for each key. `monotonic`: the time in milliseconds. */
export function createBudget(monotonic: () => number, rate: Rate): Budget {
  const buckets = createBuckets(monotonic, rate);
  return {
    spend(key, amount) {
      buckets.refilled(key).left -= amount;
    },
    wait(key) {
      const { left } = buckets.refilled(key);
      return left > 0 ? 0 : Math.ceil(1 + (-left / rate.perSecond) * 1000);
    },
  };
}

interface Bucket {
  left: number;
  at: number;
}

/** The buckets of the keys that were used last. */
function createBuckets(monotonic: () => number, { burst, perSecond }: Rate) {
  const buckets = new Map<string, Bucket>();
  return {
    /** The bucket of a key, refilled up to now. A new key has a full bucket. */
    refilled(key: string): Bucket {
      const at = monotonic();
      const bucket = buckets.get(key) ?? { left: burst, at };
      bucket.left = Math.min(burst, bucket.left + ((at - bucket.at) / 1000) * perSecond);
      bucket.at = at;
      // Deleted first, so that the map stays in the order of use.
      buckets.delete(key);
      buckets.set(key, bucket);
      if (buckets.size > MOST_KEYS) for (const oldest of buckets.keys()) if (buckets.delete(oldest)) break;
      return bucket;
    },
    known: (key: string): Bucket | undefined => buckets.get(key),
  };
}

/**
 * Says whether a line of a log about a key is due: undefined if not, else how many were left out before it, as data of the line.
 * `leftOut`: how many another limit has left out before this line; they are added.
 */
export type LineLimit = (key: string, leftOut?: number) => { readonly leftOut?: number } | undefined;

/** Limits the lines of a log that others cause. `monotonic`: the time in milliseconds. */
export function createLineLimit(monotonic: () => number, rate: Rate): LineLimit {
  const limit = createRateLimit(monotonic, rate);
  const leftOut = new Map<string, number>();
  return (key, before = 0) => {
    const count = before + (leftOut.get(key) ?? 0);
    if (limit(key) === 0) {
      leftOut.delete(key);
      return count === 0 ? {} : { leftOut: count };
    }
    // The limit remembers the same number of keys.
    if (leftOut.size >= MOST_KEYS) leftOut.clear();
    leftOut.set(key, count + 1);
    return undefined;
  };
}

/** Token buckets by key. The function takes a token and returns 0, or the milliseconds until one is available. */
export interface RateLimit {
  (key: string): number;
  /** Returns a token that was taken for something that cost nothing in the end. */
  giveBack(key: string): void;
}

/** Makes a token bucket for each key. `monotonic`: the time in milliseconds. */
export function createRateLimit(monotonic: () => number, rate: Rate): RateLimit {
  const buckets = createBuckets(monotonic, rate);
  const take = (key: string): number => {
    const bucket = buckets.refilled(key);
    if (bucket.left < 1) return Math.ceil(((1 - bucket.left) / rate.perSecond) * 1000);
    bucket.left -= 1;
    return 0;
  };
  const giveBack = (key: string): void => {
    const bucket = buckets.known(key);
    if (bucket !== undefined) bucket.left = Math.min(rate.burst, bucket.left + 1);
  };
  return Object.assign(take, { giveBack });
}
