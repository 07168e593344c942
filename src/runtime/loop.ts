import { errorText } from '../model/messages.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';

/** Commits in which bookkeepers may stage more changes; more of them are a defect. */
const MAX_ROUNDS = 10;

export type Loop = ReturnType<typeof createLoop>;

/**
 * The single writer. All changes of the engine's inputs are staged in `transact`; the changes of one turn of the event loop share
 * one commit.
 */
export function createLoop(deps: { readonly commit: () => unknown; readonly clock: Clock; readonly log: Log }) {
  const bookkeepers: (() => boolean)[] = [];
  const sinks: (() => void)[] = [];
  let scheduled = false;
  let dirty = false;
  let settling = false;
  let hasBegun = false;

  const settle = (): void => {
    if (!hasBegun || settling || !dirty) return;
    settling = true;
    try {
      let rounds = 0;
      do {
        dirty = false;
        deps.commit();
        if (++rounds > MAX_ROUNDS) throw new Error('bookkeepers stage changes without end');
        for (const bookkeeper of bookkeepers) if (bookkeeper()) dirty = true;
      } while (dirty);
    } finally {
      settling = false;
    }
    for (const sink of sinks) runSink(sink, deps.log);
    // Changes that a sink has staged (a delta is in flight now) are in the next commit.
    if (dirty) schedule();
  };
  const schedule = (): void => {
    if (!hasBegun || scheduled) return;
    scheduled = true;
    deps.clock.schedule(0, () => {
      scheduled = false;
      settle();
    });
  };

  return {
    /** Runs `stage` now, which stages changes of inputs, and commits soon. */
    transact: (stage: () => void): void => {
      stage();
      dirty = true;
      if (!settling) schedule();
    },
    /** Commits the staged changes at once, for a caller that reads the result next. Does nothing before `begin`. */
    settle,
    /** All bookkeepers and sinks are added, and receive the first commit: from now on staged changes are committed. */
    begin: (): void => {
      hasBegun = true;
    },
    /** Runs after each commit, before the sinks; it may stage more, and returns true if it did. */
    addBookkeeper: (bookkeeper: () => boolean): void => void bookkeepers.push(bookkeeper),
    /** Runs after each settled commit. */
    addSink: (sink: () => void): void => void sinks.push(sink),
  };
}

function runSink(sink: () => void, log: Log): void {
  try {
    sink();
  } catch (error) {
    log.error('a sink failed', { error: errorText(error) });
  }
}
