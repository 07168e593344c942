import { createHash } from 'node:crypto';
import type { StoreWrite } from '../../../ports/snapshot-store.ts';

/** Batches whose reply did not come, and under which id they were sent. */
export interface OpenBatches {
  /** An id for the batch, no other batch has it. `again`: one with the same contents was sent under it already. */
  begin(writes: readonly StoreWrite[]): Batch;
  /** What became of it is known. */
  settle(batch: Batch): void;
}

export interface Batch {
  readonly id: string;
  readonly again: boolean;
  readonly digest: string;
}

/** Who asks again does so soon; older ones are forgotten. */
const KEPT = 256;

/** `nextId` gives an id that was never given before. */
export function createOpenBatches(nextId: () => string): OpenBatches {
  const open = new Map<string, string>();
  return {
    begin: (writes) => {
      // By contents, since the caller may have changed the bytes of an array that was sent before.
      const digest = digestOf(writes);
      const known = open.get(digest);
      const id = known ?? nextId();
      open.delete(digest);
      open.set(digest, id);
      for (const oldest of open.keys()) {
        if (open.size <= KEPT) break;
        open.delete(oldest);
      }
      return { id, again: known !== undefined, digest };
    },
    settle: ({ id, digest }) => {
      if (open.get(digest) === id) open.delete(digest);
    },
  };
}

function digestOf(writes: readonly StoreWrite[]): string {
  const hash = createHash('sha256');
  for (const { key, value, ifVersion } of writes) {
    const kind = value === undefined ? 'check' : value === null ? 'delete' : value.byteLength;
    hash.update(JSON.stringify([key, ifVersion ?? (ifVersion === null ? 0 : 1), kind]));
    if (value !== undefined && value !== null) hash.update(value);
  }
  return hash.digest('base64');
}
