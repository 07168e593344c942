import { hash } from 'node:crypto';
import type { Digest } from './ids.ts';
import { canonicalJson, compareText, type JsonValue } from './json.ts';

/** sha256 of text (as UTF-8) or bytes, in hex. */
export function sha256(data: string | Uint8Array): Digest {
  return hash('sha256', data, 'hex') as Digest;
}

/** Digest of an object: sha256 of its canonical bytes as sent, before any stamp. */
export function objectDigest(value: JsonValue): Digest {
  return sha256(canonicalJson(value));
}

/** Digest of a snapshot: sha256 of its (key, digest) list sorted by key. The empty snapshot has a digest as well. */
export function snapshotDigest(entries: Iterable<readonly [key: string, digest: Digest]>): Digest {
  const lines = [...entries].sort((a, b) => compareText(a[0], b[0])).map(([key, digest]) => `${key}\u0000${digest}\n`);
  return sha256(lines.join(''));
}
