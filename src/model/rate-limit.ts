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
export function createBudget(monotonic: () => number, { burst, perSecond }: Rate): Budget {
  const buckets = new Map<string, { left: number; at: number }>();
  const filled = (key: string): { left: number; at: number } => {
    const at = monotonic();
    let bucket = buckets.get(key);
    if (bucket === undefined) {
      bucket = { left: burst, at };
      buckets.set(key, bucket);
      // A full bucket is as good as none. One key more than that forgets the oldest one.
      if (buckets.size > MOST_KEYS) for (const oldest of buckets.keys()) if (buckets.delete(oldest)) break;
    }
    bucket.left = Math.min(burst, bucket.left + ((at - bucket.at) / 1000) * perSecond);
    bucket.at = at;
    return bucket;
  };
  return {
    spend(key, amount) {
      filled(key).left -= amount;
    },
    wait(key) {
      const { left } = filled(key);
      return left > 0 ? 0 : Math.ceil(1 + (-left / perSecond) * 1000);
    },
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
    // The limit remembers as many keys.
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
export function createRateLimit(monotonic: () => number, { burst, perSecond }: Rate): RateLimit {
  const buckets = new Map<string, { readonly left: number; readonly at: number }>();
  const take = (key: string): number => {
    const at = monotonic();
    const before = buckets.get(key) ?? { left: burst, at };
    const left = Math.min(burst, before.left + ((at - before.at) / 1000) * perSecond);
    const allowed = left >= 1;
    // Deleted first, so that the map stays in the order of use.
    buckets.delete(key);
    buckets.set(key, { left: allowed ? left - 1 : left, at });
    if (buckets.size > MOST_KEYS) for (const oldest of buckets.keys()) if (buckets.delete(oldest)) break;
    return allowed ? 0 : Math.ceil(((1 - left) / perSecond) * 1000);
  };
  const giveBack = (key: string): void => {
    const bucket = buckets.get(key);
    if (bucket !== undefined) buckets.set(key, { ...bucket, left: Math.min(burst, bucket.left + 1) });
  };
  return Object.assign(take, { giveBack });
}
