import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import type { Writable } from 'node:stream';
import type { Clock } from '../../ports/clock.ts';
import type { EvaluatePlan, FinishedPlan, PlanJob } from '../../runtime/plans/plan-job.ts';
import type { FromPlanProcess, ToPlanProcess } from './plan-process.ts';

/** Beside this module in the sources, at the root of the bundle, whose chunks are in a folder. */
const MODULE = import.meta.url.endsWith('.ts') ? './plan-process.ts' : '../plan-process.js';

const START = 'import(process.argv[1]).then(({ runPlanProcess }) => runPlanProcess())';

/** A plan of a large fleet takes some seconds. */
const DEADLINE_MS = 180_000;

/** Evaluates each plan in a process of its own. */
export function planProcesses(deps: { readonly clock: Clock }): EvaluatePlan {
  return (job, signal) => evaluate(deps, job, signal);
}

async function evaluate(
  { clock }: { readonly clock: Clock },
  { question, state, places }: PlanJob,
  signal: AbortSignal,
): Promise<FinishedPlan> {
  // The flags of the server are for its own memory, so they are not passed on.
  const child = spawn(process.execPath, ['--eval', START, new URL(MODULE, import.meta.url).href], {
    stdio: ['pipe', 'ignore', 'ignore', 'ipc'],
    serialization: 'advanced',
  });
  const outcome = answerOf(child, places);
  const end = (why: string) => (): void => {
    outcome.fail(why);
    child.kill('SIGKILL');
  };
  const stopped = end('the plan was stopped');
  const cancel = clock.schedule(DEADLINE_MS, end(`the plan took longer than ${DEADLINE_MS / 1000} seconds`));
  signal.addEventListener('abort', stopped, { once: true });
  if (signal.aborted) stopped();
  try {
    send(child, { type: 'question', question });
    // A process that ends early closes its input; the outcome says why.
    void write(child.stdin as Writable, state).catch(() => undefined);
    return await outcome.promise;
  } finally {
    cancel();
    signal.removeEventListener('abort', stopped);
    child.kill('SIGKILL');
  }
}

function answerOf(child: ChildProcess, places: PlanJob['places']) {
  const { promise, resolve, reject } = Promise.withResolvers<FinishedPlan>();
  const fail = (why: string): void => reject(new Error(why));
  child.on('message', (message: FromPlanProcess) => {
    if (message.type === 'finished') resolve(message.plan);
    else if (message.type === 'failed') fail(message.message);
    else {
      places(message.refs).then(
        (found) => send(child, { type: 'places', places: found }),
        () => send(child, { type: 'places', places: [] }),
      );
    }
  });
  child.once('error', (error) => fail(`the process of the plan could not be started: ${error.message}`));
  child.once('exit', (code, by) =>
    fail(`the process of the plan has ended (${by ?? `exit code ${code}`}); it may need more memory`),
  );
  return { promise, fail };
}

function send(child: ChildProcess, message: ToPlanProcess): void {
  if (child.connected) child.send(message, () => undefined);
}

async function write(input: Writable, texts: AsyncIterable<string>): Promise<void> {
  input.on('error', () => undefined);
  for await (const text of texts) {
    if (input.destroyed) return;
    if (!input.write(text)) await Promise.race([once(input, 'drain'), once(input, 'close')]);
  }
  input.end();
}
