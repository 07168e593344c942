import { hash } from 'node:crypto';
import type { Digest } from '../fleet/ids.ts';
import { canonicalJson, compareText, type JsonValue } from './json.ts';

/** sha256 of text (as UTF-8) or bytes, in hex. */
export function sha256(data: string | Uint8Array): Digest {
  return hash('sha256', data, 'hex') as Digest;
}

/** The digest of an object: sha256 of its canonical bytes as sent, before the agent stamps it. */
export function objectDigest(value: JsonValue): Digest {
  return sha256(canonicalJson(value));
}

/** The number of buckets of keyed values. A change costs one bucket, not all of them. */
export const BUCKETS = 256;

/** The bucket of a key: the low byte of its FNV-1a hash over UTF-16 units. Part of the protocol: it never changes. */
export function bucketOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < key.length; index += 1) hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
  return hash & (BUCKETS - 1);
}

/** The digest of one bucket: sha256 of its list of (key, text), sorted by key; the empty text for an empty bucket. */
export function bucketDigest(entries: readonly (readonly [key: string, text: string])[]): string {
  if (entries.length === 0) return '';
  let lines = '';
  for (const [key, text] of inKeyOrder(entries)) lines += `${key}\u0000${text}\n`;
  return sha256(lines);
}

/** Sorted by key; the same list if it is sorted already. */
export function inKeyOrder<Entry extends readonly [key: string, value: unknown]>(
  entries: readonly Entry[],
): readonly Entry[] {
  const isSorted = entries.every(([key], place) => place === 0 || (entries[place - 1] as Entry)[0] <= key);
  return isSorted ? entries : entries.toSorted((a, b) => compareText(a[0], b[0]));
}

/** The digest of all buckets, from their digests in order. */
export function digestOfBuckets(digests: readonly string[]): Digest {
  return sha256(digests.join('\n'));
}

/**
 * The digest of a snapshot: over the digests of its buckets. The empty snapshot has a digest too. `text`: the digest of an
 * object, or another text without a line feed. A snapshot that changes has its digest from `bucketed-map.ts`.
 */
export function snapshotDigest(entries: Iterable<readonly [key: string, text: string]>): Digest {
  const buckets: (readonly [string, string])[][] = Array.from({ length: BUCKETS }, () => []);
  for (const entry of entries) buckets[bucketOf(entry[0])]?.push(entry);
  return digestOfBuckets(buckets.map(bucketDigest));
}
