import type { JsonValue } from '../../model/json.ts';
import type { StoreWrite } from '../../ports/snapshot-store.ts';
import type { MapReading, ValueCodec } from './stored-map.ts';

/** Who may write a group, where several processes share a store. */
export interface WriteGuard {
  /** Goes with every batch; undefined: not now, and what is to be written waits until {@link WriteGroup.resume}. */
  check(): StoreWrite | undefined;
  /** The check has failed: somebody else owns this now. Nothing more is written until {@link WriteGroup.resume}. */
  refused(): void;
}

/** Writes records of JSON, each on its own. */
export interface RecordWriter {
  /** Null deletes. */
  put(key: string, value: unknown | null): void;
  /** The store has this already, as read or as written by somebody else: it is remembered and not written. */
  noted(key: string, value: unknown | null): void;
}

/**
 * What one owner writes to the store. Memory is the truth, the store follows: everything that is put within one short
 * while is written together, and in one batch as long as that is not too large; the maps of a group are always those of
 * one moment. The newest value per key wins. Everything is remembered, so that it can be written anew after a loss.
 */
export interface WriteGroup extends RecordWriter {
  /**
   * The writer of a map. `before` is what the store has of it, as read by whoever owns it now; without it nothing is
   * known, and the whole is written with the first change.
   */
  map<Value>(name: string, codec: ValueCodec<Value>, before?: MapReading<Value>): MapWriter<Value>;
  /** The store may have lost any of it: everything again. */
  rewrite(): void;
  /** Somebody else has written these since: what is remembered of them is void. */
  forget(isVoid: (key: string) => boolean): void;
  /** The guard may say something else now. */
  resume(): void;
  /** Not owned any more: what waits is dropped, and what is in the store stays. */
  close(): void;
}

/** Writes a checked map. */
export interface MapWriter<Value> {
  /** Null: the key is gone. */
  set(key: string, value: Value | null): void;
  /** The map holds these and nothing else; what is as before costs no write. */
  replaceAll(values: Iterable<readonly [string, Value]>): void;
  /** Says something of the whole, in the manifest; an empty map is in the store once this was called. */
  setMeta(meta: JsonValue): void;
  /** The map is to be missing, until something is set again. */
  drop(): void;
}
