import { sha256 } from './digest.ts';
import type { Digest } from './ids.ts';
import { compareText } from './json.ts';

/** Into how many parts keyed values are divided, so that a change costs a part and not the whole. */
export const BUCKETS = 256;

/** A key's bucket: the low byte of its FNV-1a hash over UTF-16 units. Others rely on it: it never changes. */
export function bucketOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < key.length; index += 1) hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
  return hash & (BUCKETS - 1);
}

/** Digest of one bucket: sha256 of its (key, digest) list sorted by key; nothing if it is empty. */
export function bucketDigest(entries: readonly (readonly [string, string])[]): string {
  if (entries.length === 0) return '';
  const lines = entries.toSorted((a, b) => compareText(a[0], b[0])).map(([key, digest]) => `${key}\u0000${digest}\n`);
  return sha256(lines.join(''));
}

/** Digest of the whole, from the digests of all buckets in their order. */
export function digestOfBuckets(digests: readonly string[]): Digest {
  return sha256(digests.join('\n'));
}
