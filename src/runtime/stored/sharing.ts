import type { StoredBucket } from './stored-map.ts';

/** Buckets that are remembered: more than the maps of one cluster have. */
const BUCKETS_REMEMBERED = 2_048;
/** Different values of one key that are looked through. */
const VALUES_COMPARED = 8;

/**
 * Lets maps of one kind that are read one after the other share what is equal in them: clusters of a fleet have many equal
 * entries. A bucket with the same bytes is decoded once, and equal keys and values are the same objects.
 */
export interface Sharing<Value> {
  /** The bucket that was decoded from the same records; undefined: none is remembered. */
  decoded(digest: string, chunks: readonly Uint8Array[]): StoredBucket<Value> | undefined;
  /** Remembers a decoded bucket. */
  remember(chunks: readonly Uint8Array[], bucket: StoredBucket<Value>): void;
  /** The key and the value as they were given first. */
  shared(key: string, value: Value, equals: (a: Value, b: Value) => boolean): readonly [string, Value];
}

/** `keys`: equal keys are shared with the maps of other kinds. */
export function createSharing<Value>(keys: Map<string, string>): Sharing<Value> {
  const buckets = new Map<string, { readonly chunks: readonly Uint8Array[]; readonly bucket: StoredBucket<Value> }>();
  const values = new Map<string, Value[]>();
  return {
    decoded: (digest, chunks) => {
      const known = buckets.get(digest);
      // The digest covers the text, not its stored bytes. Only equal bytes need no check of their own.
      return known !== undefined && isSameBytes(known.chunks, chunks) ? known.bucket : undefined;
    },
    remember: (chunks, bucket) => {
      buckets.set(bucket.digest, { chunks, bucket });
      for (const oldest of buckets.keys()) {
        if (buckets.size <= BUCKETS_REMEMBERED) break;
        buckets.delete(oldest);
      }
    },
    shared: (key, value, equals) => {
      const sameKey = keys.get(key);
      if (sameKey === undefined) keys.set(key, key);
      const own = sameKey ?? key;
      const known = values.get(own);
      if (known === undefined) {
        values.set(own, [value]);
        return [own, value];
      }
      const same = known.find((one) => equals(one, value));
      if (same === undefined && known.length < VALUES_COMPARED) known.push(value);
      return [own, same ?? value];
    },
  };
}

function isSameBytes(a: readonly Uint8Array[], b: readonly Uint8Array[]): boolean {
  return a.length === b.length && a.every((chunk, at) => Buffer.compare(chunk, b[at] ?? new Uint8Array()) === 0);
}
