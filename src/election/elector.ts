import { createTurns } from '../model/values/in-turn.ts';
import type { Clock } from '../ports/clock.ts';
import type { FencedLease, Lease, LeaseAnswer } from '../ports/lease.ts';
import type { Log } from '../ports/log.ts';

/** One term of this process as the holder of a lease. */
export interface Term {
  /** Counts the terms of this process, from 1. */
  readonly number: number;
  /**
   * Whether a write may be sent at this moment. Callers ask before each write: a process that was suspended learns here
   * that its term has ended. Once false, it stays false, also in a later term.
   */
  mayWrite(): boolean;
  /** Aborts when the term ends. */
  readonly over: AbortSignal;
}

/** `unknown`: the lease names no leader, or cannot be read. */
export type ElectionStatus =
  | { readonly type: 'leading' }
  | { readonly type: 'following'; readonly leader: string }
  | { readonly type: 'unknown'; readonly message: string };

/** All hooks are optional. */
interface ElectorHooks {
  /** A term began or ended, or another leader was observed. */
  readonly changed?: () => void;
  /** The lease has answered a request. `askedAt`: monotonic milliseconds, before the request. */
  readonly answered?: (answer: LeaseAnswer, askedAt: number) => void;
  /**
   * Called before each request. Resolves when another term may begin, with the milliseconds for which the lease is left to
   * other processes before; usually 0.
   */
  readonly ready?: () => Promise<number>;
  /** The process stops: called before its term ends. */
  readonly stopping?: () => Promise<void>;
}

interface ElectorOptions {
  /** Milliseconds between two requests; much less than the duration of the lease. Default 1 s. */
  readonly retryMs?: () => number;
  /**
   * When a term ends that is not renewed: at its deadline, or only when another process is observed to hold the lease.
   * Default `deadline`.
   */
  readonly lasts?: 'until-deadline' | 'until-taken';
}

const RETRY_MS = 1_000;

interface ElectorDeps {
  readonly lease: Lease & Partial<FencedLease>;
  readonly clock: Clock;
  readonly log: Log;
}

export type Elector = ReturnType<typeof createElector>;

/** Requests and renews a lease, and divides the time in which this process holds it into terms. */
export function createElector(deps: ElectorDeps, hooks: ElectorHooks = {}, options: ElectorOptions = {}) {
  const { lease, clock, log } = deps;
  const { changed = () => undefined, ready } = hooks;
  const stopping = new AbortController();
  const inTurn = createTurns();
  let contending: Promise<void> = Promise.resolve();
  let other: string | undefined;
  let failure: string | undefined;

  const terms = createTerms(deps, options, () => {
    if (terms.current() !== undefined) other = undefined;
    changed();
  });
  const follow = (leader: string): void => {
    terms.end(`${leader} has the lease`);
    if (other === leader) return;
    other = leader;
    log.info('standing by', { leader });
    changed();
  };
  const fail = (message: string): void => {
    if (failure !== message)
      log.warn('the lease could not be taken or renewed; it is tried again', { reason: message });
    failure = message;
  };
  /** Requests or renews the lease once, after the requests that are under way. Never rejects. */
  const request = (): Promise<void> =>
    inTurn(async () => {
      if (stopping.signal.aborted) return;
      const askedAt = clock.monotonic();
      // With `ready`, a term that ends during this request is followed by another one only at the next request.
      const mayBegin = ready === undefined || !terms.isRunning();
      const answer = await lease.acquire();
      if (stopping.signal.aborted) return;
      if (answer.type === 'failed') fail(answer.message);
      else failure = undefined;
      if (answer.type === 'taken') follow(answer.holder);
      if (answer.type === 'held') terms.hold(answer.deadline, mayBegin);
      hooks.answered?.(answer, askedAt);
    });
  const contend = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const pauseMs = (await ready?.()) ?? 0;
      if (pauseMs > 0) await lease.release();
      else await request();
      await clock.sleep(Math.max(options.retryMs?.() ?? RETRY_MS, pauseMs), stopping.signal);
    }
  };

  return {
    start: (): void => {
      contending = contend();
    },
    /** The current term; undefined if this process does not lead by its own clock. */
    term: terms.current,
    /** Another process that was observed to lead; undefined: none was, or this process has led since. */
    otherLeader: (): string | undefined => other,
    status: (): ElectionStatus => {
      if (terms.current() !== undefined) return { type: 'leading' };
      if (failure !== undefined) return { type: 'unknown', message: failure };
      if (other !== undefined) return { type: 'following', leader: other };
      const reason = terms.endReason();
      const why = reason === undefined ? 'the lease was not requested yet' : `this replica leads no more: ${reason}`;
      return { type: 'unknown', message: why };
    },
    request,
    /** Ends the term before its deadline. */
    resign: terms.end,
    /** Ends the term and releases the lease. Never rejects. */
    stop: async (): Promise<void> => {
      stopping.abort();
      await contending;
      await inTurn(async () => hooks.stopping?.());
      terms.end('this replica stops');
      await lease.release();
    },
  };
}

interface RunningTerm extends Term {
  readonly aborter: AbortController;
  /** The number of the fence when the term began. */
  readonly fence: number | undefined;
  deadline: number;
}

/** The terms of this process, one after the other. `changed`: a term began or ended. */
function createTerms(
  { lease, clock, log }: ElectorDeps,
  { lasts = 'until-deadline' }: ElectorOptions,
  changed: () => void,
) {
  let running: RunningTerm | undefined;
  let count = 0;
  let endReason: string | undefined;
  let cancelDeadline = (): void => undefined;

  const fence = (): number | undefined => lease.fence?.()?.term;
  const current = (): RunningTerm | undefined => (running?.mayWrite() === true ? running : undefined);
  const begin = (deadline: number): void => {
    const aborter = new AbortController();
    const over = aborter.signal;
    count += 1;
    const term: RunningTerm = {
      number: count,
      over,
      aborter,
      fence: fence(),
      deadline,
      mayWrite: () => !over.aborted && (lasts === 'until-taken' || clock.monotonic() < term.deadline),
    };
    running = term;
    log.info('this replica leads', { term: count });
    changed();
  };
  const end = (reason: string): void => {
    cancelDeadline();
    if (running === undefined) return;
    const { aborter } = running;
    running = undefined;
    endReason = reason;
    log.warn('this replica does not lead any more', { reason });
    aborter.abort();
    changed();
  };
  return {
    end,
    current: (): Term | undefined => current(),
    /** False after `end`; true if only the deadline has passed. */
    isRunning: (): boolean => running !== undefined,
    endReason: (): string | undefined => endReason,
    /** The lease is held until the deadline. */
    hold: (deadline: number, mayBegin: boolean): void => {
      // Another process may have led since: the leader's state must be read anew.
      if (running !== undefined && (current() === undefined || running.fence !== fence())) {
        end('its term ended and another one began');
      }
      if (running !== undefined) running.deadline = deadline;
      else if (mayBegin) begin(deadline);
      else return;
      cancelDeadline();
      if (lasts === 'until-taken') return;
      cancelDeadline = clock.schedule(deadline - clock.monotonic(), () => end('the lease was not renewed in time'));
    },
  };
}
