import { readFileSync } from 'node:fs';
import { afterAll } from 'vitest';

declare module 'vitest' {
  interface TaskMeta {
    /** What a file of tests cost, with the processes that it started and that have ended. */
    processorMilliseconds?: number;
  }
}

/** Of fields 14 to 17 of `/proc/self/stat`, on all common Linux kernels. */
const MILLISECONDS_PER_TICK = 10;
const ALREADY_TOLD = Symbol.for('fleetrelay.test.processor-time');
const told = globalThis as { [ALREADY_TOLD]?: number };

/** Of this process and of its children that have ended; undefined where there is no /proc. */
function processorMilliseconds(): number | undefined {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8');
    // Behind the name of the program, which may hold spaces.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * MILLISECONDS_PER_TICK;
  } catch {
    return undefined;
  }
}

// The first hook that is registered, so the last one that runs: the processes that the file started have ended.
// biome-ignore lint/correctness/noEmptyPattern: vitest looks for the names of fixtures there.
afterAll(({}, file) => {
  const now = processorMilliseconds();
  if (now === undefined) return;
  file.meta.processorMilliseconds = now - (told[ALREADY_TOLD] ?? 0);
  told[ALREADY_TOLD] = now;
});
