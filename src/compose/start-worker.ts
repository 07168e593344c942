import { getCompileCacheDir } from 'node:module';
import { type ResourceLimits, Worker } from 'node:worker_threads';

const START = `
const { workerData: { module, cache } } = require('node:worker_threads');
if (cache !== undefined) require('node:module').enableCompileCache(cache);
import(module).then(({ runThread }) => runThread());
`;

/** A running worker. */
export interface Running {
  readonly worker: Worker;
  /** Rejects when the worker fails or ends. */
  readonly ended: Promise<never>;
}

/** Starts a thread that runs `runThread` of a module; it ends when its worker is terminated. */
export function startWorker(module: URL, resourceLimits?: ResourceLimits): Running {
  const workerData = { module: module.href, cache: getCompileCacheDir() };
  const worker = new Worker(START, { eval: true, workerData, ...(resourceLimits && { resourceLimits }) });
  const { promise: ended, reject } = Promise.withResolvers<never>();
  worker.once('error', reject).once('exit', () => reject(new Error('a thread ended before its task')));
  // Without a task it is no failure.
  ended.catch(() => undefined);
  return { worker, ended };
}
