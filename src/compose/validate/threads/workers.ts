import { type Running, startWorker } from '../../start-worker.ts';
import type { CheckedFiles, CheckTask } from './check-files.ts';
import type { ThreadMessage } from './thread.ts';

/** The module of a worker: beside this module in the sources; at the root of the bundle, which has its chunks in a folder. */
const MODULE = import.meta.url.endsWith('.ts') ? './thread.ts' : '../validate-thread.js';

/** Starts a thread that checks files. */
export function startThread(): Running {
  return startWorker(new URL(MODULE, import.meta.url));
}

/** Gives a task to a worker; resolves with what could not be evaluated, when the worker finds no more files. */
export async function runIn(
  { worker, ended }: Running,
  task: CheckTask,
  keep: (checked: CheckedFiles) => void,
): Promise<readonly string[]> {
  const { promise, resolve } = Promise.withResolvers<readonly string[]>();
  const receive = (text: string): void => {
    const message = JSON.parse(text) as ThreadMessage;
    if ('notEvaluated' in message) resolve(message.notEvaluated);
    else keep(message);
  };
  worker.on('message', receive).postMessage(task);
  try {
    return await Promise.race([promise, ended]);
  } finally {
    worker.off('message', receive);
  }
}
