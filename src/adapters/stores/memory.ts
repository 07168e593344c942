import { compareText } from '../../model/text/json.ts';
import type { SnapshotStore, StoredRecord, StoreWrite } from '../../ports/snapshot-store.ts';

/** A store in memory: for tests, and for a server that need not outlast its process. */
export function createMemoryStore(): SnapshotStore {
  const records = new Map<string, StoredRecord>();
  let counter = 0;
  let open = true;

  return {
    get: async (key) => {
      assertOpen();
      const record = records.get(key);
      return record === undefined ? undefined : copy(record);
    },
    async *list(prefix) {
      assertOpen();
      const keys = [...records.keys()].filter((key) => key.startsWith(prefix)).sort(compareText);
      for (const key of keys) {
        const record = records.get(key);
        if (record !== undefined) yield copy(record);
      }
    },
    write: async (writes) => {
      assertOpen();
      if (!writes.every(holds)) return 'conflict';
      for (const { key, value } of writes) {
        if (value === undefined) continue;
        counter += 1;
        if (value === null) records.delete(key);
        else records.set(key, { key, value: Uint8Array.from(value), version: String(counter) });
      }
      return 'written';
    },
    shared: false,
    watch: () => () => {},
    notified: async () => undefined,
    close: async () => {
      open = false;
    },
  };

  function holds({ key, ifVersion }: StoreWrite): boolean {
    return ifVersion === undefined || ifVersion === (records.get(key)?.version ?? null);
  }

  function assertOpen(): void {
    if (!open) throw new Error('the store is closed');
  }
}

/** Callers may change the returned bytes; the stored record must not change. */
function copy(record: StoredRecord): StoredRecord {
  return { ...record, value: Uint8Array.from(record.value) };
}
