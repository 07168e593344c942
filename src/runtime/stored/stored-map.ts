import { BUCKETS, bucketOf } from '../../model/buckets.ts';
import type { Digest } from '../../model/ids.ts';
import { type JsonValue, jsonEquals } from '../../model/json.ts';

/**
 * A checked map: values by key, kept in the store as one record per bucket and a manifest that names the digest of each.
 * What is read is the whole map as it was at one write, or nothing: never a part of it.
 */
export interface StoredMap<Value = JsonValue> {
  /** Rises with each write of the map. An older copy of a store has a lower one. */
  readonly sequence: number;
  /** Of the content, `meta` included: equal content has an equal digest. */
  readonly digest: Digest;
  /** What its writer says of the whole; null: nothing. */
  readonly meta: JsonValue;
  readonly values: ReadonlyMap<string, Value>;
  /** The buckets that are not empty, by number; one that has not changed is the same in a map that was read later. */
  readonly buckets: ReadonlyMap<number, StoredBucket<Value>>;
}

/** One part of a map as the store has it. */
export interface StoredBucket<Value> {
  readonly digest: string;
  /** Of how many records it consists. */
  readonly chunks: number;
  readonly values: ReadonlyMap<string, Value>;
}

/**
 * `missing`: the store has no such map. `damaged`: it has something of it, and that is not the map as it was written: it
 * counts as missing. `orphans`: records under its name that belong to no bucket; its writer takes them away. `version`: of
 * the manifest's record, null if there is none.
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

/** How values are written down. */
export interface ValueCodec<Value> {
  encode(value: Value): JsonValue;
  /** Undefined: that is no such value, and the map is damaged. */
  decode(json: JsonValue, key: string): Value | undefined;
  /** A value that equals the one before is not written. */
  equals(a: Value, b: Value): boolean;
}

/** Values that are JSON and are trusted to have the shape that was written. */
export function jsonCodec<Value>(): ValueCodec<Value> {
  return {
    encode: (value) => value as JsonValue,
    decode: (json) => json as Value,
    equals: (a, b) => jsonEquals(a as JsonValue, b as JsonValue),
  };
}

/**
 * What has to be done to a map `before` (undefined: empty) to get to `after`; null: the key is gone. Costs what changed;
 * neighbours of a changed key may be named as well.
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
