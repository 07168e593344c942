import { sha256 } from '../../model/digest.ts';
import type { Digest } from '../../model/ids.ts';
import { canonicalJson, isJsonObject, type JsonValue, parseJsonBytes } from '../../model/json.ts';
import { textDigest } from './packed.ts';

/** The manifest of a map: the record under the map's own name. */
export interface Manifest {
  readonly sequence: number;
  readonly digest: Digest;
  readonly meta: JsonValue;
  /** The buckets that are not empty, by number. */
  readonly buckets: ReadonlyMap<number, BucketRef>;
}

/** The records of a bucket. Their keys contain its digest, so a record that a manifest names is never overwritten. */
export interface BucketRef {
  readonly digest: string;
  readonly chunks: number;
}

const FORMAT = 1;
const BUCKET_RECORD = /^(.+)\/[0-9a-f]{2}\/[\w-]{22}\/\d+$/;
const BUCKET_REF = /^([\w-]{22})(?::([1-9]\d{0,5}))?$/;
const BUCKET_NUMBER = /^[0-9a-f]{2}$/;

/** The keys of a bucket's records, in order. */
export function bucketKeys(map: string, number: number, { digest, chunks }: BucketRef): readonly string[] {
  return Array.from({ length: chunks }, (_, chunk) => `${map}/${hex(number)}/${digest}/${chunk}`);
}

/** The map whose bucket a record belongs to; undefined for a manifest or another record. */
export function mapOfBucketRecord(key: string): string | undefined {
  return BUCKET_RECORD.exec(key)?.[1];
}

/** Makes a manifest; `buckets` in any order. */
export function makeManifest(sequence: number, meta: JsonValue, buckets: ReadonlyMap<number, BucketRef>): Manifest {
  const sorted = new Map([...buckets].sort(([a], [b]) => a - b));
  return { sequence, digest: contentDigest(meta, sorted), meta, buckets: sorted };
}

/** The record of a manifest. */
export function encodeManifest(map: string, { sequence, digest, meta, buckets }: Manifest): Uint8Array {
  const refs = Object.fromEntries(
    [...buckets].map(([number, ref]) => [hex(number), ref.chunks === 1 ? ref.digest : `${ref.digest}:${ref.chunks}`]),
  );
  const check = checkOf(map, sequence, digest);
  return new TextEncoder().encode(canonicalJson({ format: FORMAT, sequence, digest, meta, buckets: refs, check }));
}

/** Undefined if the bytes are no manifest of this map, or are damaged. */
export function decodeManifest(map: string, bytes: Uint8Array): Manifest | undefined {
  const json = parseJsonBytes(bytes);
  if (!isJsonObject(json)) return undefined;
  const { format, sequence, digest, meta, buckets: refs, check } = json;
  if (format !== FORMAT || typeof sequence !== 'number' || meta === undefined || !isJsonObject(refs)) return undefined;
  const buckets = new Map<number, BucketRef>();
  for (const [name, text] of Object.entries(refs)) {
    const match = typeof text === 'string' ? BUCKET_REF.exec(text) : null;
    if (match?.[1] === undefined || !BUCKET_NUMBER.test(name)) return undefined;
    buckets.set(Number.parseInt(name, 16), { digest: match[1], chunks: Number(match[2] ?? 1) });
  }
  const manifest = makeManifest(sequence, meta, buckets);
  return digest === manifest.digest && check === checkOf(map, sequence, manifest.digest) ? manifest : undefined;
}

function contentDigest(meta: JsonValue, buckets: ReadonlyMap<number, BucketRef>): Digest {
  const lines = [...buckets].map(([number, { digest, chunks }]) => `${hex(number)} ${digest} ${chunks}\n`);
  return sha256(`${canonicalJson(meta)}\n${lines.join('')}`);
}

/** Binds a manifest to its map and sequence: one that was copied elsewhere is damaged. */
function checkOf(map: string, sequence: number, digest: Digest): string {
  return textDigest(`${map}\n${sequence}\n${digest}`);
}

function hex(number: number): string {
  return number.toString(16).padStart(2, '0');
}
