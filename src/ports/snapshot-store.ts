/** One stored record. Keys are `/`-separated text, values opaque bytes. */
export interface StoredRecord {
  readonly key: string;
  readonly value: Uint8Array;
  /** Changes with each write of the key; compared, never interpreted. */
  readonly version: string;
}

/**
 * One write of a batch; `value: null` deletes, without `value` nothing is written. With `ifVersion` the whole batch fails
 * unless the key has that version (`null`: is absent).
 */
export interface StoreWrite {
  readonly key: string;
  readonly value?: Uint8Array | null;
  readonly ifVersion?: string | null;
}

/**
 * What a shared store tells. `changed`: another process may have written these keys. `lost`: the store may lack anything
 * that was written before (it was emptied, or an older copy of it has taken over): whoever has it in memory writes it
 * again. `down`, `up`: it does not answer, it answers again; in between anything may have changed.
 */
export type StoreEvent =
  | { readonly type: 'changed'; readonly keys: readonly string[] }
  | { readonly type: 'lost'; readonly message: string }
  | { readonly type: 'down'; readonly message: string }
  | { readonly type: 'up' };

/**
 * Keeps what must outlast the server's process. A lost store is noticed by its user through an epoch marker that it
 * keeps here; the store itself just has the record or has it not.
 */
export interface SnapshotStore {
  /** The record, or undefined. Rejects when the store cannot be asked (which is not the same as absent). */
  get(key: string): Promise<StoredRecord | undefined>;
  /** All records whose key starts with `prefix`, in key order. */
  list(prefix: string): AsyncIterable<StoredRecord>;
  /**
   * Applies all writes or none. `conflict` if an `ifVersion` did not hold. Durable when it resolves. A reply that was lost
   * is no conflict with oneself: who asks again for the same batch is told what became of it.
   */
  write(writes: readonly StoreWrite[]): Promise<'written' | 'conflict'>;
  /** True if several processes may have it open at once; then each hears of the others' writes by `watch`. */
  readonly shared: boolean;
  /** Tells what happens to the store, soon, and rather too often than too seldom; a store of one process has nothing to tell. */
  watch(listener: (event: StoreEvent) => void): () => void;
  close(): Promise<void>;
}
