import { BUCKETS, bucketDigest, bucketOf, digestOfBuckets } from '../model/digest.ts';
import type { Digest } from '../model/ids.ts';

/** No key is in both lists. */
interface Step {
  readonly upserts: readonly { readonly key: string; readonly digest: Digest }[];
  readonly removals: readonly string[];
}

/** Keys and digests of an input snapshot, and its own digest. The cost of a step depends on the step only. */
export type InputDigests = ReturnType<typeof createInputDigests>;

/**
 * Starts with these keys and digests. The digest of an input snapshot is computed over 256 buckets and then over their
 * digests, so that a change costs one bucket.
 */
export function createInputDigests(initial: Iterable<readonly [string, Digest]>) {
  /** Without empty buckets: most clusters have few keys, and a server has input digests for each. */
  const buckets = new Map<number, ReadonlyMap<string, Digest>>();
  /** Digests of buckets in `buckets`; absent: not computed since the last change. */
  const computed = new Map<number, string>();
  take({ upserts: [...initial].map(([key, digest]) => ({ key, digest })), removals: [] });

  return {
    get: (key: string): Digest | undefined => buckets.get(bucketOf(key))?.get(key),
    *entries(): Generator<readonly [string, Digest], void, void> {
      for (const bucket of buckets.values()) yield* bucket;
    },
    digest: (): Digest => digestOf(new Map()),
    /** The digest after this step. */
    digestAfter: (step: Step): Digest => digestOf(after(step)),
    take,
  };

  function take(step: Step): void {
    for (const [index, bucket] of after(step)) {
      if (bucket.size === 0) buckets.delete(index);
      else buckets.set(index, bucket);
      computed.delete(index);
    }
  }

  /** The buckets that a step changes, as they are after it. */
  function after({ upserts, removals }: Step): Map<number, Map<string, Digest>> {
    const changed = new Map<number, Map<string, Digest>>();
    const at = (key: string): Map<string, Digest> => {
      const index = bucketOf(key);
      const bucket = changed.get(index) ?? new Map(buckets.get(index));
      changed.set(index, bucket);
      return bucket;
    };
    for (const key of removals) at(key).delete(key);
    for (const { key, digest } of upserts) at(key).set(key, digest);
    return changed;
  }

  function digestOf(changed: ReadonlyMap<number, ReadonlyMap<string, Digest>>): Digest {
    return digestOfBuckets(
      Array.from({ length: BUCKETS }, (_, index) => {
        const bucket = changed.get(index) ?? buckets.get(index);
        if (bucket === undefined) return bucketDigest([]);
        if (changed.has(index)) return bucketDigest([...bucket]);
        const digest = computed.get(index) ?? bucketDigest([...bucket]);
        computed.set(index, digest);
        return digest;
      }),
    );
  }
}

/** The digest of a complete input snapshot. */
export function inputDigest(entries: Iterable<readonly [string, Digest]>): Digest {
  return createInputDigests(entries).digest();
}
