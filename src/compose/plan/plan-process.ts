import { writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import process from 'node:process';
import type { SidedRef } from '../../engine/explain/plan-causes.ts';
import type { Engine } from '../../engine/graph.ts';
import { errorText } from '../../model/messages.ts';
import type { PlanView } from '../../model/plan/plan.ts';
import { planMarkdown } from '../../model/plan/plan-markdown.ts';
import { hasChanges, sumOf } from '../../model/plan/plan-text.ts';
import type { FinishedPlan, PlanQuestion } from '../../runtime/plans/plan-job.ts';
import { stageFile } from '../../runtime/replica/sources.ts';
import { parseRecording } from '../snapshot/read-recording.ts';
import { loadRecording } from '../snapshot/replay.ts';
import { makePlan } from './make-plan.ts';

/** Messages to this process. */
export type ToPlanProcess =
  | { readonly type: 'question'; readonly question: PlanQuestion }
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
    send({ type: 'failed', message: errorText(error) });
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
  const plan = await makePlan(asLeader(engine), () => stage(engine, question), question.about, {
    place: createBatchedPlaces(messages.places),
  });
  send({ type: 'finished', plan: finished(plan) });
}

function finished(plan: PlanView): FinishedPlan {
  return {
    json: JSON.stringify(plan),
    markdown: planMarkdown(plan),
    summary: sumOf(plan.summary),
    hasChanges: hasChanges(plan),
  };
}

/** Under memory pressure this process ends, and not the server; other work of the machine goes first. */
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

/** Removals are judged as the leader judges them. */
function asLeader(engine: Engine): Engine {
  const { fleet } = engine.inputs;
  const settings = fleet.get('', '');
  if (settings === undefined || settings.role === 'leader') return engine;
  fleet.set('', '', { ...settings, role: 'leader' });
  engine.commit();
  return engine;
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
  const waiting: ((places: readonly string[]) => void)[] = [];
  process.on('message', (message: ToPlanProcess) => {
    if (message.type === 'question') question.resolve(message.question);
    else waiting.shift()?.(message.places);
  });
  return {
    question: question.promise,
    places: (refs: readonly SidedRef[]): Promise<readonly string[]> => {
      const { promise, resolve } = Promise.withResolvers<readonly string[]>();
      waiting.push(resolve);
      send({ type: 'locate', refs });
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

function send(message: FromPlanProcess): void {
  process.send?.(message);
}
