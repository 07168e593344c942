import { getCompileCacheDir } from 'node:module';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { CheckedFile } from './check-file.ts';
import { type CheckedFiles, type CheckTask, checkFiles } from './check-files.ts';
import type { InputFile } from './inputs.ts';
import type { CheckSettings } from './object-checks.ts';

/** What the thread of a worker sends: findings, and at the end of each task what could not be evaluated. */
export type ThreadMessage = CheckedFiles | { readonly notEvaluated: readonly string[] };

/** What was found by all threads together. */
export interface TaskResult {
  /** In the order of the files. */
  readonly files: readonly CheckedFile[];
  /** As sentences, each once, in no particular order. */
  readonly notEvaluated: ReadonlySet<string>;
}

export interface Threads {
  /**
   * Checks files; the findings are in the order of the files, whatever the number of threads. Rejects if the signal aborts or
   * a thread fails; `close` is due in any case.
   */
  check(files: readonly InputFile[], settings: CheckSettings): Promise<TaskResult>;
  /** Ends all threads. */
  close(): Promise<void>;
}

export interface ThreadOptions {
  /** Together with this thread; at least 1. */
  readonly count: number;
  readonly progress: (done: number, total: number) => void;
  readonly signal: AbortSignal;
}

/** Starts threads that check files together with this one. */
export function startThreads({ count, progress, signal }: ThreadOptions): Threads {
  const workers = Array.from({ length: count - 1 }, startWorker);
  return {
    check: async (files, settings) => {
      const results: CheckedFile[] = new Array(files.length);
      let done = 0;
      const keep = ({ first, checked }: CheckedFiles): void => {
        for (const [index, file] of checked.entries()) results[first + index] = file;
        done += checked.length;
        progress(done, files.length);
      };
      const task: CheckTask = { files, settings, next: new SharedArrayBuffer(4) };
      const others = workers.map((running) => runIn(running, task, keep, signal));
      const own = checkFiles(task, async (checked) => {
        keep(checked);
        // Lets signals, and messages of other threads, come in.
        await nextTurn();
        signal.throwIfAborted();
      });
      const notEvaluated = await Promise.all([own, ...others]);
      return { files: results, notEvaluated: new Set(notEvaluated.flat()) };
    },
    close: async () => {
      await Promise.all(workers.map(({ worker }) => worker.terminate()));
    },
  };
}

/** Where the module of a worker is: beside this one in the sources, at the root of the bundle, whose chunks are in a folder. */
const MODULE = import.meta.url.endsWith('.ts') ? './thread.ts' : '../validate-thread.js';

const START = `
const { workerData: { module, cache } } = require('node:worker_threads');
if (cache !== undefined) require('node:module').enableCompileCache(cache);
import(module).then(({ runThread }) => runThread());
`;

interface Running {
  readonly worker: Worker;
  /** Rejects when the worker fails or ends. */
  readonly ended: Promise<never>;
}

function startWorker(): Running {
  const module = new URL(MODULE, import.meta.url).href;
  const worker = new Worker(START, { eval: true, workerData: { module, cache: getCompileCacheDir() } });
  const { promise: ended, reject } = Promise.withResolvers<never>();
  worker.once('error', reject).once('exit', () => reject(new Error('a thread ended before its task')));
  // Without a task it is no failure.
  ended.catch(() => undefined);
  return { worker, ended };
}

/** Gives a task to a worker; resolves with what could not be evaluated, when the worker finds no more files. */
async function runIn(
  { worker, ended }: Running,
  task: CheckTask,
  keep: (checked: CheckedFiles) => void,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>();
  const receive = (message: ThreadMessage): void =>
    'notEvaluated' in message ? resolve(message.notEvaluated) : keep(message);
  const abort = (): void => reject(signal.reason);
  worker.on('message', receive).postMessage(task);
  signal.addEventListener('abort', abort);
  try {
    return await Promise.race([promise, ended]);
  } finally {
    worker.off('message', receive);
    signal.removeEventListener('abort', abort);
  }
}
