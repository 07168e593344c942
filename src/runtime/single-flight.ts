import { errorText } from '../model/text/messages.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';

export type SingleFlight = ReturnType<typeof createSingleFlight>;

interface TaskDeps {
  readonly clock: Clock;
  readonly log: Log;
}

const RETRY_MS = 1_000;

/**
 * Work that runs again whenever something may have changed, once at a time. `run` resolves with true if it is to run again a
 * second later. A rejection is logged, and `run` is retried.
 */
export function createSingleFlight({ clock, log }: TaskDeps, what: string, run: () => Promise<boolean>) {
  const stopping = new AbortController();
  let wanted = false;
  let running: Promise<void> | undefined;
  let cancelRetry = (): void => undefined;
  let lastFailure: string | undefined;

  const tryOnce = async (): Promise<boolean> => {
    try {
      const again = await run();
      lastFailure = undefined;
      return again;
    } catch (error) {
      const reason = errorText(error);
      if (reason !== lastFailure) log.warn(`${what} failed; it is tried again`, { reason });
      lastFailure = reason;
      return true;
    }
  };
  const work = async (): Promise<void> => {
    let again = false;
    while (wanted && !stopping.signal.aborted) {
      wanted = false;
      again = await tryOnce();
    }
    running = undefined;
    if (again && !stopping.signal.aborted) cancelRetry = clock.schedule(RETRY_MS, wake);
  };
  function wake(): void {
    wanted = true;
    cancelRetry();
    if (running === undefined && !stopping.signal.aborted) running = work();
  }
  return {
    /** There may be something to do: the work runs soon, once more if it is running. */
    wake,
    /** Starts no further run. Resolves when the current run has ended. */
    stop: async (): Promise<void> => {
      stopping.abort();
      cancelRetry();
      await running;
    },
  };
}

export type KeyedTask = ReturnType<typeof createKeyedTask>;

interface KeyedWork {
  /** Works on one key. After a rejection the key stays due. */
  readonly each: (key: string) => Promise<unknown>;
  /** Looks at all keys at once; resolves with the keys that are due. Absent: only single keys are woken. */
  readonly all?: () => Promise<Iterable<string>>;
  /** From this number of due keys on, `all` is called instead. Default: never. */
  readonly allFrom?: number;
  /** Keys that are due again a second after this run. */
  readonly later?: () => Iterable<string>;
  /** A run has ended; `ok`: without a rejection. */
  readonly ended?: (ok: boolean) => void;
}

/** Single-flight work on keys, one after the other, in the order in which they became due. */
export function createKeyedTask(deps: TaskDeps, what: string, work: KeyedWork) {
  const { each, all = async () => [], allFrom = Number.POSITIVE_INFINITY, later = () => [], ended } = work;
  const due = new Set<string>();
  let isAllDue = false;
  let isRunning = false;
  /** For the callers of `settled`. */
  let settled: PromiseWithResolvers<void> | undefined;

  const lookAtAll = async (): Promise<void> => {
    // Before the look: a change during the look is looked at again.
    isAllDue = false;
    try {
      for (const key of await all()) due.add(key);
    } catch (error) {
      isAllDue = true;
      throw error;
    }
  };
  const run = async (): Promise<boolean> => {
    isRunning = true;
    if (due.size >= allFrom) {
      due.clear();
      isAllDue = true;
    }
    if (isAllDue) await lookAtAll();
    for (const key of due) {
      due.delete(key);
      try {
        await each(key);
      } catch (error) {
        due.add(key);
        throw error;
      }
    }
    isRunning = false;
    if (!isAllDue) {
      settled?.resolve();
      settled = undefined;
    }
    for (const key of later()) due.add(key);
    return due.size > 0;
  };
  const task = createSingleFlight(deps, what, async () => {
    try {
      const again = await run();
      ended?.(true);
      return again;
    } catch (error) {
      isRunning = false;
      settled?.reject(error);
      settled = undefined;
      ended?.(false);
      throw error;
    }
  });
  return {
    /** The key may have changed; without a key, any key may have changed. */
    wake: (key?: string): void => {
      if (key === undefined) isAllDue = true;
      else due.add(key);
      task.wake();
    },
    /** Resolves when all keys that are due now were worked on; rejects with the next rejection of the work. */
    settled: async (): Promise<void> => {
      if (!isRunning && !isAllDue && due.size === 0) return;
      settled ??= Promise.withResolvers();
      await settled.promise;
    },
    stop: task.stop,
  };
}
