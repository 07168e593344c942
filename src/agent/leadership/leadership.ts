import { backOffMs } from '../../model/back-off.ts';
import { unreachable } from '../../model/result.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Lease, LeaseAnswer } from '../../ports/lease.ts';
import type { Log } from '../../ports/log.ts';

export interface LeadershipDeps {
  readonly lease: Lease;
  readonly clock: Clock;
  readonly log: Log;
}

export interface LeadershipOptions {
  /** Milliseconds between two attempts to acquire or renew the lease; much less than its duration. Default 1 s. */
  readonly retryMs?: number;
}

/** `unknown`: the lease names no leader, or cannot be read. */
export type LeadershipStatus =
  | { readonly type: 'leading' }
  | { readonly type: 'following'; readonly leader: string }
  | { readonly type: 'unknown'; readonly message: string };

/** Contends for a lease, and leads while it holds the lease. */
export interface Leadership {
  start(): void;
  status(): LeadershipStatus;
  /** Ends the term, if there is one, and then releases the lease. Never rejects. */
  stop(): Promise<void>;
}

/** One term of this process as the leader. */
export interface Term {
  /**
   * Whether a write may be sent at this moment. Callers ask before each write: a process that was suspended learns here
   * that its term has ended. Once false, it stays false, also in a later term.
   */
  mayWrite(): boolean;
  /** Aborts when the term ends. */
  readonly over: AbortSignal;
  /** Gives the term up because of a fault of this process. */
  resign(reason: string): void;
}

/** Starts the leader's work; resolves with the function that ends it. Rejects if the work cannot start. */
export type Lead = (term: Term) => Promise<() => Promise<void>>;

const RETRY_MS = 1_000;
/** Pause after a term that failed to start or was resigned, so that another replica can acquire the lease. */
const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 30_000;

export function createLeadership(deps: LeadershipDeps, lead: Lead, options: LeadershipOptions = {}): Leadership {
  const { lease, clock, log } = deps;
  const { retryMs = RETRY_MS } = options;
  const stopping = new AbortController();
  const terms = createTerms(deps, lead);
  let status: LeadershipStatus = { type: 'unknown', message: 'the lease was not requested yet' };
  let contending: Promise<void> = Promise.resolve();
  let lastFailure: string | undefined;

  return {
    start: () => {
      contending = contend();
    },
    // The term can have ended since the last answer of the lease.
    status: () =>
      status.type === 'leading' && !terms.isOn()
        ? { type: 'unknown', message: `this replica leads no more: ${terms.endReason()}` }
        : status,
    stop: async () => {
      stopping.abort();
      await contending;
      await terms.end();
      await lease.release();
    },
  };

  async function contend(): Promise<void> {
    while (!stopping.signal.aborted) {
      // No new term is requested while the last one is still ending.
      const pauseMs = await terms.settled();
      if (pauseMs > 0) await releaseForOthers();
      else take(await lease.acquire());
      await clock.sleep(Math.max(retryMs, pauseMs), stopping.signal);
    }
  }

  async function releaseForOthers(): Promise<void> {
    status = {
      type: 'unknown',
      message: 'this replica has resigned, and leaves the lease to other replicas for a while',
    };
    await lease.release();
  }

  function take(answer: LeaseAnswer): void {
    if (stopping.signal.aborted) return;
    if (answer.type === 'held') terms.renew(answer.deadline);
    if (answer.type === 'taken') terms.lose(`${answer.holder} has the lease`);
    const before = status;
    status = statusAfter(answer, terms.isOn());
    if (status.type === 'following' && (before.type !== 'following' || before.leader !== status.leader)) {
      log.info('standing by', { leader: status.leader });
    }
    const failure = answer.type === 'failed' ? answer.message : undefined;
    if (failure !== undefined && failure !== lastFailure)
      log.warn('the lease could not be taken or renewed; it is tried again', { reason: failure });
    lastFailure = failure;
  }
}

/** A term outlasts failed renewals until its own deadline. */
function statusAfter(answer: LeaseAnswer, isOn: boolean): LeadershipStatus {
  switch (answer.type) {
    case 'held':
      return { type: 'leading' };
    case 'taken':
      return { type: 'following', leader: answer.holder };
    case 'failed':
      return isOn ? { type: 'leading' } : { type: 'unknown', message: answer.message };
    default:
      return unreachable(answer);
  }
}

/** The terms of this process, one at a time. */
interface Terms {
  /** Starts a term or extends the current one, until `deadline` (monotonic milliseconds). */
  renew(deadline: number): void;
  lose(reason: string): void;
  isOn(): boolean;
  /** Why the last term ended, for people. */
  endReason(): string;
  /** Ends the term in order: its work may write until it has ended. */
  end(): Promise<void>;
  /** Resolves when no term is ending, with the milliseconds to pause before the next one; 0 after no fault. */
  settled(): Promise<number>;
}

interface RunningTerm {
  deadline: number;
  readonly over: AbortController;
  /** Ends the leader's work; undefined: the work has not started. */
  stop: (() => Promise<void>) | undefined;
  starting: Promise<void>;
  ended: Promise<void> | undefined;
}

function createTerms({ clock, log }: { readonly clock: Clock; readonly log: Log }, lead: Lead): Terms {
  let running: RunningTerm | undefined;
  let cancelDeadline: (() => void) | undefined;
  let failures = 0;
  let pauseMs = 0;
  let endReason = 'it is stopping';

  const isOn = (): boolean => running?.over.signal.aborted === false;
  return { renew, lose, isOn, endReason: () => endReason, end, settled };

  function renew(deadline: number): void {
    const term = running ?? start();
    if (term.over.signal.aborted) return;
    term.deadline = deadline;
    cancelDeadline?.();
    cancelDeadline = clock.schedule(deadline - clock.monotonic(), () => lose('the lease was not renewed in time'));
  }

  function start(): RunningTerm {
    const term = newTerm();
    running = term;
    log.info('this replica leads');
    term.starting = Promise.resolve().then(() => startLeading(term));
    return term;
  }

  async function startLeading(term: RunningTerm): Promise<void> {
    const { signal: over } = term.over;
    try {
      term.stop = await lead({
        mayWrite: () => !over.aborted && clock.monotonic() < term.deadline,
        over,
        resign: (reason) => resign(term, reason),
      });
      failures = 0;
    } catch (error) {
      if (!over.aborted) log.error('this replica could not begin to lead', { error });
      resign(term, 'it could not begin');
    }
  }

  function resign(term: RunningTerm, reason: string): void {
    if (term.over.signal.aborted) return;
    pauseMs = backOffMs(failures, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
    failures += 1;
    loseTerm(term, reason);
  }

  function lose(reason: string): void {
    if (running !== undefined) loseTerm(running, reason);
  }

  function loseTerm(term: RunningTerm, reason: string): void {
    if (term.over.signal.aborted) return;
    endReason = reason;
    log.warn('this replica does not lead any more', { reason });
    term.over.abort();
    term.ended ??= finish(term);
  }

  async function end(): Promise<void> {
    if (running === undefined) return;
    // Work that has not started yet is not started for a term that ends.
    if (running.stop === undefined) running.over.abort();
    running.ended ??= finish(running);
    await running.ended;
  }

  async function finish(term: RunningTerm): Promise<void> {
    await term.starting;
    try {
      await term.stop?.();
    } catch (error) {
      log.error("the leader's work could not be ended in order", { error });
    }
    term.over.abort();
    cancelDeadline?.();
    running = undefined;
  }

  async function settled(): Promise<number> {
    if (running?.over.signal.aborted === true) await running.ended;
    const due = pauseMs;
    pauseMs = 0;
    return due;
  }
}

function newTerm(): RunningTerm {
  return {
    deadline: Number.NEGATIVE_INFINITY,
    over: new AbortController(),
    stop: undefined,
    starting: Promise.resolve(),
    ended: undefined,
  };
}
