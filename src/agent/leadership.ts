import { createElector, type Term } from '../election/elector.ts';
import { backOffMs } from '../model/limits/back-off.ts';
import type { Clock } from '../ports/clock.ts';
import type { Lease } from '../ports/lease.ts';
import type { Log } from '../ports/log.ts';

/** A term of this process as the leader. */
export interface LedTerm extends Term {
  /** Gives the term up because of a fault of this process. */
  resign(reason: string): void;
}

/** Starts the leader's work; resolves with the function that ends it. Rejects if the work cannot start. */
type Lead = (term: LedTerm) => Promise<() => Promise<void>>;

interface Work {
  readonly over: AbortSignal;
  /** Undefined: the work has not started. */
  stop: (() => Promise<void>) | undefined;
  starting: Promise<void>;
  ended: Promise<void> | undefined;
}

/** Pause after a term that failed to start or was resigned, so that another replica can acquire the lease. */
const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 30_000;

export type Leadership = ReturnType<typeof createLeadership>;

/** Runs for a lease, and does the leader's work while it holds the lease. `stop` first ends the work, then gives the lease back. */
export function createLeadership(
  deps: { readonly lease: Lease; readonly clock: Clock; readonly log: Log },
  lead: Lead,
) {
  const { log } = deps;
  let work: Work | undefined;
  let failures = 0;
  let pauseMs = 0;

  const resign = ({ over }: Work, reason: string): void => {
    if (over.aborted) return;
    pauseMs = backOffMs(failures, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
    failures += 1;
    elector.resign(reason);
  };
  const start = async (begun: Work, term: Term): Promise<void> => {
    try {
      begun.stop = await lead({ ...term, resign: (reason) => resign(begun, reason) });
      failures = 0;
    } catch (error) {
      if (!begun.over.aborted) log.error('this replica could not begin to lead', { error });
      resign(begun, 'it could not begin');
    }
  };
  const finish = async (ending: Work): Promise<void> => {
    await ending.starting;
    await ending
      .stop?.()
      .catch((error: unknown) => log.error("the leader's work could not be ended in order", { error }));
    work = undefined;
  };
  const elector = createElector(deps, {
    changed: () => {
      if (work?.over.aborted === true) work.ended ??= finish(work);
      const term = elector.term();
      if (term === undefined || work !== undefined) return;
      const begun: Work = { over: term.over, stop: undefined, starting: Promise.resolve(), ended: undefined };
      work = begun;
      begun.starting = Promise.resolve().then(() => start(begun, term));
    },
    // No new term is requested while the work of the last one is ending.
    ready: async () => {
      if (work?.over.aborted === true) await work.ended;
      const due = pauseMs;
      pauseMs = 0;
      return due;
    },
    stopping: async () => {
      if (work === undefined) return;
      // Work that is still starting sees that its term is over, and ends.
      if (work.stop === undefined) elector.resign('this replica stops');
      work.ended ??= finish(work);
      await work.ended;
    },
  });
  return { start: elector.start, status: elector.status, stop: elector.stop };
}
