import { availableParallelism } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Running } from '../../start-worker.ts';
import type { CheckedFile } from '../check-file.ts';
import type { InputFile } from '../inputs.ts';
import type { CheckSettings } from '../schemas/object-checks.ts';
import { type CheckedFiles, type CheckTask, checkFiles, PORTION } from './check-files.ts';

/** What was found by all threads together. */
export interface TaskResult {
  /** In the order of the files. */
  readonly files: readonly CheckedFile[];
  /** As sentences, each once, in no particular order. */
  readonly notEvaluated: ReadonlySet<string>;
}

export interface Threads {
  /** Starts the threads for this number of files, unless they run already. */
  expect(files: number): Promise<unknown>;
  /**
   * Checks files; the findings are in the order of the files and do not depend on the number of threads. `takeInOrder` gets
   * each as soon as all files before it are checked; what it throws ends the check. Rejects if a thread fails. The caller calls `close` in every case.
   */
  check(
    files: readonly InputFile[],
    settings: CheckSettings,
    takeInOrder?: (checked: CheckedFile, index: number) => void,
  ): Promise<TaskResult>;
  /** Ends all threads without waiting for their end. `check` may not be called afterwards. */
  end(): void;
  /** Ends all threads and waits for their end. */
  close(): Promise<void>;
}

export interface ThreadOptions {
  /** The number of threads, this one included. Undefined: one for each processor if that saves time. */
  readonly count: number | undefined;
  readonly progress: (done: number, total: number) => void;
}

/** From this number of files on, a second thread saves more time than it takes to start. */
const FILES_FOR_THREADS = 300;
const MAX_THREADS = 8;

/** Makes threads that check files together with this one. */
export function createThreads({ count, progress }: ThreadOptions): Threads {
  let starting: Promise<readonly Running[]> | undefined;
  const expect = (files: number): Promise<readonly Running[]> => {
    const wanted = count ?? (files < FILES_FOR_THREADS ? 1 : Math.min(availableParallelism(), MAX_THREADS));
    if (wanted > 1) starting ??= startWorkers(wanted - 1);
    return starting ?? Promise.resolve([]);
  };
  const close = async (): Promise<void> => {
    const running = (await starting) ?? [];
    await Promise.all(running.map(({ worker }) => worker.terminate()));
  };
  return {
    expect,
    check: async (files, settings, takeInOrder = () => undefined) => {
      const results: CheckedFile[] = new Array(files.length);
      const ending = Promise.withResolvers<never>();
      ending.promise.catch(() => undefined);
      let done = 0;
      let taken = 0;
      let hasEnded = false;
      const keep = ({ first, checked }: CheckedFiles): void => {
        for (const [index, file] of checked.entries()) results[first + index] = file;
        done += checked.length;
        progress(done, files.length);
        try {
          for (let next = results[taken]; !hasEnded && next !== undefined; next = results[taken]) {
            takeInOrder(next, taken);
            taken += 1;
          }
        } catch (error) {
          hasEnded = true;
          ending.reject(error);
        }
      };
      const running = await expect(files.length);
      const next = new SharedArrayBuffer(4);
      // Each thread has its first portion reserved, so that the others cannot finish before it has checked a file.
      new Int32Array(next)[0] = (running.length + 1) * PORTION;
      const task: CheckTask = { files, settings, first: 0, next };
      const others = running.map(async (each, index) =>
        (await import('./workers.ts')).runIn(each, { ...task, first: (index + 1) * PORTION }, keep),
      );
      const own = checkFiles(task, async (checked) => {
        keep(checked);
        // Lets messages of other threads come in.
        await nextTurn();
        if (hasEnded) await ending.promise;
      });
      const notEvaluated = await Promise.race([Promise.all([own, ...others]), ending.promise]);
      return { files: results, notEvaluated: new Set(notEvaluated.flat()) };
    },
    end: () => void close(),
    close,
  };
}

/** The module for threads is loaded only where they are used. */
async function startWorkers(count: number): Promise<readonly Running[]> {
  const { startThread } = await import('./workers.ts');
  return Array.from({ length: count }, startThread);
}
