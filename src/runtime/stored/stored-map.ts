import { hash } from 'node:crypto';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { Digest } from '../../model/fleet/ids.ts';
import { BUCKETS, bucketOf, sha256 } from '../../model/text/digest.ts';
import {
  canonicalJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonEquals,
  parseJsonBytes,
} from '../../model/text/json.ts';
import { pieceToCompress, pieceToDecompress } from '../../model/values/zlib-piece.ts';

/**
 * A checked map: values by key, stored as the records of each bucket and a manifest with the digest of each bucket. A reader
 * gets the complete map as of one write, or nothing. The number of buckets follows the length of all values: a write costs its
 * bucket and the manifest, and a read costs a decompression for each bucket.
 */
export interface StoredMap<Value = JsonValue> {
  /** Increases with each write of the map; lower in an older copy of the store. */
  readonly sequence: number;
  /** Of the manifest without its sequence. */
  readonly digest: Digest;
  /** Data of the writer about the map as such; null: none. */
  readonly meta: JsonValue;
  /** The number of buckets: a power of two. */
  readonly width: number;
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
  /** About the length of its JSON. */
  length(value: Value): number;
}

/** For values that are JSON; their shape is not checked, since digests protect the records. */
export function jsonCodec<Value>(): ValueCodec<Value> {
  return {
    encode: (value) => value as JsonValue,
    decode: (json) => json as Value,
    equals: (a, b) => jsonEquals(a as JsonValue, b as JsonValue),
    length: (value) => lengthOf(value as JsonValue),
  };
}

/** About the length of the JSON of a value, for a fraction of the cost of making it. */
function lengthOf(value: JsonValue | undefined): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return 5;
  let length = 2;
  if (Array.isArray(value)) for (const item of value) length += lengthOf(item) + 1;
  else for (const name of Object.keys(value)) length += name.length + 4 + lengthOf((value as JsonObject)[name]);
  return length;
}

/** Length of the text that a bucket should have. */
const USUAL_LENGTH = 12 * 1024;
/** A map gets other buckets when they are longer than this on average, or shorter. */
const GREATEST_LENGTH = 2 * USUAL_LENGTH;
const LEAST_LENGTH = USUAL_LENGTH / 4;

/** The number of buckets for values of this length together. The present number stays as long as it suits them. */
export function widthFor(length: number, width: number): number {
  const isTooNarrow = width < BUCKETS && length > width * GREATEST_LENGTH;
  const isTooWide = width > 1 && length < width * LEAST_LENGTH;
  if (!isTooNarrow && !isTooWide) return width;
  let suitable = 1;
  while (suitable < BUCKETS && suitable * USUAL_LENGTH < length) suitable *= 2;
  return suitable;
}

/** The bucket of a key among `width` buckets. */
export function bucketAmong(width: number, key: string): number {
  return bucketOf(key) & (width - 1);
}

/**
 * The changes that lead from `before` (undefined: empty) to `after`; null: the key is deleted. The cost depends on the changed
 * buckets only, unless their number has changed.
 */
export function changesBetween<Value>(
  before: StoredMap<Value> | undefined,
  after: StoredMap<Value>,
): ReadonlyMap<string, Value | null> {
  const changes = new Map<string, Value | null>();
  const compare = (old: ReadonlyMap<string, Value> | undefined, now: ReadonlyMap<string, Value> | undefined): void => {
    if (old === now) return;
    for (const key of old?.keys() ?? []) if (now?.has(key) !== true) changes.set(key, null);
    for (const [key, value] of now ?? []) if (old?.get(key) !== value) changes.set(key, value);
  };
  if (before !== undefined && before.width !== after.width) compare(before.values, after.values);
  else {
    for (let number = 0; number < after.width; number += 1) {
      compare(before?.buckets.get(number)?.values, after.buckets.get(number)?.values);
    }
  }
  return changes;
}

/** The values of all buckets, seen as one map. */
export function valuesOf<Value>(
  width: number,
  buckets: ReadonlyMap<number, StoredBucket<Value>>,
): ReadonlyMap<string, Value> {
  const entries = () => buckets.values().flatMap(({ values }) => values.entries());
  const view: ReadonlyMap<string, Value> = {
    get size() {
      return [...buckets.values()].reduce((size, { values }) => size + values.size, 0);
    },
    get: (key) => buckets.get(bucketAmong(width, key))?.values.get(key),
    has: (key) => buckets.get(bucketAmong(width, key))?.values.has(key) === true,
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
  readonly width: number;
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
export function makeManifest({ sequence, meta, width, buckets }: Omit<Manifest, 'digest'>): Manifest {
  const sorted = new Map([...buckets].sort(([a], [b]) => a - b));
  return { sequence, digest: contentDigest(meta, width, sorted), meta, width, buckets: sorted };
}

/** The record of a manifest. */
export function encodeManifest(map: string, { sequence, digest, meta, width, buckets }: Manifest): Uint8Array {
  const refs = Object.fromEntries(
    [...buckets].map(([number, ref]) => [hex(number), ref.chunks === 1 ? ref.digest : `${ref.digest}:${ref.chunks}`]),
  );
  const check = checkOf(map, sequence, digest);
  return new TextEncoder().encode(
    canonicalJson({ format: FORMAT, sequence, digest, meta, width, buckets: refs, check }),
  );
}

/** Undefined if the bytes are no manifest of this map, or are damaged. */
export function decodeManifest(map: string, bytes: Uint8Array): Manifest | undefined {
  const json = parseJsonBytes(bytes);
  if (!isJsonObject(json)) return undefined;
  const { format, sequence, digest, meta, width, buckets: refs, check } = json;
  if (format !== FORMAT || typeof sequence !== 'number' || meta === undefined || !isJsonObject(refs)) return undefined;
  if (typeof width !== 'number') return undefined;
  const buckets = new Map<number, BucketRef>();
  for (const [name, text] of Object.entries(refs)) {
    const match = typeof text === 'string' ? BUCKET_REF.exec(text) : null;
    if (match?.[1] === undefined || !BUCKET_NUMBER.test(name)) return undefined;
    buckets.set(Number.parseInt(name, 16), { digest: match[1], chunks: Number(match[2] ?? 1) });
  }
  const manifest = makeManifest({ sequence, meta, width, buckets });
  return digest === manifest.digest && check === checkOf(map, sequence, manifest.digest) ? manifest : undefined;
}

function contentDigest(meta: JsonValue, width: number, buckets: ReadonlyMap<number, BucketRef>): Digest {
  const lines = [...buckets].map(([number, { digest, chunks }]) => `${hex(number)} ${digest} ${chunks}\n`);
  return sha256(`${canonicalJson(meta)}\n${width}\n${lines.join('')}`);
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

const PLAIN = 0;
const ZSTD = 1;

/** Short digest of a text, 132 bits of its sha256: names and checks a record, and keeps manifests short. */
export function textDigest(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 22);
}

/** The bytes of a text as records hold them, in order; compressed if that makes them shorter. */
export function pack(text: string): readonly Uint8Array[] {
  // Not from the pool of Buffer: a short record would keep the bytes of its neighbours until it is written.
  const bytes = new TextEncoder().encode(text);
  const compressed =
    bytes.length < COMPRESS_FROM
      ? bytes
      : zstdCompressSync(bytes, {
          params: { [constants.ZSTD_c_compressionLevel]: 1 },
          chunkSize: pieceToCompress(bytes.length),
        });
  const [kind, body] = compressed.length < bytes.length ? [ZSTD, compressed] : [PLAIN, bytes];
  const packed = new Uint8Array(1 + body.length);
  packed[0] = kind;
  packed.set(body, 1);
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
    const chunkSize = pieceToDecompress(body.length);
    return zstdDecompressSync(body, { maxOutputLength: MAX_UNPACKED_BYTES, chunkSize, params });
  } catch {
    return undefined;
  }
}
