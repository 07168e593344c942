import { writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import process from 'node:process';
import type { SidedRef } from '../../engine/explain/plan-causes.ts';
import type { Engine } from '../../engine/graph.ts';
import { errorText } from '../../model/messages.ts';
import type { FinishedPlan, PlanQuestion } from '../../runtime/plans/plan-job.ts';
import { stageFile } from '../../runtime/replica/sources.ts';
import { parseRecording } from '../snapshot/read-recording.ts';
import { loadRecording } from '../snapshot/replay.ts';
import { finishedPlan } from './finished-plan.ts';
import { makePlan } from './make-plan.ts';

/** Messages to this process. */
export type ToPlanProcess =
  /** Some of the changes; the question follows after all of them. */
  | { readonly type: 'changes'; readonly changes: PlanQuestion['changes'] }
  | { readonly type: 'question'; readonly question: Omit<PlanQuestion, 'changes'> }
  /** The places of the references that were asked for, in their order. */
  | { readonly type: 'places'; readonly places: readonly string[] };

/** Messages from this process. */
export type FromPlanProcess =
  | { readonly type: 'locate'; readonly refs: readonly SidedRef[] }
  | { readonly type: 'finished'; readonly plan: FinishedPlan }
  | { readonly type: 'failed'; readonly message: string };

/** Answers one question of the parent process, and ends. The state comes on standard input. */
export async function runPlanProcess(): Promise<void> {
  try {
    await answer();
  } catch (error) {
    await send({ type: 'failed', message: errorText(error) });
  } finally {
    process.disconnect?.();
  }
}

async function answer(): Promise<void> {
  yieldToServer();
  const messages = listen();
  const loading = parseRecording(process.stdin, 'the state of the server').then((opened) =>
    loadRecording(opened, 'dropped'),
  );
  const [{ engine }, question] = await Promise.all([loading, messages.question]);
  const plan = await makePlan(engine, () => stage(engine, question), question.about, {
    place: createBatchedPlaces(messages.places),
  });
  await send({ type: 'finished', plan: finishedPlan(plan) });
}

/** Other work of the machine goes first, and where the system chooses a process to end, it is this one. */
function yieldToServer(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '1000');
  } catch {
    // Only Linux has it.
  }
  try {
    setPriority(10);
  } catch {
    // A container may forbid it.
  }
}

function stage(engine: Engine, { source, changes, signatures }: PlanQuestion): void {
  for (const { path, file } of changes) stageFile(engine, source, path, file);
  const value = engine.inputs.sources.get('', source);
  if (value !== undefined && signatures !== undefined) {
    engine.inputs.sources.set('', source, { ...value, signatures });
  }
}

function listen() {
  const question = Promise.withResolvers<PlanQuestion>();
  const changes: PlanQuestion['changes'][number][] = [];
  const waiting: ((places: readonly string[]) => void)[] = [];
  process.on('message', (message: ToPlanProcess) => {
    if (message.type === 'changes') changes.push(...message.changes);
    else if (message.type === 'question') question.resolve({ ...message.question, changes });
    else waiting.shift()?.(message.places);
  });
  return {
    question: question.promise,
    places: (refs: readonly SidedRef[]): Promise<readonly string[]> => {
      const { promise, resolve } = Promise.withResolvers<readonly string[]>();
      waiting.push(resolve);
      void send({ type: 'locate', refs });
      return promise;
    },
  };
}

/** Asks together for what is asked for in one turn. */
function createBatchedPlaces(
  ask: (refs: readonly SidedRef[]) => Promise<readonly string[]>,
): (ref: SidedRef) => Promise<string> {
  let batch: { readonly ref: SidedRef; readonly answer: (place: string) => void }[] = [];
  const flush = async (): Promise<void> => {
    const asked = batch;
    batch = [];
    const places = await ask(asked.map(({ ref }) => ref));
    for (const [index, { ref, answer }] of asked.entries()) answer(places[index] ?? ref.path);
  };
  return (ref) => {
    const { promise, resolve } = Promise.withResolvers<string>();
    if (batch.length === 0) queueMicrotask(() => void flush());
    batch.push({ ref, answer: resolve });
    return promise;
  };
}

/** Resolves when the parent process has the message: what is sent later than that would be lost at the end. */
function send(message: FromPlanProcess): Promise<void> {
  return new Promise((sent) => {
    process.send?.(message, undefined, undefined, () => sent());
  });
}
