import type { CommitReport, Graph } from '../engine/collections/types.ts';
import { errorText } from '../model/text/messages.ts';
import { sliceOf } from '../model/values/in-slices.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import {
  type Arrange,
  createPhases,
  RECORDER_PHASES,
  type RecorderPhase,
  SINK_PHASES,
  type SinkPhase,
} from './phases.ts';

/** Rounds of one commit in which recorders may stage more changes; more of them are a defect. */
const MAX_ROUNDS = 10;
/** Records between two looks at the clock: most records take a few microseconds. */
const RECORDS_PER_LOOK = 16;

export type Loop = ReturnType<typeof createLoop>;

/** Begins a slice; the returned function says whether it is over, and is asked after each record of work. */
export type BeginSlice = () => () => boolean;

export interface LoopDeps {
  readonly engine: {
    readonly advance: (isUp: () => boolean) => CommitReport | undefined;
    readonly graph: Pick<Graph, 'pause' | 'resume' | 'barrier'>;
  };
  readonly clock: Clock;
  readonly log: Log;
  /** Default: a slice lasts ten milliseconds. */
  readonly beginSlice?: BeginSlice;
  /** Default: in the order in which they were added. */
  readonly arrange?: Arrange;
  /** Called after each commit of the engine, with the time that its slices took. */
  readonly committed?: (seconds: number, computed: number) => void;
}

/** Works at once, or yields after each piece of work. */
type Sink = () => Iterable<undefined> | undefined;
/** True: it has staged a change. */
type Recorder = () => boolean | Generator<undefined, boolean>;

/**
 * The single writer. All changes of the engine's inputs are staged in `transact`; the changes of one turn of the event loop share
 * one commit. A commit is done in slices, between which the event loop turns: until its barrier all other code sees the state
 * before it, and what is staged meanwhile is in the next commit, where the last write of a key counts.
 */
export function createLoop(deps: LoopDeps) {
  const { clock } = deps;
  const beginSlice = deps.beginSlice ?? (() => sliceOf(clock));
  const parts = createParts(deps.arrange);
  const isUpAfterRecord = deps.beginSlice === undefined ? everySo(RECORDS_PER_LOOK, () => isUp()) : () => isUp();
  /** The batches of the next commit, and of the commit that is under way. */
  let next = createBatch();
  let current = next;
  /** The rest of the commit that is under way, or of its sinks. */
  let rest: Iterator<undefined> | undefined;
  let isUp = never;
  let isRunning = false;
  let isScheduled = false;
  let hasBegun = false;

  const isOpen = (): boolean => rest !== undefined || next.isStaged;
  const begin = (): Iterator<undefined> => {
    current = next;
    next = createBatch();
    return commitInSlices(deps, parts, current, { isUp: () => isUp(), isUpAfterRecord });
  };
  /** Works until the slice is over, or the commit has ended that contains all that was staged before; then the next one is due. */
  const work = (slice: () => boolean): void => {
    if (isRunning || !hasBegun) return;
    isRunning = true;
    isUp = slice;
    try {
      for (let commits = Number(rest !== undefined) + Number(next.isStaged); commits > 0; commits -= 1) {
        rest ??= begin();
        if (rest.next().done !== true) break;
        rest = undefined;
      }
    } catch (error) {
      rest = undefined;
      for (const { reject } of current.settled.splice(0)) reject(error);
      // What it has staged is published by the next commit.
      next.published.unshift(...current.published);
      next.staging.unshift(...current.staging);
      throw error;
    } finally {
      isRunning = false;
      if (isOpen()) schedule();
    }
  };
  const schedule = (): void => {
    if (!hasBegun || isScheduled) return;
    isScheduled = true;
    clock.schedule(0, () => {
      isScheduled = false;
      work(beginSlice());
    });
  };

  return {
    /**
     * Runs `stage` now, which stages changes of inputs, and commits soon. `staging` stages more as the commit begins, in slices; it
     * yields after each piece, and no other code sees a part of it. `committed` is called after the engine has committed
     * them, before the recorders of that commit; `published` at its barrier, before its sinks: all other code sees them then.
     */
    transact: (stage: () => void, hooks: CommitHooks = {}): void => {
      stage();
      // Between two slices only the next commit can take a change; the change of a recorder is in the commit that runs it.
      const batch = isRunning && rest !== undefined && !current.isClosed ? current : next;
      batch.isStaged = true;
      addHooks(batch, hooks);
      if (!isRunning) schedule();
    },
    /**
     * Commits the staged changes at once and as a whole, for a caller that cannot wait: the event loop does not turn meanwhile.
     * Does nothing before `begin`, and within a recorder or a sink.
     */
    settle: (): void => work(never),
    /**
     * Resolves when all that is staged now is committed and the sinks were notified; at once before `begin`. Rejects if that
     * commit throws, or an earlier one that this call has continued.
     */
    settled: (): Promise<void> => {
      if (!hasBegun || !isOpen()) return Promise.resolve();
      const waiter = Promise.withResolvers<void>();
      (next.isStaged ? next : current).settled.push(waiter);
      try {
        work(beginSlice());
      } catch (error) {
        waiter.reject(error);
      }
      return waiter.promise;
    },
    /** A commit is under way, or its sinks are: all other code sees the state before its barrier. */
    isCommitting: (): boolean => rest !== undefined,
    /** All recorders and sinks are added, and receive the first commit: from now on staged changes are committed. */
    begin: (): void => {
      hasBegun = true;
    },
    /** Runs after each commit, before the sinks; it may stage more, and returns true if it did. */
    addRecorder: (phase: RecorderPhase, recorder: Recorder): void => parts.recorders.add(phase, recorder),
    /** Runs after each settled commit. */
    addSink: (phase: SinkPhase, sink: Sink | (() => void)): void => parts.sinks.add(phase, sink as Sink),
  };
}

/** What a transaction stages in slices, and what is called when its changes have come so far. */
interface CommitHooks {
  readonly staging?: Iterable<undefined>;
  readonly committed?: () => void;
  readonly published?: () => void;
}

type Parts = ReturnType<typeof createParts>;

function createParts(arrange: Arrange | undefined) {
  return {
    recorders: createPhases<RecorderPhase, Recorder>(RECORDER_PHASES, arrange),
    sinks: createPhases<SinkPhase, Sink>(SINK_PHASES, arrange),
  };
}

/** What belongs to one commit. */
interface Batch {
  /** Something was staged that the commit has not applied yet. */
  isStaged: boolean;
  /** The barrier has been: what is staged from now on is in the next commit. */
  isClosed: boolean;
  readonly staging: Iterable<undefined>[];
  readonly committed: (() => void)[];
  readonly published: (() => void)[];
  readonly settled: Pick<PromiseWithResolvers<void>, 'resolve' | 'reject'>[];
}

function createBatch(): Batch {
  return { isStaged: false, isClosed: false, staging: [], committed: [], published: [], settled: [] };
}

function addHooks(batch: Batch, { staging, committed, published }: CommitHooks): void {
  if (staging !== undefined) batch.staging.push(staging);
  if (committed !== undefined) batch.committed.push(committed);
  if (published !== undefined) batch.published.push(published);
}

/** One commit, its recorders and its sinks. Yields where a slice ends. */
function* commitInSlices(
  deps: LoopDeps,
  parts: Parts,
  batch: Batch,
  { isUp, isUpAfterRecord }: { readonly isUp: () => boolean; readonly isUpAfterRecord: () => boolean },
): Generator<undefined> {
  const { graph } = deps.engine;
  for (let round = 1; batch.isStaged; round += 1) {
    if (round > MAX_ROUNDS) throw new Error('recorders stage changes without end');
    batch.isStaged = false;
    for (let staging = batch.staging.shift(); staging !== undefined; staging = batch.staging.shift()) {
      for (const _ of staging) if (isUpAfterRecord()) yield* pausing(graph);
    }
    yield* advanceInSlices(deps, isUpAfterRecord);
    for (const committed of batch.committed.splice(0)) committed();
    for (const recorder of parts.recorders.all()) {
      const pieces = piecesOfRecorder(recorder);
      for (let piece = pieces.next(); ; piece = pieces.next()) {
        if (isUpAfterRecord()) yield* pausing(graph);
        if (piece.done !== true) continue;
        if (piece.value) batch.isStaged = true;
        break;
      }
    }
  }
  batch.isClosed = true;
  graph.barrier();
  for (const published of batch.published) published();
  // Changes that a sink stages (a delta is in flight now) are in the next commit.
  for (const sink of parts.sinks.all()) for (const _ of piecesOf(sink, deps.log)) if (isUp()) yield;
  for (const { resolve } of batch.settled) resolve();
}

/** Between two slices of a commit, where others see the state before it. */
function* pausing(graph: LoopDeps['engine']['graph']): Generator<undefined> {
  graph.pause();
  yield;
  graph.resume();
}

function* advanceInSlices({ engine, clock, committed }: LoopDeps, isUp: () => boolean): Generator<undefined> {
  let spent = 0;
  for (;;) {
    const before = clock.monotonic();
    const report = engine.advance(isUp);
    spent += clock.monotonic() - before;
    if (report !== undefined) return committed?.(spent / 1000, report.computed);
    yield;
  }
}

function* piecesOfRecorder(recorder: Recorder): Generator<undefined, boolean> {
  const worked = recorder();
  return typeof worked === 'boolean' ? worked : yield* worked;
}

function* piecesOf(sink: Sink, log: Log): Generator<undefined> {
  try {
    yield* sink() ?? [];
  } catch (error) {
    log.error('a sink failed', { error: errorText(error) });
  }
  yield;
}

/** Asks at every `calls`th call, and returns false otherwise. */
function everySo(calls: number, ask: () => boolean): () => boolean {
  let count = 0;
  return () => {
    count = (count + 1) % calls;
    return count === 0 && ask();
  };
}

function never(): boolean {
  return false;
}
