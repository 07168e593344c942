import { errorText } from '../model/messages.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';

/**
 * The single writer. Everything that changes the engine's inputs does it through `transact`; changes that come in one
 * turn of the event loop share one commit.
 */
export interface Loop {
  /** Runs `stage` now (it stages input changes) and commits soon. */
  transact(stage: () => void): void;
  /** Commits at once what is staged; for whoever needs the result in the same breath. Nothing before {@link Loop.begin}. */
  settle(): void;
  /** All bookkeepers and sinks are there, and see the first commit: from now on what is staged is committed. */
  begin(): void;
  /** After each commit, before sinks hear of it: may stage more (the ledger's own notes). Returns true if it did. */
  addBookkeeper(bookkeeper: () => boolean): void;
  /** After each settled commit. */
  addSink(sink: () => void): void;
}

/** How often bookkeeping may stage more before that is a programming error. */
const MAX_ROUNDS = 10;

export function createLoop(deps: { readonly commit: () => unknown; readonly clock: Clock; readonly log: Log }): Loop {
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
        if (++rounds > MAX_ROUNDS) throw new Error('bookkeeping does not come to rest');
        for (const bookkeeper of bookkeepers) if (bookkeeper()) dirty = true;
      } while (dirty);
    } finally {
      settling = false;
    }
    for (const sink of sinks) runSink(sink, deps.log);
    // A sink may have staged something (a delta is in flight now): that is the next commit's.
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
    transact: (stage) => {
      stage();
      dirty = true;
      if (!settling) schedule();
    },
    settle,
    begin: () => {
      hasBegun = true;
    },
    addBookkeeper: (bookkeeper) => void bookkeepers.push(bookkeeper),
    addSink: (sink) => void sinks.push(sink),
  };
}

function runSink(sink: () => void, log: Log): void {
  try {
    sink();
  } catch (error) {
    log.error('a sink failed', { error: errorText(error) });
  }
}
