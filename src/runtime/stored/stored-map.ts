import { hash } from 'node:crypto';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { BUCKETS, bucketOf, sha256 } from '../../model/digest.ts';
import type { Digest } from '../../model/ids.ts';
import { canonicalJson, isJsonObject, type JsonValue, jsonEquals, parseJsonBytes } from '../../model/json.ts';

/**
 * A checked map: values by key, stored as the records of each bucket and a manifest with the digest of each bucket. A reader
 * gets the complete map as of one write, or nothing.
 */
export interface StoredMap<Value = JsonValue> {
  /** Increases with each write of the map; lower in an older copy of the store. */
  readonly sequence: number;
  /** Of the content, `meta` included: equal content has an equal digest. */
  readonly digest: Digest;
  /** Data of the writer about the map as such; null: none. */
  readonly meta: JsonValue;
  readonly values: ReadonlyMap<string, Value>;
  /** The non-empty buckets by number. An unchanged bucket is the same object in a map that is read later. */
  readonly buckets: ReadonlyMap<number, StoredBucket<Value>>;
}

/** A bucket as read from the store. */
export interface StoredBucket<Value> {
  readonly digest: string;
  /** Number of its records. */
  readonly chunks: number;
  readonly values: ReadonlyMap<string, Value>;
}

/**
 * `missing`: the store has no such map. `damaged`: a record of it is missing or fails its check; the map counts as missing.
 * `orphans`: records under its name that belong to no bucket; its writer deletes them. `version`: version of the manifest's
 * record, null if there is none.
 */
export type MapReading<Value = JsonValue> =
  | {
      readonly type: 'complete';
      readonly map: StoredMap<Value>;
      readonly version: string;
      readonly orphans: readonly string[];
    }
  | { readonly type: 'missing'; readonly version: null; readonly orphans: readonly string[] }
  | { readonly type: 'damaged'; readonly message: string; readonly orphans: readonly string[] };

/** How values are encoded. */
export interface ValueCodec<Value> {
  encode(value: Value): JsonValue;
  /** Undefined if the JSON is no such value: then the map is damaged. */
  decode(json: JsonValue, key: string): Value | undefined;
  /** A value that equals the previous one is not written. */
  equals(a: Value, b: Value): boolean;
}

/** For values that are JSON; their shape is not checked, since digests protect the records. */
export function jsonCodec<Value>(): ValueCodec<Value> {
  return {
    encode: (value) => value as JsonValue,
    decode: (json) => json as Value,
    equals: (a, b) => jsonEquals(a as JsonValue, b as JsonValue),
  };
}

/**
 * The changes that lead from `before` (undefined: empty) to `after`; null: the key is deleted. The cost depends on the changed
 * buckets only; unchanged keys of a changed bucket may be included.
 */
export function changesBetween<Value>(
  before: StoredMap<Value> | undefined,
  after: StoredMap<Value>,
): ReadonlyMap<string, Value | null> {
  const changes = new Map<string, Value | null>();
  for (let number = 0; number < BUCKETS; number += 1) {
    const [old, now] = [before?.buckets.get(number), after.buckets.get(number)];
    if (old?.digest === now?.digest) continue;
    for (const key of old?.values.keys() ?? []) if (now?.values.has(key) !== true) changes.set(key, null);
    for (const [key, value] of now?.values ?? []) if (old?.values.get(key) !== value) changes.set(key, value);
  }
  return changes;
}

/** The values of all buckets, seen as one map. */
export function valuesOf<Value>(buckets: ReadonlyMap<number, StoredBucket<Value>>): ReadonlyMap<string, Value> {
  const entries = () => buckets.values().flatMap(({ values }) => values.entries());
  const view: ReadonlyMap<string, Value> = {
    get size() {
      return [...buckets.values()].reduce((size, { values }) => size + values.size, 0);
    },
    get: (key) => buckets.get(bucketOf(key))?.values.get(key),
    has: (key) => buckets.get(bucketOf(key))?.values.has(key) === true,
    forEach: (visit) => entries().forEach(([key, value]) => void visit(value, key, view)),
    entries,
    keys: () => buckets.values().flatMap(({ values }) => values.keys()),
    values: () => buckets.values().flatMap(({ values }) => values.values()),
    [Symbol.iterator]: entries,
  };
  return view;
}

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

/** Size limit of one record. */
const CHUNK_BYTES = 256 * 1024;
/** Smaller texts are not compressed: the gain is not worth the time. */
const COMPRESS_FROM = 512;
/** A damaged frame may request a window of gigabytes; 8 MiB is what every zstd decoder must support. */
const MAX_WINDOW_LOG = 23;
/** No written text is longer. */
const MAX_UNPACKED_BYTES = 1024 * 1024 * 1024;

/** Usual ratio of a text to its packed bytes: sizes the first output buffer. */
const USUAL_RATIO = 6;
const SMALLEST_PIECE = 1024;
const LARGEST_PIECE = 64 * 1024;

const PLAIN = 0;
const ZSTD = 1;

/** Short digest of a text, 132 bits of its sha256: names and checks a record, and keeps manifests short. */
export function textDigest(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 22);
}

/** The bytes of a text as records hold them, in order; compressed if that makes them shorter. */
export function pack(text: string): readonly Uint8Array[] {
  const bytes = Buffer.from(text);
  const compressed =
    bytes.length < COMPRESS_FROM
      ? bytes
      : zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 1 } });
  const [kind, body] = compressed.length < bytes.length ? [ZSTD, compressed] : [PLAIN, bytes];
  const packed = Buffer.concat([Uint8Array.of(kind), body]);
  const chunks: Uint8Array[] = [];
  for (let start = 0; start < packed.length; start += CHUNK_BYTES) {
    chunks.push(packed.subarray(start, start + CHUNK_BYTES));
  }
  return chunks;
}

/** The text, or undefined if the bytes do not match the digest. */
export function unpack(chunks: readonly Uint8Array[], digest: string): string | undefined {
  const [first] = chunks;
  const packed = chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks);
  const body = packed.subarray(1);
  const bytes = packed[0] === ZSTD ? decompress(body) : packed[0] === PLAIN ? body : undefined;
  if (bytes === undefined) return undefined;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
  return textDigest(text) === digest ? text : undefined;
}

function decompress(body: Uint8Array): Uint8Array | undefined {
  try {
    const params = { [constants.ZSTD_d_windowLogMax]: MAX_WINDOW_LOG };
    // zlib allocates a buffer of this size per piece of the result; most buckets are small, and there are very many.
    const chunkSize = Math.min(Math.max(body.length * USUAL_RATIO, SMALLEST_PIECE), LARGEST_PIECE);
    return zstdDecompressSync(body, { maxOutputLength: MAX_UNPACKED_BYTES, chunkSize, params });
  } catch {
    return undefined;
  }
}
