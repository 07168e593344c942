import type { Digest } from '../fleet/ids.ts';
import { BUCKETS, bucketDigest, bucketOf, digestOfBuckets, inKeyOrder } from '../text/digest.ts';

/**
 * An immutable map whose entries lie in 256 buckets by their keys. A change makes a new map that shares the buckets of all
 * other keys, and their digests: so its cost depends on the change, and hardly on the size. Without empty buckets, because
 * most clusters have few keys. The order of entries says nothing.
 */
export interface BucketedMap<Key extends string, Value> extends ReadonlyMap<Key, Value> {
  /** The map without the keys of `drop`, and then with the entries of `put`. */
  with(put: Iterable<readonly [Key, Value]>, drop?: Iterable<Key>): BucketedMap<Key, Value>;
  /** As `snapshotDigest` over the keys and the texts of their values. Hashes the buckets that were not hashed before. */
  digest(): Digest;
  /** Keys whose values differ from the values in `other`, absent ones included. Looks only into buckets that are not shared. */
  changedSince(other: BucketedMap<Key, Value>): Iterable<Key>;
  /** For `changedSince`. */
  readonly buckets: ReadonlyMap<number, { readonly values: ReadonlyMap<Key, Value> }>;
}

interface Bucket<Key, Value> {
  /** In key order since `digest` was computed: a changed copy of the bucket is hashed without sorting. */
  values: Map<Key, Value>;
  /** Absent: not computed yet. */
  digest?: string;
}

/** `textOf`: what the digest covers of a value; undefined: nothing of this entry. It has no line feed. */
export function createBucketedMap<Key extends string, Value>(
  entries: Iterable<readonly [Key, Value]>,
  textOf: (value: Value) => string | undefined,
): BucketedMap<Key, Value> {
  return withBuckets<Key, Value>(new Map(), 0, textOf).with(entries);
}

function withBuckets<Key extends string, Value>(
  buckets: ReadonlyMap<number, Bucket<Key, Value>>,
  size: number,
  textOf: (value: Value) => string | undefined,
): BucketedMap<Key, Value> {
  const map: BucketedMap<Key, Value> = {
    buckets,
    size,
    get: (key) => buckets.get(bucketOf(key))?.values.get(key),
    has: (key) => buckets.get(bucketOf(key))?.values.has(key) === true,
    entries: () => buckets.values().flatMap(({ values }) => values.entries()),
    keys: () => buckets.values().flatMap(({ values }) => values.keys()),
    values: () => buckets.values().flatMap(({ values }) => values.values()),
    [Symbol.iterator]: () => map.entries(),
    forEach(visit) {
      for (const [key, value] of map) visit(value, key, map);
    },
    with(put, drop = []) {
      const next = new Map(buckets);
      const changed = new Set<number>();
      const at = (key: Key): Map<Key, Value> => {
        const index = bucketOf(key);
        const known = next.get(index);
        if (known !== undefined && changed.has(index)) return known.values;
        const bucket = { values: new Map(known?.values) };
        changed.add(index);
        next.set(index, bucket);
        return bucket.values;
      };
      for (const key of drop) at(key).delete(key);
      for (const [key, value] of put) at(key).set(key, value);
      let total = size;
      for (const index of changed) {
        const now = next.get(index)?.values.size ?? 0;
        total += now - (buckets.get(index)?.values.size ?? 0);
        if (now === 0) next.delete(index);
      }
      return withBuckets(next, total, textOf);
    },
    digest: () => {
      const digests: string[] = [];
      for (let index = 0; index < BUCKETS; index += 1) {
        const bucket = buckets.get(index);
        if (bucket !== undefined) bucket.digest ??= digestOf(bucket, textOf);
        digests.push(bucket?.digest ?? '');
      }
      return digestOfBuckets(digests);
    },
    *changedSince(other) {
      for (const index of new Set([...buckets.keys(), ...other.buckets.keys()])) {
        const [before, now] = [other.buckets.get(index)?.values, buckets.get(index)?.values];
        if (before === now) continue;
        for (const [key, value] of now ?? []) if (before?.get(key) !== value) yield key;
        for (const key of before?.keys() ?? []) if (now?.has(key) !== true) yield key;
      }
    },
  };
  return map;
}

function digestOf<Key extends string, Value>(
  bucket: Bucket<Key, Value>,
  textOf: (value: Value) => string | undefined,
): string {
  const entries = [...bucket.values];
  const sorted = inKeyOrder(entries);
  if (sorted !== entries) bucket.values = new Map(sorted);
  const texts: [Key, string][] = [];
  for (const [key, value] of sorted) {
    const text = textOf(value);
    if (text !== undefined) texts.push([key, text]);
  }
  return bucketDigest(texts);
}
