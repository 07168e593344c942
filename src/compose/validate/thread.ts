import { parentPort } from 'node:worker_threads';
import { type CheckTask, checkFiles } from './check-files.ts';
import type { ThreadMessage } from './threads.ts';

/** Runs the tasks that the thread of `startThreads` sends to this worker. */
export function runThread(): void {
  const port = parentPort;
  const send = (message: ThreadMessage): void => port?.postMessage(message);
  port?.on('message', (task: CheckTask) => {
    checkFiles(task, send).then(
      (notEvaluated) => send({ notEvaluated }),
      (error: unknown) =>
        // Ends the thread with the error, which the starting thread gets.
        process.nextTick(() => {
          throw error;
        }),
    );
  });
}
