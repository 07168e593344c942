import type { JsonValue } from '../../model/json.ts';
import type { StoreWrite } from '../../ports/snapshot-store.ts';
import type { MapReading, ValueCodec } from './stored-map.ts';

/** Decides whether this process may write a group, where several processes share a store. */
export interface WriteGuard {
  /** The check of each batch; undefined: writes wait until {@link WriteGroup.resume}. */
  check(): StoreWrite | undefined;
  /** The check has failed: another process owns the records. The group writes nothing until {@link WriteGroup.resume}. */
  refused(): void;
}

/** Writes JSON records. */
export interface RecordWriter {
  /** Null deletes. */
  put(key: string, value: unknown | null): void;
  /** The store has this record already: it is remembered for a loss of the store, and not written. */
  noted(key: string, value: unknown | null): void;
}

/**
 * The writes of one owner. Memory is authoritative, and the store follows it. Values that are put within a short time are
 * written together, in one batch if it is not too large; the committed maps of a group are one consistent state. The last value
 * per key wins. All values are remembered, so that they can be written again after a loss of the store.
 */
export interface WriteGroup extends RecordWriter {
  /**
   * Creates the writer of a map. `before`: the map in the store, as read by the new owner. Without it the first change writes
   * the complete map.
   */
  map<Value>(name: string, codec: ValueCodec<Value>, before?: MapReading<Value>): MapWriter<Value>;
  /** Writes everything again: the store may have lost any of it. */
  rewrite(): void;
  /** Forgets these records: another process has written them since. */
  forget(isVoid: (key: string) => boolean): void;
  /** The guard may allow writes again. */
  resume(): void;
  /** The process no longer owns the group: waiting writes are dropped, and the store keeps its records. */
  close(): void;
}

/** Writes a checked map. */
export interface MapWriter<Value> {
  /** Null deletes the key. */
  set(key: string, value: Value | null): void;
  /** Replaces the content; unchanged buckets are not written. */
  replaceAll(values: Iterable<readonly [string, Value]>): void;
  /** Sets the data in the manifest. Afterwards the map exists in the store even if it is empty. */
  setMeta(meta: JsonValue): void;
  /** Deletes the map, until a value is set again. */
  drop(): void;
}
