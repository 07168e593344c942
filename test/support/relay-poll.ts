import { setTimeout as pause } from 'node:timers/promises';

/** Waits until a condition holds, for real processes and sockets; fails with `what` after `withinMs`. */
export async function eventually(what: string, condition: () => boolean, withinMs = 90_000): Promise<void> {
  const until = performance.now() + withinMs;
  while (!condition()) {
    if (performance.now() > until) throw new Error(`it did not happen within ${withinMs} ms: ${what}`);
    await pause(5);
  }
}
