import { parentPort } from 'node:worker_threads';
import { type CheckedFiles, type CheckTask, checkFiles } from './check-files.ts';

/** What a thread sends: findings, and at the end of each task what could not be evaluated. */
export type ThreadMessage = CheckedFiles | { readonly notEvaluated: readonly string[] };

/** Runs the tasks that the main thread sends to this worker. */
export function runThread(): void {
  const port = parentPort;
  // As JSON, because cloning many small objects takes longer.
  const send = (message: ThreadMessage): void => port?.postMessage(JSON.stringify(message));
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
