import type { Clock } from '../../../ports/clock.ts';
import { gitCopyError } from '../../../ports/git-repo.ts';
import type { ThreadAnswer, ThreadArguments, ThreadMethod, ThreadOptions, ThreadResult, ThreadTask } from './thread.ts';

/** A thread that runs `runThread` of `thread.ts`. */
export interface GitThread {
  readonly worker: {
    postMessage(task: ThreadTask): void;
    on(event: 'message', listener: (answer: ThreadAnswer) => void): unknown;
    terminate(): Promise<number>;
    getHeapStatistics(): Promise<ThreadMemory>;
  };
  /** Rejects when the thread fails or ends. */
  readonly ended: Promise<never>;
}

export type ThreadCalls = ReturnType<typeof createThreadCalls>;

/** Bytes of buffers, and of all else. */
interface ThreadMemory {
  readonly external_memory: number;
  readonly used_heap_size: number;
}

export interface CallLimits {
  readonly deadlineMs: number;
  /** The thread is ended when it needs more memory. */
  readonly maxBytes?: number;
  readonly signal?: AbortSignal | undefined;
}

type Forced = 'timedOut' | 'aborted' | 'tooLarge';

/** How a call ended. `failed`: the method threw, or the thread ended. */
export type CallOutcome<Value> =
  | { readonly type: 'value'; readonly value: Value }
  | { readonly type: 'needsHistory' | Forced }
  | { readonly type: 'failed'; readonly error: Error };

/** A thread that computes cannot be asked to stop: it is ended this long after the request. */
const GRACE_MS = 2_000;
const LOCAL_DEADLINE_MS = 120_000;
/** Between two looks at the memory of a thread. */
const MEMORY_INTERVAL_MS = 200;
/** A history is complete after a few calls. */
const MOST_DEEPENINGS = 5;

interface Deps {
  readonly clock: Clock;
  readonly startThread: () => GitThread;
}

interface Hooks {
  readonly start: () => Promise<ThreadOptions>;
  readonly branchFound: (name: string) => void;
}

type Settle = (outcome: CallOutcome<unknown>) => void;

/** Keeps one thread, which starts when it is needed, and again after its end. */
function createThreadSlot({ startThread }: Deps, { start, branchFound }: Hooks) {
  const waiting = new Map<number, Settle>();
  let thread: Promise<GitThread> | undefined;
  const end = async (error: Error): Promise<void> => {
    const ending = thread;
    thread = undefined;
    for (const settle of [...waiting.values()]) settle({ type: 'failed', error });
    await ending?.then(({ worker }) => worker.terminate()).catch(() => undefined);
  };
  const begin = async (): Promise<GitThread> => {
    const options = await start();
    const made = startThread();
    made.worker.on('message', (answer) => {
      if ('branch' in answer && answer.branch !== undefined) branchFound(answer.branch);
      waiting.get(answer.id)?.(outcomeOf(answer));
    });
    made.ended.catch(async (error: Error) => {
      // A thread that was ended here may have a successor.
      if ((await thread?.catch(() => undefined)) !== made) return;
      await end(gitCopyError(`the thread of a repository has ended: ${error.message}`));
    });
    made.worker.postMessage({ start: options });
    return made;
  };
  return {
    waiting,
    end,
    /** Rejects if the thread cannot be started. */
    get: async (): Promise<GitThread['worker']> => {
      thread ??= begin();
      const own = thread;
      const { worker } = await own.catch((error: unknown) => {
        if (thread === own) thread = undefined;
        throw error;
      });
      return worker;
    },
  };
}

/** Calls methods of the work of a thread. */
export function createThreadCalls(deps: Deps, hooks: Hooks) {
  const { clock } = deps;
  const slot = createThreadSlot(deps, hooks);
  let last = 0;
  let isClosed = false;
  const call = async <Method extends ThreadMethod>(
    method: Method,
    args: ThreadArguments<Method>,
    { deadlineMs, maxBytes = Number.POSITIVE_INFINITY, signal }: CallLimits,
  ): Promise<CallOutcome<ThreadResult<Method>>> => {
    if (isClosed || signal?.aborted === true) return { type: 'aborted' };
    const worker = await slot.get();
    // The end of its thread has answered all calls before this one.
    if (isClosed) return { type: 'aborted' };
    const id = ++last;
    const { promise, resolve } = Promise.withResolvers<CallOutcome<unknown>>();
    let forced: Forced | undefined;
    let cancelGrace = (): void => undefined;
    const force = (why: Forced): void => {
      if (forced !== undefined) return;
      forced = why;
      worker.postMessage({ cancel: id });
      cancelGrace = clock.schedule(GRACE_MS, () => void slot.end(gitCopyError('the thread of a repository was ended')));
    };
    const abort = (): void => force('aborted');
    const stopWatch = watchMemory(clock, worker, maxBytes, () => {
      forced ??= 'tooLarge';
      void slot.end(gitCopyError('the thread of a repository needed too much memory'));
    });
    const cancelDeadline = clock.schedule(deadlineMs, () => force('timedOut'));
    signal?.addEventListener('abort', abort, { once: true });
    slot.waiting.set(id, resolve);
    worker.postMessage({ id, method, args });
    const outcome = await promise;
    slot.waiting.delete(id);
    cancelDeadline();
    cancelGrace();
    stopWatch();
    signal?.removeEventListener('abort', abort);
    if (forced !== undefined || isClosed) return { type: forced ?? 'aborted' };
    return outcome as CallOutcome<ThreadResult<Method>>;
  };
  return {
    call,
    /** Reads the local copy, after `deepen` has completed it if the answer needs older history. */
    read: async <Method extends ThreadMethod>(
      method: Method,
      deepen: () => Promise<void>,
      ...args: ThreadArguments<Method>
    ): Promise<ThreadResult<Method>> => {
      for (let deepenings = 0; deepenings <= MOST_DEEPENINGS; deepenings += 1) {
        const outcome = await call(method, args, { deadlineMs: LOCAL_DEADLINE_MS });
        if (outcome.type === 'value') return outcome.value;
        if (outcome.type === 'failed') throw outcome.error;
        if (outcome.type !== 'needsHistory') throw new Error(`reading the local copy ended: ${outcome.type}`);
        await deepen();
      }
      throw new Error('the history of the repository could not be completed');
    },
    close: async (): Promise<void> => {
      isClosed = true;
      await slot.end(gitCopyError('the reading was stopped'));
    },
  };
}

/** Calls `outgrown` when a thread needs more memory. It looks also while the thread computes. */
function watchMemory(clock: Clock, worker: GitThread['worker'], maxBytes: number, outgrown: () => void): () => void {
  const stopping = new AbortController();
  const watch = async (): Promise<void> => {
    while (maxBytes !== Number.POSITIVE_INFINITY) {
      await clock.sleep(MEMORY_INTERVAL_MS, stopping.signal);
      if (stopping.signal.aborted) return;
      const memory = await worker.getHeapStatistics();
      if (memory.external_memory + memory.used_heap_size > maxBytes && !stopping.signal.aborted) return outgrown();
    }
  };
  // It rejects when the thread has ended, which the call is told.
  watch().catch(() => undefined);
  return () => stopping.abort();
}

function outcomeOf(answer: ThreadAnswer): CallOutcome<unknown> {
  if ('needsHistory' in answer) return { type: 'needsHistory' };
  if ('value' in answer) return { type: 'value', value: answer.value };
  const { name, message } = answer.error;
  return { type: 'failed', error: name === 'GitCopyError' ? gitCopyError(message) : new Error(message) };
}
