import { bucketOf } from '../../model/buckets.ts';
import { canonicalJson, compareText, type JsonValue, jsonEquals } from '../../model/json.ts';
import type { StoreWrite } from '../../ports/snapshot-store.ts';
import { type BucketRef, bucketKeys, encodeManifest, type Manifest, makeManifest } from './manifest.ts';
import { pack, textDigest } from './packed.ts';
import type { MapReading, ValueCodec } from './stored-map.ts';
import type { MapWriter } from './write-group.ts';

/** How much may still go into a batch; something always goes into an empty one. */
export interface Budget {
  bytes: number;
  records: number;
}

/** Writes of a batch, and what becomes of them. */
export interface Part {
  readonly writes: readonly StoreWrite[];
  written(): void;
  /** They may be in the store or not. */
  failed(): void;
  /** It builds on what was read of the store: this is called after `failed` if the store had something else by then. */
  readonly outdated?: () => void;
}

/** A map as its writer has it in memory, and what is known of the store. */
export interface MapState<Value> extends MapWriter<Value> {
  /** Buckets have changed that are not laid. */
  isOpen(): boolean;
  /**
   * Records of changed buckets, as many as the budget allows. They change nothing for a reader until `seal`: what a
   * manifest names is never overwritten, since the key of a bucket's record names its content.
   */
  lay(budget: Budget): Part;
  /** The manifest of what is laid, and the end of what it does not name; undefined if the store has it so. */
  seal(): Part | undefined;
  /** The store may have lost any of it. */
  rewrite(): void;
  /** The manifest that the store should have (null: none); undefined while that is not known. */
  expected(): Manifest | null | undefined;
}

interface State<Value> {
  readonly name: string;
  readonly codec: ValueCodec<Value>;
  readonly changed: () => void;
  readonly values: Map<number, ReadonlyMap<string, Value>>;
  /** Buckets whose map is the writer's own; the others are shared with whoever has read them. */
  readonly own: Map<number, Map<string, Value>>;
  /** Buckets that have changed since they were laid. */
  readonly dirty: Set<number>;
  /** What is in the store of each bucket, named by a manifest or not yet. */
  readonly laid: Map<number, BucketRef>;
  /** Records that may be in the store and that its manifest may not name. */
  readonly loose: Set<string>;
  /** The manifest in the store; null: there is none; undefined: not known. */
  sealed: Manifest | null | undefined;
  /**
   * Version of the manifest's record as it was read (null: there was none), until this process has written it: then it
   * knows the store. Undefined: nothing is built on a reading.
   */
  read: string | null | undefined;
  /** What the store is to have; `asIs`: whatever it has, nothing was said yet. */
  wanted: 'asIs' | 'present' | 'absent';
  meta: JsonValue;
  /** The highest that may have been written. */
  sequence: number;
  /** Rises with each loss: what was under way then proves nothing. */
  generation: number;
  flights: number;
}

/** `changed` is called whenever there is something to write. */
export function createMapState<Value>(
  name: string,
  codec: ValueCodec<Value>,
  before: MapReading<Value> | undefined,
  changed: () => void,
): MapState<Value> {
  const state = initialState(name, codec, before, changed);
  return {
    set: (key, value) => setValue(state, key, value),
    replaceAll: (entries) => replaceAll(state, new Map(entries)),
    setMeta: (meta) => {
      if (state.wanted === 'present' && jsonEquals(state.meta, meta)) return;
      state.meta = meta;
      state.wanted = 'present';
      changed();
    },
    drop: () => drop(state),
    isOpen: () => state.dirty.size > 0,
    lay: (budget) => lay(state, budget),
    seal: () => seal(state),
    rewrite: () => rewrite(state),
    expected: () => {
      const isSettled = state.flights === 0 && state.dirty.size === 0 && isSealed(state) && state.wanted !== 'asIs';
      return isSettled ? state.sealed : undefined;
    },
  };
}

function initialState<Value>(
  name: string,
  codec: ValueCodec<Value>,
  before: MapReading<Value> | undefined,
  changed: () => void,
): State<Value> {
  const map = before?.type === 'complete' ? before.map : undefined;
  return {
    name,
    codec,
    changed,
    values: new Map([...(map?.buckets ?? [])].map(([number, { values }]) => [number, values])),
    own: new Map(),
    dirty: new Set(),
    laid: new Map(map?.buckets),
    loose: new Set(before?.orphans),
    sealed: map ?? (before?.type === 'missing' ? null : undefined),
    read: before === undefined || before.type === 'damaged' ? undefined : before.version,
    wanted: map !== undefined ? 'present' : before?.type === 'missing' ? 'absent' : 'asIs',
    meta: map?.meta ?? null,
    sequence: map?.sequence ?? 0,
    generation: 0,
    flights: 0,
  };
}

function setValue<Value>(state: State<Value>, key: string, value: Value | null): void {
  const number = bucketOf(key);
  const held = state.values.get(number)?.get(key);
  if (held === undefined ? value === null : value !== null && state.codec.equals(held, value)) return;
  let bucket = state.own.get(number);
  if (bucket === undefined) {
    bucket = new Map(state.values.get(number));
    state.own.set(number, bucket);
    state.values.set(number, bucket);
  }
  if (value === null) bucket.delete(key);
  else bucket.set(key, value);
  state.wanted = 'present';
  state.dirty.add(number);
  state.changed();
}

function replaceAll<Value>(state: State<Value>, next: ReadonlyMap<string, Value>): void {
  for (const bucket of [...state.values.values()]) {
    for (const key of [...bucket.keys()]) if (!next.has(key)) setValue(state, key, null);
  }
  for (const [key, value] of next) setValue(state, key, value);
  if (state.wanted === 'present') return;
  state.wanted = 'present';
  state.changed();
}

function drop<Value>(state: State<Value>): void {
  if (state.wanted === 'absent') return;
  state.values.clear();
  state.own.clear();
  state.dirty.clear();
  state.laid.clear();
  state.meta = null;
  state.wanted = 'absent';
  state.changed();
}

function lay<Value>(state: State<Value>, budget: Budget): Part {
  const writes: StoreWrite[] = [];
  const taken: number[] = [];
  for (const number of state.dirty) {
    if (budget.bytes <= 0 || budget.records <= 0) break;
    state.dirty.delete(number);
    taken.push(number);
    const bucket = state.values.get(number);
    const text = bucket === undefined || bucket.size === 0 ? undefined : textOf(bucket, state.codec);
    const digest = text === undefined ? undefined : textDigest(text);
    if (text === undefined || digest === undefined) state.laid.delete(number);
    else if (state.laid.get(number)?.digest !== digest) layBucket(state, number, digest, pack(text), budget, writes);
  }
  return flight(
    state,
    writes,
    () => undefined,
    () => {
      for (const number of taken) {
        state.laid.delete(number);
        state.dirty.add(number);
      }
    },
  );
}

function layBucket<Value>(
  state: State<Value>,
  number: number,
  digest: string,
  chunks: readonly Uint8Array[],
  budget: Budget,
  into: StoreWrite[],
): void {
  const ref = { digest, chunks: chunks.length };
  const keys = bucketKeys(state.name, number, ref);
  state.laid.set(number, ref);
  for (const [index, value] of chunks.entries()) {
    const key = keys[index] ?? '';
    into.push({ key, value });
    state.loose.add(key);
    budget.bytes -= value.length;
    budget.records -= 1;
  }
}

function textOf<Value>(bucket: ReadonlyMap<string, Value>, codec: ValueCodec<Value>): string {
  const entries = [...bucket].sort(([a], [b]) => compareText(a, b));
  return canonicalJson(entries.map(([key, value]): JsonValue => [key, codec.encode(value)]));
}

function seal<Value>(state: State<Value>): Part | undefined {
  if (isSealed(state)) return undefined;
  const { name, sealed, read } = state;
  const next = state.wanted === 'present' ? makeManifest(state.sequence + 1, state.meta, state.laid) : null;
  const before = sealed === undefined || sealed === null ? [] : recordsOf(name, sealed);
  const named = new Set(next === null ? [] : recordsOf(name, next));
  const gone = [...new Set([...state.loose, ...before])].filter((key) => !named.has(key));
  const writes: StoreWrite[] = [
    {
      ...{ key: name, value: next === null ? null : encodeManifest(name, next) },
      ...(read === undefined ? {} : { ifVersion: read }),
    },
    ...gone.map((key): StoreWrite => ({ key, value: null })),
  ];
  state.sequence += 1;
  const part = flight(
    state,
    writes,
    () => {
      state.sealed = next;
      state.read = undefined;
      state.loose.clear();
    },
    () => {
      // If it has come to pass, the next one finds the store changed.
      if (read !== undefined) return;
      // Either manifest may be there now. What both name stays; what only one names goes once it is known which.
      for (const key of before) state.loose.add(key);
      state.sealed = undefined;
    },
  );
  return read === undefined ? part : { ...part, outdated: () => rewrite(state) };
}

function rewrite<Value>(state: State<Value>): void {
  if (state.wanted === 'asIs') return;
  state.generation += 1;
  if (state.sealed !== undefined && state.sealed !== null) {
    for (const key of recordsOf(state.name, state.sealed)) state.loose.add(key);
  }
  state.laid.clear();
  state.sealed = undefined;
  state.read = undefined;
  for (const [number, bucket] of state.values) if (bucket.size > 0) state.dirty.add(number);
  state.changed();
}

/** What ends after a loss says nothing of what the store has. */
function flight<Value>(
  state: State<Value>,
  writes: readonly StoreWrite[],
  written: () => void,
  failed: () => void,
): Part {
  const { generation } = state;
  state.flights += 1;
  const end = (act: () => void): void => {
    state.flights -= 1;
    if (generation === state.generation) act();
  };
  return { writes, written: () => end(written), failed: () => end(failed) };
}

function isSealed<Value>({ wanted, sealed, laid, meta }: State<Value>): boolean {
  if (wanted === 'asIs') return true;
  if (wanted === 'absent') return sealed === null;
  if (sealed === undefined || sealed === null || sealed.buckets.size !== laid.size) return false;
  for (const [number, { digest }] of laid) if (sealed.buckets.get(number)?.digest !== digest) return false;
  return jsonEquals(sealed.meta, meta);
}

function recordsOf(name: string, { buckets }: Manifest): readonly string[] {
  return [...buckets].flatMap(([number, ref]) => bucketKeys(name, number, ref));
}
