import { backOffMs } from '../../model/limits/back-off.ts';
import type { ObjectKey } from '../../model/objects/object-key.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';

/** `done`: the key rests until it is added again. `retry`: it runs again after its back-off. */
export type WorkOutcome = 'done' | 'retry';

export interface WorkQueueOptions {
  /** From 0; lower ranks run first, and no key starts while one of a lower rank runs. Undefined: no work for this key. */
  readonly rank: (key: ObjectKey) => number | undefined;
  /** How large the content is that `run` holds in memory. */
  readonly bytes: (key: ObjectKey) => number;
  readonly run: (key: ObjectKey) => Promise<WorkOutcome>;
  /** No key is queued or running. */
  readonly idle: () => void;
}

const MOST_AT_ONCE = 16;
/** Keys with larger contents together do not run at once; each takes several times its content. One always runs. */
const MOST_BYTES_AT_ONCE = 8 * 1024 * 1024;
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 600_000;
/** The shortest time from a try of a key to the next one that a hint brings forward, unless the hint says another. */
const SHORTEST_PAUSE_MS = 10_000;
/** The pause is at least this part of the back-off, so that endless hints do not make the agent try a failing key often. */
const PAUSE_OF_BACK_OFF = 0.1;

export type WorkQueue = ReturnType<typeof createWorkQueue>;

interface WorkQueueDeps {
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Runs keys in rank order, each key at most once at a time, with retries and back-off. The first added key starts it; `run` must
 * not reject.
 */
export function createWorkQueue(deps: WorkQueueDeps, options: WorkQueueOptions) {
  const ready = createRankedSet();
  const running = createRunning();
  const retries = createRetries(deps, add);
  let stopped = false;
  let pumping = false;

  return {
    add,
    /** As `add`, and resets the back-off: the key has new content. */
    renew: (key: ObjectKey): void => {
      retries.reset(key);
      add(key);
    },
    hasten: retries.hasten,
    /** Whether the key is queued or running; a key that waits for its retry is neither. */
    isActive: (key: ObjectKey): boolean => ready.has(key) || running.has(key),
    /** Whether the key waits for its retry. */
    isWaiting: retries.has,
    stop,
  };

  /** Queues the key; cancels the wait for its retry. */
  function add(key: ObjectKey): void {
    if (stopped) return;
    retries.cancel(key);
    const rank = options.rank(key);
    if (rank === undefined) ready.delete(key);
    else ready.put(key, rank);
    pumpSoon();
  }

  /** In a microtask, so that all keys of a delta are queued before the first one starts. */
  function pumpSoon(): void {
    if (pumping) return;
    pumping = true;
    queueMicrotask(() => {
      pumping = false;
      pump();
    });
  }

  function pump(): void {
    while (!stopped && running.size() < MOST_AT_ONCE) {
      const next = nextReady();
      if (next === undefined) return;
      const bytes = options.bytes(next.key);
      if (!running.hasRoom(bytes)) return;
      ready.delete(next.key);
      running.add(next.key, { rank: next.rank, bytes, promise: work(next.key) });
    }
  }

  function nextReady(): { readonly key: ObjectKey; readonly rank: number } | undefined {
    const best = ready.first((key) => running.has(key));
    return best === undefined || running.isBelow(best.rank) ? undefined : best;
  }

  async function work(key: ObjectKey): Promise<void> {
    const outcome = await options.run(key);
    running.delete(key);
    if (stopped) return;
    if (outcome === 'done' || ready.has(key)) retries.reset(key);
    if (outcome === 'retry' && !ready.has(key)) retries.later(key);
    pump();
    if (running.size() === 0 && ready.isEmpty()) options.idle();
  }

  /** Stops accepting keys. Resolves when the steps of the running keys have ended. */
  async function stop(): Promise<void> {
    stopped = true;
    ready.clear();
    retries.stop();
    await running.end();
  }
}

/** The next try of a key that has failed. Times by the monotonic clock. */
interface Retry {
  /** When the last try ended. */
  readonly from: number;
  readonly at: number;
  readonly cancel: () => void;
}

/** Keys that wait for their retry, each with its back-off. `due` gets a key whose wait is over. */
function createRetries({ clock, random }: WorkQueueDeps, due: (key: ObjectKey) => void) {
  const waiting = new Map<ObjectKey, Retry>();
  const failures = new Map<ObjectKey, number>();
  const cancel = (key: ObjectKey): void => {
    waiting.get(key)?.cancel();
    waiting.delete(key);
  };
  const retryAt = (key: ObjectKey, from: number, at: number): void => {
    cancel(key);
    const end = clock.schedule(at - clock.monotonic(), () => due(key));
    waiting.set(key, { from, at, cancel: end });
  };
  return {
    cancel,
    has: (key: ObjectKey): boolean => waiting.has(key),
    /** Forgets the failures of the key. */
    reset: (key: ObjectKey): void => void failures.delete(key),
    /** The key has failed: its next try is after its back-off. */
    later(key: ObjectKey): void {
      const count = failures.get(key) ?? 0;
      failures.set(key, count + 1);
      const from = clock.monotonic();
      retryAt(key, from, from + retryMs(count, random));
    },
    /**
     * Brings the retry of a key forward. The earliest time is `pauseMs` after its last try, by default ten seconds, or a tenth of its
     * back-off if that is longer. Does nothing if the key waits for no retry.
     */
    hasten(key: ObjectKey, pauseMs = SHORTEST_PAUSE_MS): void {
      const retry = waiting.get(key);
      if (retry === undefined) return;
      const backOff = backOffMs((failures.get(key) ?? 1) - 1, FIRST_RETRY_MS, LONGEST_RETRY_MS);
      const at = Math.max(clock.monotonic(), retry.from + Math.max(pauseMs, backOff * PAUSE_OF_BACK_OFF));
      if (at < retry.at) retryAt(key, retry.from, at);
    },
    stop(): void {
      for (const key of [...waiting.keys()]) cancel(key);
    },
  };
}

/** A key that is worked on. */
interface Running {
  readonly rank: number;
  readonly bytes: number;
  readonly promise: Promise<void>;
}

function createRunning() {
  const running = new Map<ObjectKey, Running>();
  let held = 0;
  return {
    size: () => running.size,
    has: (key: ObjectKey): boolean => running.has(key),
    /** Whether a key with so large a content may run beside the others. */
    hasRoom: (bytes: number): boolean => running.size === 0 || held + bytes <= MOST_BYTES_AT_ONCE,
    isBelow(rank: number): boolean {
      for (const one of running.values()) if (one.rank < rank) return true;
      return false;
    },
    add(key: ObjectKey, one: Running): void {
      running.set(key, one);
      held += one.bytes;
    },
    delete(key: ObjectKey): void {
      held -= running.get(key)?.bytes ?? 0;
      running.delete(key);
    },
    end: () => Promise.all(Array.from(running.values(), ({ promise }) => promise)),
  };
}

/** The back-off, with jitter over its upper half. */
function retryMs(failures: number, random: Random): number {
  const full = backOffMs(failures, FIRST_RETRY_MS, LONGEST_RETRY_MS);
  return full / 2 + (random.next() * full) / 2;
}

/** Keys by rank. */
function createRankedSet() {
  const ranks = new Map<ObjectKey, number>();
  const buckets: Set<ObjectKey>[] = [];
  const remove = (key: ObjectKey): void => {
    buckets[ranks.get(key) ?? -1]?.delete(key);
    ranks.delete(key);
  };
  return {
    put(key: ObjectKey, rank: number): void {
      remove(key);
      while (buckets.length <= rank) buckets.push(new Set());
      buckets[rank]?.add(key);
      ranks.set(key, rank);
    },
    delete: remove,
    has: (key: ObjectKey): boolean => ranks.has(key),
    isEmpty: (): boolean => ranks.size === 0,
    clear(): void {
      ranks.clear();
      for (const bucket of buckets) bucket.clear();
    },
    /** The first key of the lowest rank, without the keys that `skip` names. */
    first(skip: (key: ObjectKey) => boolean): { readonly key: ObjectKey; readonly rank: number } | undefined {
      for (const [rank, bucket] of buckets.entries()) {
        for (const key of bucket) if (!skip(key)) return { key, rank };
      }
      return undefined;
    },
  };
}
