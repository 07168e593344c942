import { errorText } from '../../model/error-text.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { SnapshotStore, StoreWrite } from '../../ports/snapshot-store.ts';

/** Write-behind access to the store: the newest value per key is written, in batches, and retried until it is. */
export interface Journal {
  /** Queues a JSON value; null deletes. */
  put(key: string, value: unknown | null): void;
  /** Resolves when everything queued so far is durable, or when the deadline has passed (false). */
  flush(deadlineMs: number): Promise<boolean>;
  /** Why the last write failed; undefined while all is well. */
  trouble(): string | undefined;
}

const GATHER_MS = 50;
const RETRY_MS = 1_000;
const BATCH = 1_000;

export function createJournal(deps: {
  readonly store: SnapshotStore;
  readonly clock: Clock;
  readonly log: Log;
}): Journal {
  const { store, clock, log } = deps;
  const waiting = new Map<string, Uint8Array | null>();
  let writing: Promise<void> | undefined;
  let trouble: string | undefined;

  const writeBatch = async (): Promise<void> => {
    const batch = [...waiting].slice(0, BATCH);
    for (const [key] of batch) waiting.delete(key);
    try {
      await store.write(batch.map(([key, value]): StoreWrite => ({ key, value })));
      trouble = undefined;
    } catch (error) {
      // What was written to the same key since is newer and stays.
      for (const [key, value] of batch) if (!waiting.has(key)) waiting.set(key, value);
      trouble = errorText(error);
      log.error('the store cannot be written', { error: trouble });
      await clock.sleep(RETRY_MS);
    }
  };
  const drain = async (gatherMs: number): Promise<void> => {
    if (gatherMs > 0) await clock.sleep(gatherMs);
    while (waiting.size > 0) await writeBatch();
  };
  const start = (gatherMs: number): Promise<void> => {
    writing ??= drain(gatherMs).finally(() => {
      writing = undefined;
      // What was queued after the last batch had been taken, and before this ran, has found nobody to start.
      if (waiting.size > 0) void start(gatherMs);
    });
    return writing;
  };

  return {
    put: (key, value) => {
      waiting.set(key, value === null ? null : new TextEncoder().encode(JSON.stringify(value)));
      void start(GATHER_MS);
    },
    flush: async (deadlineMs) => {
      const cancel = new AbortController();
      const done = start(0).then(() => true);
      const result = await Promise.race([done, clock.sleep(deadlineMs, cancel.signal).then(() => false)]);
      cancel.abort();
      return result;
    },
    trouble: () => trouble,
  };
}
