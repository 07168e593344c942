import type { Collection } from '../../engine/collections/types.ts';
import { parseJsonBytes } from '../../model/json.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { SnapshotStore, StoredRecord } from '../../ports/snapshot-store.ts';
import type { Deadlines } from '../deadlines.ts';
import { recordShape } from '../ledger/record-shapes.ts';
import { type ElapsedRecord, elapsedAddress, recordKey } from '../ledger/records.ts';
import { createChore } from './chore.ts';

/** Takes over which deadlines have passed by the word of the leader. */
export interface ElapsedMirror {
  /** The record has changed in the store, or any of them may have. */
  wake(record?: string): void;
  stop(): Promise<void>;
}

/** When so many records have changed, one listing costs less than reading each of them. */
const LIST_FROM = 100;

export function createElapsedMirror(deps: {
  readonly store: SnapshotStore;
  readonly deadlines: Pick<Deadlines, 'hear'>;
  readonly elapsed: Collection<number>;
  /** This replica's memory is the truth. */
  readonly leads: () => boolean;
  readonly clock: Clock;
  readonly log: Log;
}): ElapsedMirror {
  const { store, deadlines, elapsed } = deps;
  const due = new Set<string>();
  let readsAll = false;

  const hear = (record: string, stored: StoredRecord | undefined): void => {
    const address = elapsedAddress(record);
    if (address === undefined) return;
    const json = stored === undefined ? undefined : parseJsonBytes(stored.value);
    // A damaged record says nothing.
    if (stored !== undefined && (json === undefined || !recordShape.elapsed(json))) return;
    deadlines.hear(address.owner, address.key, (json as ElapsedRecord | undefined)?.at);
  };
  const lookAtAll = async (): Promise<void> => {
    const listed = new Set<string>();
    for await (const record of store.list(recordKey.elapsedOfAll)) {
      listed.add(record.key);
      hear(record.key, record);
    }
    for (const owner of elapsed.partitions()) {
      for (const { key } of elapsed.entries(owner)) {
        const record = recordKey.elapsed(owner, key);
        // Read once more: it may have been written since it was listed.
        if (!listed.has(record)) hear(record, await store.get(record));
      }
    }
  };
  const chore = createChore(deps, 'reading which deadlines have passed', async () => {
    if (deps.leads()) {
      due.clear();
      readsAll = false;
      return false;
    }
    if (readsAll || due.size >= LIST_FROM) {
      due.clear();
      // Before it is listed: what changes meanwhile is read again.
      readsAll = false;
      await lookAtAll().catch((error: unknown) => {
        readsAll = true;
        throw error;
      });
    }
    for (const record of due) {
      due.delete(record);
      try {
        hear(record, await store.get(record));
      } catch (error) {
        due.add(record);
        throw error;
      }
    }
    return false;
  });
  return {
    wake: (record) => {
      if (record === undefined) readsAll = true;
      else due.add(record);
      chore.wake();
    },
    stop: chore.stop,
  };
}
