import type { Collection } from '../../engine/collections/types.ts';
import { parseJsonBytes } from '../../model/json.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { SnapshotStore, StoredRecord } from '../../ports/snapshot-store.ts';
import type { Deadlines } from '../deadlines.ts';
import { type ElapsedRecord, elapsedAddress, recordKey, recordShape } from '../ledger/records.ts';
import { createSingleFlight } from './single-flight.ts';

/** A follower stages the passed moments that the leader has written to the store. */
export interface ElapsedMirror {
  /** This record has changed in the store; without a key any record may have changed. */
  wake(record?: string): void;
  stop(): Promise<void>;
}

/** From this many changed records on, one listing costs less than reading each record. */
const LIST_FROM = 100;

export function createElapsedMirror(deps: {
  readonly store: SnapshotStore;
  readonly deadlines: Pick<Deadlines, 'replicate'>;
  readonly elapsed: Collection<number>;
  /** A leader reads nothing: it writes the records. */
  readonly leads: () => boolean;
  readonly clock: Clock;
  readonly log: Log;
}): ElapsedMirror {
  const { store, deadlines, elapsed } = deps;
  const due = new Set<string>();
  let readsAll = false;

  const apply = (record: string, stored: StoredRecord | undefined): void => {
    const address = elapsedAddress(record);
    if (address === undefined) return;
    const json = stored === undefined ? undefined : parseJsonBytes(stored.value);
    // A damaged record is ignored.
    if (stored !== undefined && (json === undefined || !recordShape.elapsed(json))) return;
    deadlines.replicate(address.owner, address.key, (json as ElapsedRecord | undefined)?.at);
  };
  const lookAtAll = async (): Promise<void> => {
    const listed = new Set<string>();
    for await (const record of store.list(recordKey.elapsedOfAll)) {
      listed.add(record.key);
      apply(record.key, record);
    }
    for (const owner of elapsed.partitions()) {
      for (const { key } of elapsed.entries(owner)) {
        const record = recordKey.elapsed(owner, key);
        // Read once more: the leader may have written the record after the listing.
        if (!listed.has(record)) apply(record, await store.get(record));
      }
    }
  };
  const task = createSingleFlight(deps, 'reading which deadlines have passed', async () => {
    if (deps.leads()) {
      due.clear();
      readsAll = false;
      return false;
    }
    if (readsAll || due.size >= LIST_FROM) {
      due.clear();
      // Reset before the listing: a change during the listing is read after it.
      readsAll = false;
      await lookAtAll().catch((error: unknown) => {
        readsAll = true;
        throw error;
      });
    }
    for (const record of due) {
      due.delete(record);
      try {
        apply(record, await store.get(record));
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
      task.wake();
    },
    stop: task.stop,
  };
}
