import type { ObjectResult } from '../model/agent.ts';

/** Results in one batch; with the longest messages such a batch is about 2 MB. */
const BATCH = 500;

/** Results that the server has not acknowledged: the newest per key, oldest key first. */
export interface ResultQueue {
  add(results: readonly ObjectResult[]): void;
  /** The next batch, which stays queued until it is done. Empty if there is nothing. */
  batch(): readonly ObjectResult[];
  /** The server has these: forgets those that no newer result has replaced meanwhile. */
  done(batch: readonly ObjectResult[]): void;
}

/** Starts empty. */
export function createResultQueue(): ResultQueue {
  const waiting = new Map<string, ObjectResult>();
  return {
    add(results) {
      for (const result of results) {
        waiting.delete(result.key);
        waiting.set(result.key, result);
      }
    },
    batch: () => [...waiting.values().take(BATCH)],
    done(batch) {
      for (const result of batch) if (waiting.get(result.key) === result) waiting.delete(result.key);
    },
  };
}
