/**
 * How long to wait after something has failed, in milliseconds: `firstMs` at first, twice as long after each further
 * failure in a row, at most `longestMs`.
 *
 * @param failures in a row before the last one, from 0
 */
export function backOffMs(failures: number, firstMs: number, longestMs: number): number {
  return Math.min(longestMs, firstMs * 2 ** Math.min(failures, 30));
}
