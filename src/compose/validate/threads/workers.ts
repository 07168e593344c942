import { getCompileCacheDir } from 'node:module';
import { Worker } from 'node:worker_threads';
import type { CheckedFiles, CheckTask } from './check-files.ts';
import type { ThreadMessage } from './thread.ts';

/** Where the module of a worker is: beside this one in the sources, at the root of the bundle, whose chunks are in a folder. */
const MODULE = import.meta.url.endsWith('.ts') ? './thread.ts' : '../validate-thread.js';

const START = `
const { workerData: { module, cache } } = require('node:worker_threads');
if (cache !== undefined) require('node:module').enableCompileCache(cache);
import(module).then(({ runThread }) => runThread());
`;

/** A thread that checks files. */
export interface Running {
  readonly worker: Worker;
  /** Rejects when the worker fails or ends. */
  readonly ended: Promise<never>;
}

/** Starts a thread; it ends when its worker is terminated. */
export function startWorker(): Running {
  const module = new URL(MODULE, import.meta.url).href;
  const worker = new Worker(START, { eval: true, workerData: { module, cache: getCompileCacheDir() } });
  const { promise: ended, reject } = Promise.withResolvers<never>();
  worker.once('error', reject).once('exit', () => reject(new Error('a thread ended before its task')));
  // Without a task it is no failure.
  ended.catch(() => undefined);
  return { worker, ended };
}

/** Gives a task to a worker; resolves with what could not be evaluated, when the worker finds no more files. */
export async function runIn(
  { worker, ended }: Running,
  task: CheckTask,
  keep: (checked: CheckedFiles) => void,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>();
  const receive = (text: string): void => {
    const message = JSON.parse(text) as ThreadMessage;
    if ('notEvaluated' in message) resolve(message.notEvaluated);
    else keep(message);
  };
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
