import type { Clock } from '../ports/clock.ts';
import type { ClusterApi, LiveState } from '../ports/cluster-api.ts';
import type { Log } from '../ports/log.ts';
import type { Random } from '../ports/random.ts';

/** Keeps looking at the cluster: where hints point, soon; at everything, periodically. */
export interface Lookout {
  start(): void;
  /** Looks where hints point, soon, and hands out what is there though it may be known: it was perhaps passed over. */
  soon(): void;
  /** Did the last look succeed? */
  readable(): boolean;
  stop(): void;
}

/** Several hints, and what the agent wrote itself, are one look. */
const GATHER_MS = 10;
/** While the cluster cannot be looked at. */
const UNREADABLE_MS = 2_000;

/** What comes of looking; one at a time. */
export interface LookoutListener {
  /** The state after each look that was asked for, or that a hint led to something new. */
  looked(live: LiveState): void;
  /** A look has failed, and the one before had not. What was seen before still holds, for absence needs proof. */
  unreadable(error: unknown): void;
}

export function createLookout(
  deps: { readonly cluster: ClusterApi; readonly clock: Clock; readonly random: Random; readonly log: Log },
  options: { readonly everyMs: number },
  listener: LookoutListener,
): Lookout {
  const { cluster, clock, log } = deps;
  let last: LiveState | undefined;
  let looking = false;
  let again: 'hinted' | 'whole' | undefined;
  let cancelSoon: (() => void) | undefined;
  let cancelPeriod: (() => void) | undefined;
  let endWatch: (() => void) | undefined;
  let stopped = false;
  let readable = true;
  let handOut = true;

  return { start, soon, readable: () => readable, stop };

  function start(): void {
    endWatch = cluster.watch(() => void look('hinted'));
    schedulePeriod();
  }

  function schedulePeriod(): void {
    // Spread, so that many agents of one machine do not walk at the same moment.
    const wait = options.everyMs * (0.75 + deps.random.next() / 2);
    cancelPeriod = clock.schedule(wait, () => {
      schedulePeriod();
      handOut = true;
      void look('whole');
    });
  }

  function soon(): void {
    lookAgainIn(GATHER_MS);
  }

  function lookAgainIn(milliseconds: number): void {
    if (stopped) return;
    cancelSoon ??= clock.schedule(milliseconds, () => {
      cancelSoon = undefined;
      handOut = true;
      void look('hinted');
    });
  }

  async function look(depth: 'hinted' | 'whole'): Promise<void> {
    if (stopped) return;
    if (looking) {
      again = again === 'whole' ? 'whole' : depth;
      return;
    }
    looking = true;
    await lookOnce(depth);
    looking = false;
    const next = again;
    again = undefined;
    if (next !== undefined) void look(next);
  }

  async function lookOnce(depth: 'hinted' | 'whole'): Promise<void> {
    try {
      const live = await cluster.list(depth);
      readable = true;
      if (stopped || (live === last && !handOut)) return;
      last = live;
      handOut = false;
      listener.looked(live);
    } catch (error) {
      // Nothing hints that a folder is back.
      lookAgainIn(UNREADABLE_MS);
      if (!readable) return;
      readable = false;
      // What comes after is news, even if it is as it was.
      handOut = true;
      log.error('the cluster cannot be looked at', { error });
      listener.unreadable(error);
    }
  }

  function stop(): void {
    stopped = true;
    cancelSoon?.();
    cancelPeriod?.();
    endWatch?.();
  }
}
