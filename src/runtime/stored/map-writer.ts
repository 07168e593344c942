import { canonicalJson, compareText, type JsonValue, jsonEquals } from '../../model/text/json.ts';
import { given } from '../../model/values/given.ts';
import type { StoreWrite } from '../../ports/snapshot-store.ts';
import {
  type BucketRef,
  bucketAmong,
  bucketKeys,
  encodeManifest,
  type Manifest,
  type MapReading,
  makeManifest,
  pack,
  textDigest,
  type ValueCodec,
  widthFor,
} from './stored-map.ts';

/** Space left in a batch. The first write of a batch is taken even if it exceeds the budget. */
export interface Budget {
  /** Of texts, before they are packed: making them takes the time. */
  bytes: number;
  records: number;
}

/** Writes of a batch, and the callbacks for their outcome. */
export interface Part {
  readonly writes: readonly StoreWrite[];
  written(): void;
  /** The outcome is unknown: the store may have the writes or not. */
  failed(): void;
  /** The part relies on a version that was read from the store. Called after `failed` if the store has another version. */
  readonly outdated?: () => void;
}

/** A map in its writer's memory, and the known state of the map in the store. */
export type MapState<Value> = ReturnType<typeof createMapState<Value>>;

/** Writes a checked map. */
export type MapWriter<Value> = Pick<MapState<Value>, 'set' | 'replaceAll' | 'setMeta' | 'drop'>;

type State<Value> = ReturnType<typeof initialState<Value>>;

/** `changed` is called whenever a write becomes due. */
export function createMapState<Value>(
  name: string,
  codec: ValueCodec<Value>,
  before: MapReading<Value> | undefined,
  changed: () => void,
) {
  const state = initialState(name, codec, before, changed);
  return {
    /** Null deletes the key. */
    set: (key: string, value: Value | null) => {
      setValue(state, key, value);
      adjustWidth(state, state.length);
    },
    /** Replaces the content; unchanged buckets are not written. */
    replaceAll: (entries: Iterable<readonly [string, Value]>) => replaceAll(state, new Map(entries)),
    /** Sets the data in the manifest. Afterwards the map exists in the store even if it is empty. */
    setMeta: (meta: JsonValue) => {
      if (state.wanted === 'present' && jsonEquals(state.meta, meta)) return;
      state.meta = meta;
      state.wanted = 'present';
      changed();
    },
    /** Deletes the map, until a value is set again. */
    drop: () => drop(state),
    /** True if changed buckets are not staged yet. */
    hasUnstaged: () => state.dirty.size > 0 || state.rest.length > 0,
    /**
     * Returns records of changed buckets within the budget. Readers do not see them until `commit`: the key of a bucket's record
     * contains the digest of its content, so a record that a manifest names is never overwritten.
     */
    stage: (budget: Budget) => stage(state, budget),
    /** Returns the manifest of the staged buckets, and deletions of the records that it does not name; undefined if nothing changes. */
    commit: () => commit(state),
    /** Stages all records again: the store may have lost any of them. */
    rewrite: () => rewrite(state),
    /** The manifest that the store should have (null: none); undefined while writes are pending. */
    expected: (): Manifest | null | undefined => {
      const isStaged = state.inFlight === 0 && state.dirty.size === 0 && state.rest.length === 0;
      return isStaged && isCommitted(state) && state.wanted !== 'asIs' ? state.committed : undefined;
    },
  };
}

function initialState<Value>(
  name: string,
  codec: ValueCodec<Value>,
  before: MapReading<Value> | undefined,
  changed: () => void,
) {
  const map = before?.type === 'complete' ? before.map : undefined;
  const isMissing = before?.type === 'missing';
  return {
    name,
    codec,
    changed,
    /** About the length of all values together. */
    length: map === undefined ? 0 : lengthOf(codec, map.values),
    /** The number of buckets. */
    width: map?.width ?? 1,
    values: new Map<number, ReadonlyMap<string, Value>>(
      map?.buckets.entries().map(([number, { values }]) => [number, values]),
    ),
    /** Buckets that were copied for writing; the others are shared with the reader of the map. */
    own: new Map<number, Map<string, Value>>(),
    /** Buckets that have changed since they were last staged. */
    dirty: new Set<number>(),
    /** Records of staged buckets that did not fit in the batches so far: a bucket can be larger than a batch. */
    rest: [] as { readonly number: number; readonly write: StoreWrite }[],
    /** The records of each bucket in the store, committed or only staged. */
    staged: new Map<number, BucketRef>(map?.buckets),
    /** Records that may be in the store without a manifest that names them. */
    orphans: new Set(before?.orphans),
    /** The manifest in the store; null: none; undefined: unknown. */
    committed: (map ?? (isMissing ? null : undefined)) as Manifest | null | undefined,
    /**
     * Version of the manifest's record as read (null: absent); the first commit requires it. Undefined after that commit, or if
     * no version was read.
     */
    read: before === undefined || before.type === 'damaged' ? undefined : before.version,
    /** The desired state of the map in the store; `asIs`: not decided, the store stays as it is. */
    wanted: (map ? 'present' : isMissing ? 'absent' : 'asIs') as 'asIs' | 'present' | 'absent',
    meta: map?.meta ?? null,
    /** The highest sequence that may have been written. */
    sequence: map?.sequence ?? 0,
    /** Increases with each loss of the store: outcomes of earlier writes are ignored. */
    generation: 0,
    inFlight: 0,
  };
}

function setValue<Value>(state: State<Value>, key: string, value: Value | null): void {
  const number = bucketAmong(state.width, key);
  const current = state.values.get(number)?.get(key);
  if (current === undefined ? value === null : value !== null && state.codec.equals(current, value)) return;
  let bucket = state.own.get(number);
  if (bucket === undefined) {
    bucket = new Map(state.values.get(number));
    state.own.set(number, bucket);
    state.values.set(number, bucket);
  }
  if (value === null) bucket.delete(key);
  else bucket.set(key, value);
  state.length += lengthOfEntry(state.codec, key, value) - lengthOfEntry(state.codec, key, current);
  state.wanted = 'present';
  state.dirty.add(number);
  state.changed();
}

function lengthOfEntry<Value>({ length }: ValueCodec<Value>, key: string, value: Value | null | undefined): number {
  return value === null || value === undefined ? 0 : key.length + length(value);
}

function lengthOf<Value>(codec: ValueCodec<Value>, values: ReadonlyMap<string, Value>): number {
  let length = 0;
  for (const [key, value] of values) length += lengthOfEntry(codec, key, value);
  return length;
}

/** Spreads the values over as many buckets as suit that length. Then every bucket is staged again. */
function adjustWidth<Value>(state: State<Value>, length: number): void {
  const width = widthFor(length, state.width);
  if (width === state.width) return;
  const { values, own, dirty, staged } = state;
  const entries = values.values().flatMap((bucket) => bucket.entries());
  const spread = new Map<number, Map<string, Value>>();
  for (const [key, value] of entries) {
    const number = bucketAmong(width, key);
    const bucket = spread.get(number);
    if (bucket === undefined) spread.set(number, new Map([[key, value]]));
    else bucket.set(key, value);
  }
  // The orphans already have the records that were staged and not committed.
  for (const each of [values, own, dirty, staged]) each.clear();
  state.rest = [];
  for (const [number, bucket] of spread) {
    values.set(number, bucket);
    own.set(number, bucket);
    dirty.add(number);
  }
  state.width = width;
}

function replaceAll<Value>(state: State<Value>, next: ReadonlyMap<string, Value>): void {
  for (const bucket of [...state.values.values()]) {
    for (const key of [...bucket.keys()]) if (!next.has(key)) setValue(state, key, null);
  }
  adjustWidth(state, lengthOf(state.codec, next));
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
  state.rest = [];
  state.staged.clear();
  state.length = 0;
  state.width = 1;
  state.meta = null;
  state.wanted = 'absent';
  state.changed();
}

function stage<Value>(state: State<Value>, budget: Budget): Part {
  const { name, dirty, staged, orphans } = state;
  const writes: StoreWrite[] = [];
  const taken = new Set<number>();
  const takeRest = (): void => {
    const fitting = state.rest.splice(0, Math.max(0, budget.records));
    budget.records -= fitting.length;
    for (const { number, write } of fitting) {
      taken.add(number);
      writes.push(write);
    }
  };
  // A bucket that has changed since is staged as a whole.
  for (const { number } of state.rest) if (dirty.has(number)) staged.delete(number);
  state.rest = state.rest.filter(({ number }) => !dirty.has(number));
  takeRest();
  for (const number of dirty) {
    if (budget.bytes <= 0 || budget.records <= 0) break;
    dirty.delete(number);
    taken.add(number);
    const text = textOf(state, number);
    if (text === undefined) {
      staged.delete(number);
      continue;
    }
    const digest = textDigest(text);
    if (staged.get(number)?.digest === digest) continue;
    const chunks = pack(text);
    const ref = { digest, chunks: chunks.length };
    staged.set(number, ref);
    for (const [index, key] of bucketKeys(name, number, ref).entries()) {
      state.rest.push({ number, write: { key, value: chunks[index] ?? null } });
      orphans.add(key);
    }
    budget.bytes -= text.length;
    takeRest();
  }
  const failed = (): void => {
    state.rest = state.rest.filter(({ number }) => !taken.has(number));
    for (const number of taken) {
      staged.delete(number);
      dirty.add(number);
    }
  };
  return trackedPart(state, writes, () => undefined, failed);
}

/** The text of a bucket as records hold it; undefined: the bucket is empty. */
function textOf<Value>({ values, codec }: State<Value>, number: number): string | undefined {
  const entries = [...(values.get(number) ?? [])].sort(([a], [b]) => compareText(a, b));
  if (entries.length === 0) return undefined;
  return canonicalJson(entries.map(([key, value]): JsonValue => [key, codec.encode(value)]));
}

function commit<Value>(state: State<Value>): Part | undefined {
  const { name, committed, read } = state;
  const { meta, width, staged: buckets } = state;
  const next = state.wanted === 'present' ? makeManifest({ sequence: state.sequence + 1, meta, width, buckets }) : null;
  const before = recordsOf(name, committed);
  const named = new Set(recordsOf(name, next));
  const obsolete = [...new Set([...state.orphans, ...before])].filter((key) => !named.has(key));
  // A change that was undone before its manifest was written leaves records behind.
  if (state.wanted === 'asIs' || (isCommitted(state) && obsolete.length === 0)) return undefined;
  const writes: StoreWrite[] = [
    { key: name, value: next && encodeManifest(name, next), ...given({ ifVersion: read }) },
    ...obsolete.map((key): StoreWrite => ({ key, value: null })),
  ];
  state.sequence += 1;
  const written = (): void => {
    state.committed = next;
    state.read = undefined;
    state.orphans.clear();
  };
  const failed = (): void => {
    // If the write took effect, the next commit finds another version.
    if (read !== undefined) return;
    // The store may have either manifest. Records that only one of them names are deleted by the next commit that succeeds.
    for (const key of before) state.orphans.add(key);
    state.committed = undefined;
  };
  const part = trackedPart(state, writes, written, failed);
  return read === undefined ? part : { ...part, outdated: () => rewrite(state) };
}

function rewrite<Value>(state: State<Value>): void {
  if (state.wanted === 'asIs') return;
  state.generation += 1;
  for (const key of recordsOf(state.name, state.committed)) state.orphans.add(key);
  state.rest = [];
  state.staged.clear();
  state.committed = undefined;
  state.read = undefined;
  for (const [number, bucket] of state.values) if (bucket.size > 0) state.dirty.add(number);
  state.changed();
}

/** A part whose outcome is ignored if it arrives after a loss of the store. A failed part makes a write due. */
function trackedPart<Value>(
  state: State<Value>,
  writes: readonly StoreWrite[],
  written: () => void,
  failed: () => void,
): Part {
  const { generation } = state;
  state.inFlight += 1;
  const end = (act: () => void): void => {
    state.inFlight -= 1;
    if (generation === state.generation) act();
  };
  return {
    writes,
    written: () => end(written),
    failed: () => {
      end(failed);
      state.changed();
    },
  };
}

function isCommitted<Value>({ wanted, committed, width, staged, meta }: State<Value>): boolean {
  if (wanted === 'asIs') return true;
  if (wanted === 'absent') return committed === null;
  if (committed === undefined || committed === null || committed.width !== width) return false;
  if (committed.buckets.size !== staged.size) return false;
  for (const [number, { digest }] of staged) if (committed.buckets.get(number)?.digest !== digest) return false;
  return jsonEquals(committed.meta, meta);
}

function recordsOf(name: string, manifest: Manifest | null | undefined): readonly string[] {
  return [...(manifest?.buckets ?? [])].flatMap(([number, ref]) => bucketKeys(name, number, ref));
}
