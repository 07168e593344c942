import { type JsonValue, parseJson } from '../../model/text/json.ts';
import type { SnapshotStore, StoredRecord } from '../../ports/snapshot-store.ts';
import type { Sharing } from './sharing.ts';
import {
  type BucketRef,
  bucketKeys,
  decodeManifest,
  type MapReading,
  mapOfBucketRecord,
  type StoredBucket,
  type StoredMap,
  unpack,
  type ValueCodec,
  valuesOf,
} from './stored-map.ts';

/** Attempts to read a map that changes meanwhile. */
const TRIES = 5;
/** From this number on, records are listed instead of read one by one. */
const LIST_FROM = 16;

/**
 * Reads a map. `before`: the map as read last; only buckets that differ from it are read. Rejects if the store does not
 * answer.
 */
export async function readMap<Value>(
  store: SnapshotStore,
  name: string,
  codec: ValueCodec<Value>,
  before?: StoredMap<Value>,
): Promise<MapReading<Value>> {
  for (let attempt = 1; ; attempt += 1) {
    const record = await store.get(name);
    const raw = await fetchRecords(store, name, record, before);
    const reading = decodeMap(raw, codec, { before });
    if (reading.type !== 'damaged') return reading;
    // Buckets that are replaced during the reading look like damage; then the manifest has changed too.
    if (attempt === TRIES || (await store.get(name))?.version === record?.version) return reading;
  }
}

/**
 * Returns the result of a run of `read` during which none of these maps changed, so that it is one consistent state. Rejects
 * if the maps change during every attempt, or if the store does not answer.
 */
export async function atOneMoment<Found>(
  store: SnapshotStore,
  names: readonly string[],
  read: () => Promise<Found>,
): Promise<Found> {
  const versions = async (): Promise<string> =>
    (await Promise.all(names.map((name) => store.get(name)))).map((record) => record?.version ?? '').join(' ');
  let before = await versions();
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const found = await read();
    const after = await versions();
    if (after === before) return found;
    before = after;
  }
  throw new Error(`${names.join(', ')}: they change faster than they can be read`);
}

/** The records of one map, not decoded. */
export interface RawMap {
  readonly name: string;
  readonly manifest: StoredRecord | undefined;
  /** Bucket records by key. */
  readonly records: ReadonlyMap<string, Uint8Array>;
}

/**
 * Lists the maps whose names start with `prefix`, one at a time, so that only one undecoded map is in memory. If other
 * processes write meanwhile, a map that is damaged here must be read again with {@link readMap}.
 */
export async function* listMaps(store: SnapshotStore, prefix: string): AsyncGenerator<RawMap, void, void> {
  let current: { name: string; manifest: StoredRecord | undefined; records: Map<string, Uint8Array> } | undefined;
  for await (const record of store.list(prefix)) {
    const { key, value } = record;
    const owner = mapOfBucketRecord(key);
    const name = owner ?? key;
    if (name !== current?.name) {
      if (current !== undefined) yield current;
      current = { name, manifest: undefined, records: new Map() };
    }
    if (owner === undefined) current.manifest = record;
    else current.records.set(key, value);
  }
  if (current !== undefined) yield current;
}

/** Checks and decodes a map. `before`: as read last; `sharing`: with other maps of its kind. */
export function decodeMap<Value>(
  { name, manifest: record, records }: RawMap,
  codec: ValueCodec<Value>,
  {
    before,
    sharing,
  }: { readonly before?: StoredMap<Value> | undefined; readonly sharing?: Sharing<Value> | undefined } = {},
): MapReading<Value> {
  const orphans = new Set(records.keys());
  if (record === undefined) return { type: 'missing', version: null, orphans: [...orphans] };
  const manifest = decodeManifest(name, record.value);
  const damaged = (message: string): MapReading<Value> => ({ type: 'damaged', message, orphans: [...records.keys()] });
  if (manifest === undefined) return damaged(`the manifest of ${name} is damaged`);
  const buckets = new Map<number, StoredBucket<Value>>();
  for (const [number, ref] of manifest.buckets) {
    const keys = bucketKeys(name, number, ref);
    const known = before?.width === manifest.width ? before.buckets.get(number) : undefined;
    const chunks = keys.map((key) => records.get(key));
    const bucket = known?.digest === ref.digest ? known : decodeBucket(chunks, ref, codec, before?.values, sharing);
    if (bucket === undefined) return damaged(`bucket ${number} of ${name} is missing or damaged`);
    for (const key of keys) orphans.delete(key);
    buckets.set(number, bucket);
  }
  const { sequence, digest, meta, width } = manifest;
  const map = { sequence, digest, meta, width, buckets, values: valuesOf(width, buckets) };
  return { type: 'complete', map, version: record.version, orphans: [...orphans] };
}

/** Reads the records of a map, except of buckets that `before` has. */
async function fetchRecords<Value>(
  store: SnapshotStore,
  name: string,
  record: StoredRecord | undefined,
  before: StoredMap<Value> | undefined,
): Promise<RawMap> {
  const manifest = record && decodeManifest(name, record.value);
  const isNew = ([number, { digest }]: [number, BucketRef]): boolean =>
    before?.width !== manifest?.width || before?.buckets.get(number)?.digest !== digest;
  const wanted = [...(manifest?.buckets ?? [])].filter(isNew).flatMap(([number, ref]) => bucketKeys(name, number, ref));
  const records = new Map<string, Uint8Array>();
  if (before === undefined || wanted.length >= LIST_FROM) {
    for await (const { key, value } of store.list(`${name}/`)) {
      if (mapOfBucketRecord(key) === name) records.set(key, value);
    }
  } else {
    for (const found of await Promise.all(wanted.map((key) => store.get(key)))) {
      if (found !== undefined) records.set(found.key, found.value);
    }
  }
  return { name, manifest: record, records };
}

/**
 * Undefined: a chunk is missing, or the content does not match the digest or the codec. A value that equals the one of
 * `before` is the same object.
 */
function decodeBucket<Value>(
  chunks: readonly (Uint8Array | undefined)[],
  ref: BucketRef,
  codec: ValueCodec<Value>,
  before: ReadonlyMap<string, Value> | undefined,
  sharing: Sharing<Value> | undefined,
): StoredBucket<Value> | undefined {
  const present = chunks.filter((chunk) => chunk !== undefined);
  if (present.length < chunks.length) return undefined;
  const decoded = sharing?.decoded(ref.digest, present);
  if (decoded !== undefined) return decoded;
  const text = unpack(present, ref.digest);
  const entries = text === undefined ? undefined : parseJson(text);
  if (!Array.isArray(entries)) return undefined;
  const values = new Map<string, Value>();
  for (const [key, json] of entries as readonly (readonly [string, JsonValue])[]) {
    const value = codec.decode(json, key);
    if (value === undefined) return undefined;
    const known = before?.get(key);
    const own = known !== undefined && codec.equals(known, value) ? known : value;
    if (sharing === undefined) values.set(key, own);
    else values.set(...sharing.shared(key, own, codec.equals));
  }
  const bucket = { ...ref, values };
  sharing?.remember(present, bucket);
  return bucket;
}
