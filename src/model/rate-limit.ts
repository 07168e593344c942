/** A token bucket: `burst` calls at once, refilled by `perSecond`. */
export interface Rate {
  readonly burst: number;
  readonly perSecond: number;
}

/** Keys that a rate limit remembers; it forgets the least recently used one first. */
const MOST_KEYS = 10_000;

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
