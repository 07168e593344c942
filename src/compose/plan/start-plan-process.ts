import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { errorText } from '../../model/text/messages.ts';
import { createTurns, type InTurn } from '../../model/values/in-turn.ts';
import type { Clock } from '../../ports/clock.ts';
import type { RefRefusal } from '../../ports/source.ts';
import type { EvaluatePlan, FinishedPlan, PlanJob } from '../../runtime/plans/plan-job.ts';
import type { FromPlanProcess, PlanProcessAsks, ToPlanProcess } from './plan-process.ts';

/** Beside this module in the sources; at the root of the bundle, which has its chunks in a folder. */
const MODULE = import.meta.url.endsWith('.ts') ? './plan-process.ts' : '../plan-process.js';

const START = 'import(process.argv[1]).then(({ runPlanProcess }) => runPlanProcess())';

/** Changed files in one message. */
const PART = 200;
/** Of what the process writes to standard error, in characters. */
const MOST_SAID = 4_000;
/** A plan of a large fleet takes some seconds. */
const DEADLINE_MS = 180_000;

/** Evaluates each plan in a process of its own. */
export function planProcesses(deps: { readonly clock: Clock }): EvaluatePlan {
  return (job, signal) => evaluate(deps, job, signal);
}

async function evaluate(
  { clock }: { readonly clock: Clock },
  job: PlanJob,
  signal: AbortSignal,
): Promise<FinishedPlan | RefRefusal> {
  const { state } = job;
  // The flags and the environment of the server are for itself, so they are not passed on.
  const args = [`--max-old-space-size=${heapMiB()}`, '--eval', START, new URL(MODULE, import.meta.url).href];
  const child = spawn(process.execPath, args, {
    stdio: ['pipe', 'ignore', 'pipe', 'ipc'],
    serialization: 'advanced',
    env: { PATH: process.env.PATH },
  });
  const outcome = answerOf(child, job);
  const end = (why: string) => (): void => {
    outcome.fail(why);
    child.kill('SIGKILL');
  };
  const stopped = end('the plan was stopped');
  const cancel = clock.schedule(DEADLINE_MS, end(`the plan took longer than ${DEADLINE_MS / 1000} seconds`));
  signal.addEventListener('abort', stopped, { once: true });
  if (signal.aborted) stopped();
  try {
    ask(child, job).catch((error: unknown) => outcome.fail(errorText(error)));
    // If the process ends early, its end says why.
    pipeline(Readable.from(state), child.stdin as Writable).catch((error: unknown) => {
      if (child.exitCode === null && child.signalCode === null) outcome.fail(errorText(error));
    });
    return await outcome.promise;
  } finally {
    cancel();
    signal.removeEventListener('abort', stopped);
    child.kill('SIGKILL');
  }
}

/** A part of what the machine or the container has left, so that the server keeps the rest. */
function heapMiB(): number {
  const left = process.availableMemory() / 1024 / 1024;
  return Math.round(Math.min(8_192, Math.max(256, left * 0.6)));
}

/** Sends a question in parts, between which the event loop turns. */
async function ask(child: ChildProcess, { question, changes: { changes, tree } }: PlanJob): Promise<void> {
  for (const part of tree) await send(child, { type: 'tree', part });
  for (let from = 0; from < changes.length; from += PART) {
    await send(child, { type: 'changes', changes: changes.slice(from, from + PART) });
  }
  await send(child, { type: 'question', question });
}

function answerOf(child: ChildProcess, job: PlanJob) {
  const { promise, resolve, reject } = Promise.withResolvers<FinishedPlan | RefRefusal>();
  // Answers leave in the order of the questions.
  const inTurn = { blobs: createTurns(), places: createTurns(), signatures: createTurns() };
  const fail = (why: string): void => reject(new Error(why));
  // It may fail before it is awaited.
  promise.catch(() => undefined);
  let said = '';
  child.stderr?.on('data', (text: Buffer) => {
    said = (said + text.toString()).slice(-MOST_SAID);
  });
  child.on('message', (message: FromPlanProcess) => {
    if (message.type === 'finished') resolve(message.plan);
    else if (message.type === 'failed') fail(message.message);
    else void answerQuestion(child, job, message, inTurn);
  });
  child.once('error', (error) => fail(`the process of the plan could not be started: ${error.message}`));
  // After all that it has sent.
  void Promise.all([once(child, 'close'), once(child, 'disconnect')]).then(([[code, by]]) => {
    const isOfMemory = by === 'SIGABRT' || by === 'SIGKILL' || /heap out of memory/.test(said);
    fail(
      `the process of the plan has ended (${by ?? `exit code ${code}`})${isOfMemory ? ': it needs more memory' : ''}`,
    );
  }, fail);
  return { promise, fail };
}

/** Answers what the process asks for; what cannot be answered is empty. */
async function answerQuestion(
  child: ChildProcess,
  { changes: { readBlob, signaturesOf }, places }: PlanJob,
  message: PlanProcessAsks,
  inTurn: Readonly<Record<'blobs' | 'places' | 'signatures', InTurn>>,
): Promise<void> {
  switch (message.type) {
    case 'locate': {
      const answer = places(message.refs).catch(() => []);
      return inTurn.places(async () => send(child, { type: 'places', answer: await answer }));
    }
    case 'read': {
      const answer = readBlob(message.blob).catch(() => null);
      return inTurn.blobs(async () => send(child, { type: 'blob', answer: await answer }));
    }
    case 'judge': {
      const answer = signaturesOf(message.files).catch(() => null);
      return inTurn.signatures(async () => send(child, { type: 'signatures', answer: await answer }));
    }
  }
}

/** Resolves when the message has left, or cannot any more. */
function send(child: ChildProcess, message: ToPlanProcess): Promise<void> {
  if (!child.connected) return Promise.resolve();
  return new Promise((sent) => {
    child.send(message, () => sent());
  });
}
