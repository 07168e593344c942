import type { Receipt } from '../../model/fleet/receipt.ts';
import { type JsonValue, jsonEquals } from '../../model/text/json.ts';
import type { SnapshotStore, StoreWrite } from '../../ports/snapshot-store.ts';
import { type Budget, createMapState, type MapState, type MapWriter, type Part } from './map-writer.ts';
import { createReceipts } from './receipts.ts';
import { bucketKeys, decodeManifest, type MapReading, type ValueCodec } from './stored-map.ts';

/** Decides whether this process may write a group, where several processes share a store. */
export interface WriteGuard {
  /** What has to hold for each batch; undefined: writes wait until {@link WriteGroup} resumes. */
  check(): StoreWrite | readonly StoreWrite[] | undefined;
  /** The check has failed: another process owns the records. The group writes nothing until it is resumed. */
  refused(): void;
}

/** Writes JSON records. */
export interface RecordWriter {
  /** Null deletes. */
  put(key: string, value: unknown): void;
  /** The store has this record already: it is remembered for a loss of the store, and not written. */
  noted(key: string, value: unknown): void;
}

/** Writes JSON records, and tells when the store has them. */
export interface ReceiptingWriter extends RecordWriter {
  /** The store has the record as it was put last, or it was not put. */
  isWritten(key: string): boolean;
  /** Tells when the store has these records as they were put last, and has them written at once. */
  receipt(keys: readonly string[]): Receipt;
}

/** The writes of one group in a batch. */
export interface GroupPart extends Part {
  /** A required version did not match. */
  conflict(): void;
}

/** What a group reports to the journal. */
interface GroupListener {
  /** Writes of the group may be due. */
  wake(): void;
  /** Lost records are queued to be written again. */
  refilling(records: number): void;
  closed(): void;
  /** A caller waits for the writes of the group: they are not gathered, and the next attempt is due now. */
  hurry(): void;
  /** Why the store cannot be written at present; undefined: it can. */
  failure(): string | undefined;
}

/** Deletions that a group remembers, to repeat them if an older copy of the store takes over. */
const DELETIONS = 10_000;

type State = ReturnType<typeof createState>;

function createState(guard: WriteGuard | undefined, { wake, refilling, failure }: GroupListener) {
  return {
    guard,
    wake,
    refilling,
    /** Everything that was put or noted, by key. */
    records: new Map<string, unknown>(),
    /** Keys of the last deleted records: an older copy of the store may still have them. */
    deleted: new Set<string>(),
    /** Keys of records that are not written yet. */
    waiting: new Set<string>(),
    /** Keys of records in the batch that the store is writing. */
    writing: new Set<string>(),
    receipts: createReceipts(failure),
    maps: new Map<string, MapState<never>>(),
    dirty: new Set<MapState<never>>(),
    /** Records that the next audits check, and the action if one is missing. */
    toAudit: [] as readonly { readonly key: string; readonly missing: () => void }[],
    isRefused: false,
    isClosed: false,
  };
}

export type WriteGroup = ReturnType<typeof createGroup>;

/**
 * The writes of one owner. Memory is authoritative, and the store follows it. Values that are put within a short time are
 * written together, in one batch if it is not too large; the committed maps of a group are one consistent state. The last value
 * per key wins. All values are remembered, so that they can be written again after a loss of the store.
 */
export function createGroup(guard: WriteGuard | undefined, listener: GroupListener) {
  const state = createState(guard, listener);
  const { records, deleted, waiting, maps, dirty, wake } = state;
  const hasMore = (): boolean => waiting.size > 0 || dirty.size > 0;
  const isWritten = (key: string): boolean => !waiting.has(key) && !state.writing.has(key);
  return {
    isGuarded: guard !== undefined,
    put: (key: string, value: unknown) => put(state, key, value),
    noted: (key: string, value: unknown) => {
      const isAsPut =
        state.receipts.awaits(key) && jsonEquals((records.get(key) ?? null) as JsonValue, value as JsonValue);
      remember(state, key, value);
      waiting.delete(key);
      if (isAsPut) state.receipts.written([key]);
    },
    isWritten,
    receipt: (keys: readonly string[]): Receipt => {
      const open = keys.filter((key) => !isWritten(key));
      const receipt = state.receipts.open(open);
      if (state.isClosed) state.receipts.dropped((key) => open.includes(key));
      else if (open.length > 0) listener.hurry();
      return receipt;
    },
    /**
     * Creates the writer of a map. `before`: the map in the store, as read by the new owner. Without it the first change writes
     * the complete map.
     */
    map: <Value>(name: string, codec: ValueCodec<Value>, before?: MapReading<Value>): MapWriter<Value> =>
      addMap(state, name, codec, before),
    /** Writes everything again: the store may have lost any of it. */
    rewrite: () => {
      listener.refilling(records.size);
      for (const keys of [records.keys(), deleted]) for (const key of keys) waiting.add(key);
      for (const map of maps.values()) rewriteMap(state, map);
      wake();
    },
    /**
     * Queues to be written again what is remembered under these keys and the store does not have. `stored`: the keys that it has.
     * True: there was any.
     */
    rewriteMissing: (stored: ReadonlySet<string>, isMeant: (key: string) => boolean): boolean => {
      const missing = [...records].filter(([key]) => isMeant(key) && !stored.has(key));
      listener.refilling(missing.length);
      for (const [key, value] of missing) put(state, key, value);
      return missing.length > 0;
    },
    /** Forgets these records: another process has written them since. */
    forget: (isVoid: (key: string) => boolean) => {
      for (const keys of [records, deleted, waiting])
        for (const key of [...keys.keys()]) if (isVoid(key)) keys.delete(key);
      state.receipts.dropped(isVoid);
    },
    /** The guard may allow writes again. */
    resume: () => {
      state.isRefused = false;
      wake();
    },
    /** The process no longer owns the group: waiting writes are dropped, and the store keeps its records. */
    close: () => {
      state.isClosed = true;
      state.receipts.dropped(() => true);
      listener.closed();
    },
    /** Takes the next writes within the budget; undefined if none is due or the guard does not allow it. */
    take: (budget: Budget): GroupPart | undefined => {
      if (!hasMore() || !mayWrite(state)) return undefined;
      const check = guard?.check();
      return partOf(state, check, takeParts(state, budget));
    },
    /** True if writes are left that did not fit. */
    hasMore,
    /**
     * Checks that the store still has every manifest and the next `limit` of the other records, and queues missing ones to be
     * written again. Rejects if the store does not answer.
     */
    audit: async (store: SnapshotStore, limit: number): Promise<void> => {
      if (!mayWrite(state)) return;
      await auditManifests(state, store);
      if (state.toAudit.length === 0) state.toAudit = auditList(state);
      const now = state.toAudit.slice(0, limit);
      state.toAudit = state.toAudit.slice(limit);
      for (const { key, missing } of now) if ((await store.get(key)) === undefined) missing();
    },
  };
}

function mayWrite({ guard, isClosed, isRefused }: State): boolean {
  return !isClosed && !isRefused && (guard === undefined || guard.check() !== undefined);
}

function put(state: State, key: string, value: unknown): void {
  const { deleted, waiting } = state;
  remember(state, key, value);
  if (value === null) deleted.add(key);
  for (const oldest of deleted) {
    if (deleted.size <= DELETIONS) break;
    deleted.delete(oldest);
  }
  // Moved to the end: callers rely on records being written in the order of their puts.
  waiting.delete(key);
  waiting.add(key);
  state.wake();
}

function remember({ records, deleted }: State, key: string, value: unknown): void {
  deleted.delete(key);
  if (value === null) records.delete(key);
  else records.set(key, value);
}

function addMap<Value>(
  { maps, dirty, wake }: State,
  name: string,
  codec: ValueCodec<Value>,
  before: MapReading<Value> | undefined,
): MapState<Value> {
  if (maps.has(name)) throw new Error(`the map ${name} has a writer already`);
  const map: MapState<Value> = createMapState(name, codec, before, () => {
    dirty.add(map);
    wake();
  });
  maps.set(name, map);
  return map;
}

/** Buckets first, then records; manifests only when all buckets and records are in this batch or an earlier one. */
function takeParts(state: State, budget: Budget): readonly Part[] {
  const { dirty, waiting } = state;
  const parts: Part[] = [];
  for (const map of dirty) {
    if (map.hasUnstaged()) parts.push(map.stage(budget));
    if (map.hasUnstaged()) return parts;
  }
  parts.push(takeRecords(state, budget));
  if (waiting.size > 0) return parts;
  const manifests = [...dirty].flatMap((map) => map.commit() ?? []);
  dirty.clear();
  return [...parts, ...manifests];
}

function takeRecords({ records, waiting, writing, receipts }: State, budget: Budget): Part {
  const taken: string[] = [];
  const writes: StoreWrite[] = [];
  for (const key of waiting) {
    if (taken.length > 0 && (budget.records <= 0 || budget.bytes <= 0)) break;
    const value = records.get(key);
    const bytes = value === undefined ? null : new TextEncoder().encode(JSON.stringify(value));
    waiting.delete(key);
    writing.add(key);
    taken.push(key);
    writes.push({ key, value: bytes });
    budget.bytes -= bytes?.length ?? 0;
    budget.records -= 1;
  }
  // A newer put of the same key waits already, and its value is the one that is written.
  const failed = (): void => {
    writing.clear();
    for (const key of taken) waiting.add(key);
  };
  const written = (): void => {
    writing.clear();
    receipts.written(taken.filter((key) => !waiting.has(key)));
  };
  return { writes, written, failed };
}

function partOf(state: State, check: ReturnType<WriteGuard['check']>, parts: readonly Part[]): GroupPart {
  const writes = parts.flatMap((part) => part.writes);
  const failed = (): void => parts.forEach((part) => void part.failed());
  return {
    writes: writes.length === 0 ? writes : [...[check ?? []].flat(), ...writes],
    written: () => parts.forEach((part) => void part.written()),
    failed,
    conflict: () => {
      failed();
      const outdated = parts.flatMap((part) => part.outdated ?? []);
      for (const rewrite of outdated) rewrite();
      // An outdated part explains the conflict, so the guard may still match.
      if (state.guard === undefined || outdated.length > 0) return;
      state.isRefused = true;
      state.guard.refused();
    },
  };
}

function rewriteMap({ refilling }: State, map: MapState<never>): void {
  const expected = map.expected();
  // The buckets and the manifest.
  if (expected) refilling(expected.buckets.size + 1);
  map.rewrite();
}

async function auditManifests(state: State, store: SnapshotStore): Promise<void> {
  for (const [name, map] of state.maps) {
    const expected = map.expected();
    if (expected === undefined) continue;
    const record = await store.get(name);
    // The map has changed meanwhile: the next audit checks it.
    if (map.expected() !== expected) continue;
    const found = record === undefined ? null : decodeManifest(name, record.value);
    if (found?.digest !== expected?.digest || found?.sequence !== expected?.sequence) rewriteMap(state, map);
  }
}

function auditList(state: State): State['toAudit'] {
  const ofRecords = [...state.records.keys()].map((key) => ({
    key,
    missing: () => {
      const value = state.records.get(key);
      if (value === undefined) return;
      state.refilling(1);
      put(state, key, value);
    },
  }));
  const ofMaps = [...state.maps].flatMap(([name, map]) =>
    [...(map.expected()?.buckets ?? [])].flatMap(([number, ref]) =>
      bucketKeys(name, number, ref).map((key) => ({
        key,
        // Not missing if the bucket has changed since.
        missing: () => {
          if (map.expected()?.buckets.get(number)?.digest === ref.digest) rewriteMap(state, map);
        },
      })),
    ),
  );
  return [...ofRecords, ...ofMaps];
}
