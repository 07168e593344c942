/** One stored record. Keys are `/`-separated text, values opaque bytes. */
export interface StoredRecord {
  readonly key: string;
  readonly value: Uint8Array;
  /** Changes with each write of the key; compared, never interpreted. */
  readonly version: string;
}

/** One write of a batch; `value: null` deletes. With `ifVersion` the whole batch fails unless the key has that version (`null`: is absent). */
export interface StoreWrite {
  readonly key: string;
  readonly value: Uint8Array | null;
  readonly ifVersion?: string | null;
}

/**
 * Keeps what must outlast the server's process. A lost store is noticed by its user through an epoch marker that it
 * keeps here; the store itself just has the record or has it not.
 */
export interface SnapshotStore {
  /** The record, or undefined. Rejects when the store cannot be asked (which is not the same as absent). */
  get(key: string): Promise<StoredRecord | undefined>;
  /** All records whose key starts with `prefix`, in key order. */
  list(prefix: string): AsyncIterable<StoredRecord>;
  /** Applies all writes or none. `conflict` if an `ifVersion` did not hold. Durable when it resolves. */
  write(writes: readonly StoreWrite[]): Promise<'written' | 'conflict'>;
  close(): Promise<void>;
}
