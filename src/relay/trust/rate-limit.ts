import { isIPv6 } from 'node:net';
import type { Clock } from '../../ports/clock.ts';
import type { Rate } from '../limits.ts';

/** Counts by key how often something happens. */
export interface RateLimit {
  /** Counts one; 0 if it may happen, else how many milliseconds too early it is (then it is not counted). */
  take(key: string): number;
}

/** Keys that are remembered at most; the one that was seen longest ago is forgotten first. */
const MOST_KEYS = 10_000;

/** A bucket of tokens for each key. */
export function createRateLimit(clock: Clock, { burst, perSecond }: Rate): RateLimit {
  const buckets = new Map<string, { left: number; at: number }>();
  return {
    take(key) {
      const at = clock.monotonic();
      const before = buckets.get(key) ?? { left: burst, at };
      const left = Math.min(burst, before.left + ((at - before.at) / 1000) * perSecond);
      const allowed = left >= 1;
      // Deleted first, so that the map is in the order of use.
      buckets.delete(key);
      buckets.set(key, { left: allowed ? left - 1 : left, at });
      if (buckets.size > MOST_KEYS) for (const oldest of buckets.keys()) if (buckets.delete(oldest)) break;
      return allowed ? 0 : Math.ceil(((1 - left) / perSecond) * 1000);
    },
  };
}

/** What stands for a caller: its address, and of IPv6 the network, of which one caller has all addresses. */
export function callerOf(peer: string): string {
  const address = peer.replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
  const inside = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (inside !== undefined || !isIPv6(address)) return inside ?? address;
  const [head = '', tail] = address.split('::');
  const start = head === '' ? [] : head.split(':');
  const end = tail === undefined || tail === '' ? [] : tail.split(':');
  const gap = tail === undefined ? 0 : Math.max(0, 8 - start.length - end.length);
  return [...start, ...Array.from({ length: gap }, () => '0'), ...end].slice(0, 4).join(':');
}
