import { createTurns } from '../../model/in-turn.ts';
import { unreachable } from '../../model/result.ts';
import type { Clock } from '../../ports/clock.ts';
import type { FencedLease } from '../../ports/lease.ts';
import type { Log } from '../../ports/log.ts';
import type { StoreCondition } from './conditioned-store.ts';

/**
 * The claim of a single server on a store that others could use as well. It goes on without it while the store is away; it
 * ends when another server has taken the store meanwhile.
 */
export interface StoreLock extends StoreCondition {
  /** Why nothing is sent just now; undefined: it is; empty: it will be known in a moment. */
  obstacle(): string | undefined;
  /** Who is told when that may have changed. */
  onChange(listener: () => void): void;
  /** Resolves, with a text for people, when another server has the store. */
  readonly over: Promise<string>;
  /** Gives the store back: the next server need not wait. Never rejects. */
  stop(): Promise<void>;
}

export interface StoreLockDeps {
  readonly lease: FencedLease;
  readonly clock: Clock;
  readonly log: Log;
}

export interface StoreLockOptions {
  /** The lease's record. */
  readonly key: string;
  /** Milliseconds after which a lease that was not renewed is free: who is refused it for longer, by one who lives. */
  readonly durationMs: number;
  /** Told, each time anew, why the store cannot be claimed yet. */
  readonly waiting?: (reason: string) => void;
  /** Gives up waiting. */
  readonly signal?: AbortSignal;
}

const RENEW_MS = 1_000;
const WAIT_MS = 250;

/**
 * Claims the store; a server that was killed has it for as long as its lease lasts. Rejects, with a text for people, if
 * another one lives, or the wait is given up.
 */
export async function claimStore(deps: StoreLockDeps, options: StoreLockOptions): Promise<StoreLock> {
  const { lease, clock } = deps;
  const { durationMs, waiting, signal } = options;
  const contest = createContest(deps, options);
  while (lease.fence() === undefined) {
    signal?.throwIfAborted();
    const lost = await contest.contend();
    if (lost !== undefined) throw new Error(lost);
    if (lease.fence() !== undefined) break;
    waiting?.(contest.trouble() ?? '');
    await clock.sleep(WAIT_MS, signal);
  }
  const stopping = new AbortController();
  const over = Promise.withResolvers<string>();
  const keep = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await clock.sleep(contest.isTaken() ? WAIT_MS : RENEW_MS, stopping.signal);
      const lost = stopping.signal.aborted ? undefined : await contest.contend();
      if (lost === undefined) continue;
      over.resolve(lost);
      return;
    }
  };
  const keeping = keep();
  return {
    key: options.key,
    over: over.promise,
    trouble: contest.trouble,
    check: () => {
      const fence = lease.fence();
      if (fence === undefined) throw new Error(contest.trouble() ?? 'the claim on the store is not known');
      return fence.check;
    },
    look: async () => void (await contest.contend()),
    obstacle: () => {
      if (contest.isTaken()) return `StoreTaken: ${contest.trouble()}; nothing is sent until that is decided`;
      // This process has slept: another one may have taken the store since.
      return clock.monotonic() - contest.answeredAt() > durationMs ? '' : undefined;
    },
    onChange: contest.onChange,
    stop: async () => {
      stopping.abort();
      await keeping;
      await lease.release();
    },
  };
}

interface Contest {
  /** Takes or renews the lease; gives why it never will be this server's. */
  contend(): Promise<string | undefined>;
  isTaken(): boolean;
  /** Why the store may not be used; undefined: the lease was this server's when it was last asked for. */
  trouble(): string | undefined;
  /** When the last answer came, milliseconds of the monotonic clock. */
  answeredAt(): number;
  onChange(listener: () => void): void;
}

function createContest({ lease, clock, log }: StoreLockDeps, { durationMs }: StoreLockOptions): Contest {
  const listeners: (() => void)[] = [];
  const inTurn = createTurns();
  let answeredAt = clock.monotonic();
  let taken: { readonly by: string; readonly since: number } | undefined;
  let failure: string | undefined;

  const contendOnce = async (): Promise<string | undefined> => {
    const [asked, slept, before] = [clock.monotonic(), clock.monotonic() - answeredAt > durationMs, taken];
    const answer = await lease.acquire();
    answeredAt = clock.monotonic();
    failure = undefined;
    switch (answer.type) {
      case 'held':
        taken = undefined;
        break;
      case 'taken':
        taken = { by: answer.holder, since: before?.since ?? answeredAt };
        if (before === undefined) log.warn('another server has the store; is it alive?', { server: answer.holder });
        break;
      case 'failed':
        failure = answer.message;
        break;
      default:
        unreachable(answer);
    }
    if (slept || (before === undefined) !== (taken === undefined)) for (const listener of listeners) listener();
    return taken !== undefined && asked - taken.since > durationMs ? storeOf(taken.by) : undefined;
  };
  return {
    // One at a time, for the renewal and for whoever was refused a batch.
    contend: () => inTurn(contendOnce),
    isTaken: () => taken !== undefined,
    trouble: () => {
      if (lease.fence() !== undefined) return undefined;
      if (taken !== undefined) return `server ${taken.by} has the store`;
      return failure === undefined ? 'the store is being claimed anew' : `the store cannot be claimed: ${failure}`;
    },
    answeredAt: () => answeredAt,
    onChange: (listener) => void listeners.push(listener),
  };
}

function storeOf(holder: string): string {
  return `server ${holder} uses the store, and lives; a single server (--replicas one) must have it alone: stop that one, or start every server with --replicas several`;
}
