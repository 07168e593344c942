import type { Clock } from '../ports/clock.ts';

export type Slices = ReturnType<typeof createSlices>;

/**
 * Runs tasks one after the other, for some milliseconds in one turn of the event loop. A task that is added again before it has run
 * runs once.
 */
export function createSlices({ monotonic, schedule }: Pick<Clock, 'monotonic' | 'schedule'>, sliceMs: number) {
  const due = new Set<() => void>();
  let cancel: (() => void) | undefined;
  const run = (): void => {
    const end = monotonic() + sliceMs;
    for (const task of due) {
      due.delete(task);
      task();
      if (monotonic() >= end) break;
    }
    cancel = due.size > 0 ? schedule(0, run) : undefined;
  };
  return {
    add: (task: () => void): void => {
      due.add(task);
      cancel ??= schedule(0, run);
    },
    stop: (): void => cancel?.(),
  };
}
