/**
 * Returns the wait before the next attempt, in milliseconds: `firstMs` after the first failure, twice as long after each
 * further failure in a row, at most `longestMs`.
 *
 * @param failures consecutive failures before the latest one, from 0
 */
export function backOffMs(failures: number, firstMs: number, longestMs: number): number {
  return Math.min(longestMs, firstMs * 2 ** Math.min(failures, 30));
}
