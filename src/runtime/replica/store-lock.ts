import { createElector } from '../../election/elector.ts';
import type { Clock } from '../../ports/clock.ts';
import type { FencedLease } from '../../ports/lease.ts';
import type { Log } from '../../ports/log.ts';
import type { StoreCondition } from './conditioned-store.ts';

interface StoreLockDeps {
  readonly lease: FencedLease;
  readonly clock: Clock;
  readonly log: Log;
}

interface StoreLockOptions {
  /** The record of the lease. */
  readonly key: string;
  /** Duration of the lease in milliseconds; a lock that is refused for longer belongs to a server that lives. */
  readonly durationMs: number;
  /** Called with the reason, after each request that did not get the lock. */
  readonly waiting?: (reason: string) => void;
  /** Gives up waiting. */
  readonly signal?: AbortSignal;
}

const RENEW_MS = 1_000;
const WAIT_MS = 250;

export type StoreLock = Awaited<ReturnType<typeof lockStore>>;

/**
 * Takes the exclusive lock of a single server on a store that other servers could use. The server goes on while the store is
 * away, and ends when another server has taken the lock meanwhile. The lock of a server that was killed expires with its
 * lease. Rejects, with a text for people, if another server lives, or with the reason of the signal.
 */
export async function lockStore(deps: StoreLockDeps, options: StoreLockOptions) {
  const { lease, clock } = deps;
  const { key, durationMs, signal } = options;
  const listeners: (() => void)[] = [];
  const over = Promise.withResolvers<string>();
  const locked = Promise.withResolvers<undefined>();
  let isLocked = false;
  let answeredAt = clock.monotonic();
  let taken: { readonly by: string; readonly since: number } | undefined;
  let failure: string | undefined;

  const problem = (): string | undefined => {
    if (lease.fence() !== undefined) return undefined;
    if (taken !== undefined) return `server ${taken.by} has the store`;
    return failure === undefined ? 'the store is being locked anew' : `the store cannot be locked: ${failure}`;
  };
  const elector = createElector(
    deps,
    {
      answered: (answer, askedAt) => {
        const [slept, before] = [askedAt - answeredAt > durationMs, taken];
        answeredAt = clock.monotonic();
        failure = answer.type === 'failed' ? answer.message : undefined;
        if (answer.type === 'held') taken = undefined;
        if (answer.type === 'taken') taken = { by: answer.holder, since: before?.since ?? answeredAt };
        if (slept || (before === undefined) !== (taken === undefined)) for (const listener of listeners) listener();
        if (taken !== undefined && askedAt - taken.since > durationMs) over.resolve(inUse(taken.by));
        isLocked ||= lease.fence() !== undefined;
        if (isLocked) locked.resolve(undefined);
        else options.waiting?.(problem() ?? '');
      },
    },
    { lasts: 'until-taken', retryMs: () => (taken === undefined && isLocked ? RENEW_MS : WAIT_MS) },
  );
  void over.promise.then(elector.stop);
  const giveUp = (): void => locked.reject(signal?.reason);
  if (signal?.aborted === true) giveUp();
  signal?.addEventListener('abort', giveUp, { once: true });
  elector.start();
  try {
    const lost = await Promise.race([locked.promise, over.promise]);
    if (lost !== undefined) throw new Error(lost);
  } catch (error) {
    await elector.stop();
    throw error;
  } finally {
    signal?.removeEventListener('abort', giveUp);
  }
  const condition: StoreCondition = {
    key,
    problem,
    look: elector.request,
    check: () => {
      const fence = lease.fence();
      if (fence === undefined) throw new Error(problem() ?? 'the lock of the store is not known');
      return fence.check;
    },
  };
  return {
    ...condition,
    /** Resolves, with a text for people, when another server has the store. */
    over: over.promise,
    /** Why nothing is sent now; undefined: it is; empty: it will be known in a moment. */
    obstacle: (): string | undefined => {
      if (taken !== undefined) return `StoreTaken: ${problem()}; nothing is sent until that is decided`;
      // This process has slept: another one may have taken the store since.
      return clock.monotonic() - answeredAt > durationMs ? '' : undefined;
    },
    /** The listener is called when `obstacle` may have changed. */
    onChange: (listener: () => void) => void listeners.push(listener),
    /** Releases the lock: the next server need not wait. Never rejects. */
    stop: elector.stop,
  };
}

function inUse(holder: string): string {
  return `server ${holder} uses the store, and lives; a single server (--replicas one) must have it alone: stop that one, or start every server with --replicas several`;
}
