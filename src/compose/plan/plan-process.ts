import { writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import process from 'node:process';
import type { SidedRef } from '../../engine/explain/plan-causes.ts';
import type { Engine } from '../../engine/graph.ts';
import type { FileSignature } from '../../model/fleet/file-signature.ts';
import type { SourceName } from '../../model/fleet/ids.ts';
import { errorText } from '../../model/text/messages.ts';
import type { GitBlobOutcome } from '../../ports/git-repo.ts';
import type { RefReading, RefRefusal, TreePart } from '../../ports/source.ts';
import { type FinishedPlan, type PlanQuestion, planAbout } from '../../runtime/plans/plan-job.ts';
import { stageFile } from '../../runtime/replica/sources.ts';
import { type RefToRead, readRefChanges } from '../../sources/git/read-ref.ts';
import { openDecoder } from '../decoding/decode-with-warnings.ts';
import { parseRecording } from '../snapshot/read-recording.ts';
import { loadRecording } from '../snapshot/replay.ts';
import { finishedPlan } from './finished-plan.ts';
import { makePlan } from './make-plan.ts';

/** Messages to this process. */
export type ToPlanProcess =
  /** Some of the changes, and of the tree that they start from; the question follows after all of them. */
  | { readonly type: 'changes'; readonly changes: RefToRead['changes'] }
  | { readonly type: 'tree'; readonly part: TreePart }
  | { readonly type: 'question'; readonly question: PlanQuestion }
  /** The answers to what was asked for, in its order; null: the parent process cannot say. */
  | { readonly type: 'places'; readonly answer: readonly string[] }
  | { readonly type: 'blob'; readonly answer: GitBlobOutcome | null }
  | { readonly type: 'signatures'; readonly answer: ReadonlyMap<string, FileSignature> | null };

/** What this process asks the parent process for. */
export type PlanProcessAsks =
  | { readonly type: 'locate'; readonly refs: readonly SidedRef[] }
  | { readonly type: 'read'; readonly blob: string }
  | { readonly type: 'judge'; readonly files: ReadonlyMap<string, string> };

/** Messages from this process. */
export type FromPlanProcess =
  | PlanProcessAsks
  | { readonly type: 'finished'; readonly plan: FinishedPlan | RefRefusal }
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
  // It may fail before it is awaited.
  loading.catch(() => undefined);
  const { question, changes, tree } = await messages.question;
  const { ref, reading: how } = question;
  const { readBlob, signaturesOf } = messages;
  const toRead = { ref, reading: how, changes, tree, readBlob, signaturesOf };
  const reading = await readRefChanges(toRead, await openDecoder());
  if ('type' in reading) return send({ type: 'finished', plan: reading });
  const { engine } = await loading;
  const about = planAbout(question, reading);
  const plan = await makePlan(engine, () => stage(engine, question.source, reading), about, {
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

function stage(engine: Engine, source: SourceName, { changes, signatures }: RefReading): void {
  for (const { path, file } of changes) stageFile(engine, source, path, file);
  const value = engine.inputs.sources.get('', source);
  if (value !== undefined && signatures !== undefined) {
    engine.inputs.sources.set('', source, { ...value, signatures });
  }
}

/** A question with what was sent before it. */
interface Asked extends Pick<RefToRead, 'changes' | 'tree'> {
  readonly question: PlanQuestion;
}

function listen() {
  const question = Promise.withResolvers<Asked>();
  const changes: RefToRead['changes'][number][] = [];
  const tree: TreePart[] = [];
  const places = createQuestions<readonly string[]>();
  const blobs = createQuestions<GitBlobOutcome | null>();
  const signatures = createQuestions<ReadonlyMap<string, FileSignature> | null>();
  process.on('message', (message: ToPlanProcess) => {
    switch (message.type) {
      case 'changes':
        return void changes.push(...message.changes);
      case 'tree':
        return void tree.push(message.part);
      case 'question':
        return question.resolve({ question: message.question, changes, tree });
      case 'places':
        return places.answer(message.answer);
      case 'blob':
        return blobs.answer(message.answer);
      case 'signatures':
        return signatures.answer(message.answer);
    }
  });
  return {
    question: question.promise,
    places: (refs: readonly SidedRef[]) => places.ask({ type: 'locate', refs }),
    readBlob: async (blob: string) => known(await blobs.ask({ type: 'read', blob })),
    signaturesOf: async (files: ReadonlyMap<string, string>) => known(await signatures.ask({ type: 'judge', files })),
  };
}

/** Asks the parent process, which answers in the order of the questions. */
function createQuestions<Answer>() {
  const waiting: ((answer: Answer) => void)[] = [];
  return {
    ask: (message: PlanProcessAsks): Promise<Answer> => {
      const { promise, resolve } = Promise.withResolvers<Answer>();
      waiting.push(resolve);
      void send(message);
      return promise;
    },
    answer: (answer: Answer): void => waiting.shift()?.(answer),
  };
}

function known<Value>(answer: Value | null): Value {
  if (answer === null) throw new Error('the local copy of the repository cannot be read');
  return answer;
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
