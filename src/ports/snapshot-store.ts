/** One stored record. Keys are `/`-separated text, values opaque bytes. */
export interface StoredRecord {
  readonly key: string;
  readonly value: Uint8Array;
  /** Changes with each write of the key; compared, never interpreted. */
  readonly version: string;
}

/**
 * One write of a batch; `value: null` deletes, without `value` nothing is written. With `ifVersion` the complete batch fails
 * unless the key has that version (`null`: is absent).
 */
export interface StoreWrite {
  readonly key: string;
  readonly value?: Uint8Array | null;
  readonly ifVersion?: string | null;
}

/**
 * Events of a shared store. `changed`: another process may have written these keys. `lost`: the store may lack any earlier
 * write (it was emptied, or an older copy of it has taken over), and each owner writes its records again from memory. `down`:
 * the store does not answer. `up`: it answers again, and other processes may have changed any key meanwhile.
 */
export type StoreEvent =
  | { readonly type: 'changed'; readonly keys: readonly string[] }
  | { readonly type: 'lost'; readonly message: string }
  | { readonly type: 'down'; readonly message: string }
  | { readonly type: 'up' };

/**
 * Records that must outlast the server's process. The store does not know whether it was lost: its user keeps an epoch record
 * here and finds it missing.
 */
export interface SnapshotStore {
  /** The record, or undefined if it is absent. Rejects if the store does not answer. */
  get(key: string): Promise<StoredRecord | undefined>;
  /** All records whose key starts with `prefix`, in key order. */
  list(prefix: string): AsyncIterable<StoredRecord>;
  /**
   * Applies all writes or none; durable when it resolves. `conflict` if an `ifVersion` does not match. If the reply to a
   * batch was lost, a retry returns the outcome of that batch and is no conflict with it, unless this process has changed one of its
   * records since.
   */
  write(writes: readonly StoreWrite[]): Promise<'written' | 'conflict'>;
  /** True if several processes may use it at once; then `watch` reports the writes of the others. */
  readonly shared: boolean;
  /** Emits events soon after their cause, some without need. A store of one process emits none. */
  watch(listener: (event: StoreEvent) => void): () => void;
  /** Resolves when the events of all earlier batches were emitted. Rejects if the store does not answer. */
  notified(): Promise<void>;
  close(): Promise<void>;
}
