import { hash } from 'node:crypto';
import type { Digest } from './ids.ts';
import { canonicalJson, compareText, type JsonValue } from './json.ts';

/** sha256 of text (as UTF-8) or bytes, in hex. */
export function sha256(data: string | Uint8Array): Digest {
  return hash('sha256', data, 'hex') as Digest;
}

/** The digest of an object: sha256 of its canonical bytes as sent, before the agent stamps it. */
export function objectDigest(value: JsonValue): Digest {
  return sha256(canonicalJson(value));
}

/** The digest of a snapshot: sha256 of its list of (key, digest), sorted by key. The empty snapshot has a digest too. */
export function snapshotDigest(entries: Iterable<readonly [key: string, digest: string]>): Digest {
  const lines = [...entries].sort((a, b) => compareText(a[0], b[0])).map(([key, digest]) => `${key}\u0000${digest}\n`);
  return sha256(lines.join(''));
}

/** The number of buckets of keyed values. A change costs one bucket, not all of them. */
export const BUCKETS = 256;

/** The bucket of a key: the low byte of its FNV-1a hash over UTF-16 units. Part of the protocol: it never changes. */
export function bucketOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < key.length; index += 1) hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
  return hash & (BUCKETS - 1);
}

/** The digest of one bucket: as {@link snapshotDigest}, but the empty text for an empty bucket. */
export function bucketDigest(entries: readonly (readonly [string, string])[]): string {
  return entries.length === 0 ? '' : snapshotDigest(entries);
}

/** The digest of all buckets, from their digests in order. */
export function digestOfBuckets(digests: readonly string[]): Digest {
  return sha256(digests.join('\n'));
}
