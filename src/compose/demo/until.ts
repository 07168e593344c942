import { setTimeout as sleep } from 'node:timers/promises';

const LOOK_EVERY_MS = 50;

/**
 * Looks until there is something to see, and returns it. Rejects after the deadline with what was waited for, and at once
 * when the signal aborts.
 */
export async function until<Value>(
  what: string,
  look: () => Promise<Value | undefined> | Value | undefined,
  signal: AbortSignal,
  deadlineMs = 30_000,
): Promise<Value> {
  const end = performance.now() + deadlineMs;
  while (performance.now() < end) {
    signal.throwIfAborted();
    const seen = await look();
    if (seen !== undefined) return seen;
    await sleep(LOOK_EVERY_MS, undefined, { signal });
  }
  throw new Error(`after ${deadlineMs / 1000} s this had not happened: ${what}`);
}
