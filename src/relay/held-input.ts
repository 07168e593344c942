import { sha256 } from '../model/digest.ts';
import type { Digest } from '../model/ids.ts';
import { compareText } from '../model/json.ts';

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

const BUCKETS = 256;

/**
 * The digest of an input snapshot is taken in two steps, so that a change costs a bucket and not the cluster: sha256 over
 * the digests of 256 buckets, each the sha256 of its (key, digest) list sorted by key (nothing, if it is empty), where a
 * key's bucket is the low byte of its FNV-1a hash over UTF-16 units.
 */
export function createHeldInput(entries: Iterable<readonly [string, Digest]>): HeldInput {
  const digests = new Map(entries);
  const buckets: (string[] | undefined)[] = new Array(BUCKETS);
  /** Of the buckets; undefined where it is to be worked out. */
  const known: (string | undefined)[] = new Array(BUCKETS);
  for (const key of digests.keys()) bucketAt(bucketOf(key)).push(key);

  return {
    get: (key) => digests.get(key),
    keys: () => digests.keys(),
    entries: () => digests,
    digest: () => combined(allKnown()),
    digestAfter,
    take,
  };

  function bucketAt(index: number): string[] {
    const bucket = buckets[index] ?? [];
    buckets[index] = bucket;
    return bucket;
  }

  function allKnown(): readonly string[] {
    return Array.from({ length: BUCKETS }, (_, index) => knownAt(index));
  }

  function knownAt(index: number): string {
    const digest = known[index] ?? digestOfBucket((buckets[index] ?? []).map((key) => [key, digests.get(key) ?? '']));
    known[index] = digest;
    return digest;
  }

  function digestAfter({ upserts, removals }: HeldStep): Digest {
    const changed = new Map<number, Map<string, string>>();
    const at = (key: string): Map<string, string> => {
      const index = bucketOf(key);
      const bucket =
        changed.get(index) ?? new Map((buckets[index] ?? []).map((held) => [held, digests.get(held) ?? '']));
      changed.set(index, bucket);
      return bucket;
    };
    for (const key of removals) at(key).delete(key);
    for (const { key, digest } of upserts) at(key).set(key, digest);
    const after = allKnown().map((digest, index) => {
      const bucket = changed.get(index);
      return bucket === undefined ? digest : digestOfBucket([...bucket]);
    });
    return combined(after);
  }

  function take({ upserts, removals }: HeldStep): void {
    for (const key of removals) {
      if (!digests.delete(key)) continue;
      const index = bucketOf(key);
      buckets[index] = bucketAt(index).filter((held) => held !== key);
      known[index] = undefined;
    }
    for (const { key, digest } of upserts) {
      const index = bucketOf(key);
      if (!digests.has(key)) bucketAt(index).push(key);
      digests.set(key, digest);
      known[index] = undefined;
    }
  }
}

/** The digest of a whole input snapshot. */
export function inputDigest(entries: Iterable<readonly [string, Digest]>): Digest {
  return createHeldInput(entries).digest();
}

function digestOfBucket(entries: readonly (readonly [string, string])[]): string {
  if (entries.length === 0) return '';
  const lines = entries.toSorted((a, b) => compareText(a[0], b[0])).map(([key, digest]) => `${key}\u0000${digest}\n`);
  return sha256(lines.join(''));
}

function combined(digests: readonly string[]): Digest {
  return sha256(digests.join('\n'));
}

function bucketOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < key.length; index += 1) hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
  return hash & (BUCKETS - 1);
}
