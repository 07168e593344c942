import { setFlagsFromString } from 'node:v8';
import { parentPort } from 'node:worker_threads';
import { type CheckedFiles, type CheckTask, checkFiles } from './check-files.ts';

/** What a thread sends: findings, and at the end of each task what could not be evaluated. */
export type ThreadMessage = CheckedFiles | { readonly notEvaluated: readonly string[] };

/**
 * Flags of V8 for the complete process. Each thread compiles the same code for itself while every processor is busy with files:
 * in the first seconds, V8's optimizing compilers cost more time than their code saves. Names of flags differ between versions
 * of V8, and it complains about an unknown one, so they are set in the version of Node.js 24 only.
 */
const COMPILE_LESS = process.versions.v8.startsWith('13.')
  ? ['--invocation-count-for-turbofan=30000', '--max-maglev-inlined-bytecode-size-cumulative=100']
  : [];

/** Runs the tasks that the main thread sends to this worker. */
export function runThread(): void {
  const port = parentPort;
  // As JSON, because cloning many small objects takes longer.
  const send = (message: ThreadMessage): void => port?.postMessage(JSON.stringify(message));
  let hasBegun = false;
  const done = (checked: CheckedFiles): void => {
    // A module that is loaded with other flags is not read from the compile cache, so all modules are loaded before.
    if (!hasBegun) for (const flag of COMPILE_LESS) setFlagsFromString(flag);
    hasBegun = true;
    send(checked);
  };
  port?.on('message', (task: CheckTask) => {
    checkFiles(task, done).then(
      (notEvaluated) => send({ notEvaluated }),
      (error: unknown) =>
        // Ends the thread with the error, which the starting thread gets.
        process.nextTick(() => {
          throw error;
        }),
    );
  });
}
