import { BUCKETS, bucketOf } from '../../model/buckets.ts';
import type { Digest } from '../../model/ids.ts';
import { type JsonValue, jsonEquals } from '../../model/json.ts';

/**
 * A checked map: values by key, stored as the records of each bucket and a manifest with the digest of each bucket. A reader
 * gets the complete map as of one write, or nothing.
 */
export interface StoredMap<Value = JsonValue> {
  /** Increases with each write of the map; lower in an older copy of the store. */
  readonly sequence: number;
  /** Of the content, `meta` included: equal content has an equal digest. */
  readonly digest: Digest;
  /** Data of the writer about the map as such; null: none. */
  readonly meta: JsonValue;
  readonly values: ReadonlyMap<string, Value>;
  /** The non-empty buckets by number. An unchanged bucket is the same object in a map that is read later. */
  readonly buckets: ReadonlyMap<number, StoredBucket<Value>>;
}

/** A bucket as read from the store. */
export interface StoredBucket<Value> {
  readonly digest: string;
  /** Number of its records. */
  readonly chunks: number;
  readonly values: ReadonlyMap<string, Value>;
}

/**
 * `missing`: the store has no such map. `damaged`: a record of it is missing or fails its check; the map counts as missing.
 * `orphans`: records under its name that belong to no bucket; its writer deletes them. `version`: version of the manifest's
 * record, null if there is none.
 */
export type MapReading<Value = JsonValue> =
  | {
      readonly type: 'complete';
      readonly map: StoredMap<Value>;
      readonly version: string;
      readonly orphans: readonly string[];
    }
  | { readonly type: 'missing'; readonly version: null; readonly orphans: readonly string[] }
  | { readonly type: 'damaged'; readonly message: string; readonly orphans: readonly string[] };

/** How values are encoded. */
export interface ValueCodec<Value> {
  encode(value: Value): JsonValue;
  /** Undefined if the JSON is no such value: then the map is damaged. */
  decode(json: JsonValue, key: string): Value | undefined;
  /** A value that equals the previous one is not written. */
  equals(a: Value, b: Value): boolean;
}

/** For values that are JSON; their shape is not checked, since digests protect the records. */
export function jsonCodec<Value>(): ValueCodec<Value> {
  return {
    encode: (value) => value as JsonValue,
    decode: (json) => json as Value,
    equals: (a, b) => jsonEquals(a as JsonValue, b as JsonValue),
  };
}

/**
 * The changes that lead from `before` (undefined: empty) to `after`; null: the key is deleted. The cost depends on the changed
 * buckets only; unchanged keys of a changed bucket may be included.
 */
export function changesBetween<Value>(
  before: StoredMap<Value> | undefined,
  after: StoredMap<Value>,
): ReadonlyMap<string, Value | null> {
  const changes = new Map<string, Value | null>();
  for (let number = 0; number < BUCKETS; number += 1) {
    const [old, now] = [before?.buckets.get(number), after.buckets.get(number)];
    if (old?.digest === now?.digest) continue;
    for (const key of old?.values.keys() ?? []) if (now?.values.has(key) !== true) changes.set(key, null);
    for (const [key, value] of now?.values ?? []) if (old?.values.get(key) !== value) changes.set(key, value);
  }
  return changes;
}

/** The values of all buckets, seen as one map. */
export function valuesOf<Value>(buckets: ReadonlyMap<number, StoredBucket<Value>>): ReadonlyMap<string, Value> {
  function* entries(): MapIterator<[string, Value]> {
    for (const { values } of buckets.values()) yield* values;
  }
  function* keys(): MapIterator<string> {
    for (const { values } of buckets.values()) yield* values.keys();
  }
  function* values(): MapIterator<Value> {
    for (const bucket of buckets.values()) yield* bucket.values.values();
  }
  const view: ReadonlyMap<string, Value> = {
    get size() {
      let size = 0;
      for (const bucket of buckets.values()) size += bucket.values.size;
      return size;
    },
    get: (key) => buckets.get(bucketOf(key))?.values.get(key),
    has: (key) => buckets.get(bucketOf(key))?.values.has(key) === true,
    forEach: (visit) => {
      for (const [key, value] of entries()) visit(value, key, view);
    },
    entries,
    keys,
    values,
    [Symbol.iterator]: entries,
  };
  return view;
}
