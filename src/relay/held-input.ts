import { BUCKETS, bucketDigest, bucketOf, digestOfBuckets } from '../model/digest.ts';
import type { Digest } from '../model/ids.ts';

/** What somebody holds of an input snapshot, by key, with its digest; a step costs what it changes. */
export interface HeldInput {
  get(key: string): Digest | undefined;
  keys(): Iterable<string>;
  entries(): Iterable<readonly [string, Digest]>;
  digest(): Digest;
  /** The digest that it would have after this step. */
  digestAfter(step: HeldStep): Digest;
  take(step: HeldStep): void;
}

/** No key is in both lists. */
interface HeldStep {
  readonly upserts: readonly { readonly key: string; readonly digest: Digest }[];
  readonly removals: readonly string[];
}

/**
 * The digest of an input snapshot is taken in two steps, so that a change costs a bucket and not the cluster: over buckets,
 * and over their digests.
 */
export function createHeldInput(entries: Iterable<readonly [string, Digest]>): HeldInput {
  const digests = new Map(entries);
  /** Keys by bucket. Most clusters have something in a few of them only. */
  const buckets = new Map<number, string[]>();
  /** Digests of buckets that are not empty; those that are not here are to be worked out. */
  const known = new Map<number, string>();
  for (const key of digests.keys()) bucketAt(bucketOf(key)).push(key);

  return {
    get: (key) => digests.get(key),
    keys: () => digests.keys(),
    entries: () => digests,
    digest: () => digestOfBuckets(allKnown()),
    digestAfter,
    take,
  };

  function bucketAt(index: number): string[] {
    const bucket = buckets.get(index) ?? [];
    buckets.set(index, bucket);
    return bucket;
  }

  function allKnown(): readonly string[] {
    return Array.from({ length: BUCKETS }, (_, index) => knownAt(index));
  }

  function knownAt(index: number): string {
    const bucket = buckets.get(index) ?? [];
    if (bucket.length === 0) return '';
    const digest = known.get(index) ?? bucketDigest(bucket.map((key) => [key, digests.get(key) ?? '']));
    known.set(index, digest);
    return digest;
  }

  function digestAfter({ upserts, removals }: HeldStep): Digest {
    const changed = new Map<number, Map<string, string>>();
    const at = (key: string): Map<string, string> => {
      const index = bucketOf(key);
      const bucket =
        changed.get(index) ?? new Map((buckets.get(index) ?? []).map((held) => [held, digests.get(held) ?? '']));
      changed.set(index, bucket);
      return bucket;
    };
    for (const key of removals) at(key).delete(key);
    for (const { key, digest } of upserts) at(key).set(key, digest);
    const after = allKnown().map((digest, index) => {
      const bucket = changed.get(index);
      return bucket === undefined ? digest : bucketDigest([...bucket]);
    });
    return digestOfBuckets(after);
  }

  function take({ upserts, removals }: HeldStep): void {
    for (const key of removals) {
      if (!digests.delete(key)) continue;
      const index = bucketOf(key);
      const left = bucketAt(index).filter((held) => held !== key);
      if (left.length === 0) buckets.delete(index);
      else buckets.set(index, left);
      known.delete(index);
    }
    for (const { key, digest } of upserts) {
      const index = bucketOf(key);
      if (!digests.has(key)) bucketAt(index).push(key);
      digests.set(key, digest);
      known.delete(index);
    }
  }
}

/** The digest of a whole input snapshot. */
export function inputDigest(entries: Iterable<readonly [string, Digest]>): Digest {
  return createHeldInput(entries).digest();
}
