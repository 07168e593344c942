import type { SnapshotStore, StoreWrite } from '../../ports/snapshot-store.ts';
import { bucketKeys, decodeManifest } from './manifest.ts';
import { type Budget, createMapState, type MapState, type Part } from './map-state.ts';
import type { MapReading, ValueCodec } from './stored-map.ts';
import type { WriteGroup, WriteGuard } from './write-group.ts';

/** The writes of one group in a batch. */
export interface GroupPart extends Part {
  /** A required version did not match. */
  conflict(): void;
}

/** A group as the journal uses it. */
export interface DrivenGroup extends WriteGroup {
  readonly isGuarded: boolean;
  /** Takes the next writes within the budget; undefined if none is due or the guard does not allow it. */
  take(budget: Budget): GroupPart | undefined;
  /** True if writes are left that did not fit. */
  hasMore(): boolean;
  /**
   * Checks that the store still has every manifest and the next `records` of the other records, and queues missing ones to be
   * written again. Rejects if the store does not answer.
   */
  audit(store: SnapshotStore, records: number): Promise<void>;
}

/** Deletions that a group remembers, to repeat them if an older copy of the store takes over. */
const DELETIONS = 10_000;

interface State {
  /** Everything that was put or noted, by key. */
  readonly records: Map<string, unknown>;
  /** Keys of the last deleted records: an older copy of the store may still have them. */
  readonly deleted: Set<string>;
  /** Keys of records that are not written yet. */
  readonly waiting: Set<string>;
  readonly maps: Map<string, MapState<never>>;
  readonly dirty: Set<MapState<never>>;
  /** Records that the next audits check, and the action if one is missing. */
  toAudit: { readonly key: string; readonly missing: () => void }[];
  isRefused: boolean;
  isClosed: boolean;
}

/**
 * `wake` is called whenever writes may be due; `refilling` with the number of lost records that are queued to be written
 * again.
 */
export function createGroup(
  guard: WriteGuard | undefined,
  wake: () => void,
  refilling: (records: number) => void,
): DrivenGroup {
  const state: State = {
    records: new Map(),
    deleted: new Set(),
    waiting: new Set(),
    maps: new Map(),
    dirty: new Set(),
    toAudit: [],
    isRefused: false,
    isClosed: false,
  };
  const put = (key: string, value: unknown | null): void => {
    remember(state, key, value);
    if (value === null) noteDeletion(state, key);
    // Moved to the end: callers rely on records being written in the order of their puts.
    state.waiting.delete(key);
    state.waiting.add(key);
    wake();
  };
  return {
    isGuarded: guard !== undefined,
    put,
    noted: (key, value) => {
      remember(state, key, value);
      state.waiting.delete(key);
    },
    map: (name, codec, before) => addMap(state, wake, name, codec, before),
    rewrite: () => {
      refilling(state.records.size);
      for (const keys of [state.records.keys(), state.deleted]) for (const key of keys) state.waiting.add(key);
      for (const map of state.maps.values()) rewriteMap(map, refilling);
      wake();
    },
    forget: (isVoid) => {
      for (const keys of [state.records, state.deleted, state.waiting]) {
        for (const key of [...keys.keys()]) if (isVoid(key)) keys.delete(key);
      }
    },
    resume: () => {
      state.isRefused = false;
      wake();
    },
    close: () => {
      state.isClosed = true;
    },
    take: (budget) => {
      if (state.isClosed || state.isRefused || (state.waiting.size === 0 && state.dirty.size === 0)) return undefined;
      const check = guard?.check();
      if (guard !== undefined && check === undefined) return undefined;
      return partOf(state, guard, check, takeParts(state, budget));
    },
    hasMore: () => state.waiting.size > 0 || state.dirty.size > 0,
    audit: async (store, records) => {
      if (state.isClosed || state.isRefused || (guard !== undefined && guard.check() === undefined)) return;
      await auditManifests(state, store, refilling);
      if (state.toAudit.length === 0) state.toAudit = auditList(state, put, refilling);
      for (const { key, missing } of state.toAudit.splice(0, records)) {
        if ((await store.get(key)) === undefined) missing();
      }
    },
  };
}

function remember({ records, deleted }: State, key: string, value: unknown | null): void {
  deleted.delete(key);
  if (value === null) records.delete(key);
  else records.set(key, value);
}

function noteDeletion({ deleted }: State, key: string): void {
  deleted.add(key);
  for (const oldest of deleted) {
    if (deleted.size <= DELETIONS) break;
    deleted.delete(oldest);
  }
}

function addMap<Value>(
  state: State,
  wake: () => void,
  name: string,
  codec: ValueCodec<Value>,
  before: MapReading<Value> | undefined,
): MapState<Value> {
  if (state.maps.has(name)) throw new Error(`the map ${name} has a writer already`);
  const map: MapState<Value> = createMapState(name, codec, before, () => {
    state.dirty.add(map);
    wake();
  });
  state.maps.set(name, map);
  return map;
}

/** Buckets first, then records; manifests only when all buckets and records are in this batch or an earlier one. */
function takeParts(state: State, budget: Budget): readonly Part[] {
  const parts: Part[] = [];
  for (const map of state.dirty) {
    if (map.hasUnstaged()) parts.push(dirtyAgain(state, map, map.stage(budget)));
    if (map.hasUnstaged()) return parts;
  }
  parts.push(takeRecords(state, budget));
  if (state.waiting.size > 0) return parts;
  for (const map of state.dirty) {
    const committed = map.commit();
    state.dirty.delete(map);
    if (committed !== undefined) parts.push(dirtyAgain(state, map, committed));
  }
  return parts;
}

function dirtyAgain({ dirty }: State, map: MapState<never>, part: Part): Part {
  const failed = (): void => {
    part.failed();
    dirty.add(map);
  };
  return { ...part, failed };
}

function takeRecords({ records, waiting }: State, budget: Budget): Part {
  const taken: string[] = [];
  const writes: StoreWrite[] = [];
  for (const key of waiting) {
    if (taken.length > 0 && (budget.records <= 0 || budget.bytes <= 0)) break;
    const value = records.get(key);
    const bytes = value === undefined ? null : new TextEncoder().encode(JSON.stringify(value));
    waiting.delete(key);
    taken.push(key);
    writes.push({ key, value: bytes });
    budget.bytes -= bytes?.length ?? 0;
    budget.records -= 1;
  }
  // A newer put of the same key waits already, and its value is the one that is written.
  const failed = (): void => taken.forEach((key) => void waiting.add(key));
  return { writes, written: () => undefined, failed };
}

function partOf(
  state: State,
  guard: WriteGuard | undefined,
  check: StoreWrite | undefined,
  parts: readonly Part[],
): GroupPart {
  const writes = parts.flatMap((part) => part.writes);
  const failed = (): void => parts.forEach((part) => void part.failed());
  return {
    writes: check === undefined || writes.length === 0 ? writes : [check, ...writes],
    written: () => parts.forEach((part) => void part.written()),
    failed,
    conflict: () => {
      failed();
      const outdated = parts.flatMap((part) => part.outdated ?? []);
      for (const rewrite of outdated) rewrite();
      // An outdated part explains the conflict, so the guard may still match.
      if (guard === undefined || outdated.length > 0) return;
      state.isRefused = true;
      guard.refused();
    },
  };
}

function rewriteMap(map: MapState<never>, refilling: (records: number) => void): void {
  const expected = map.expected();
  // The buckets and the manifest.
  if (expected) refilling(expected.buckets.size + 1);
  map.rewrite();
}

async function auditManifests(state: State, store: SnapshotStore, refilling: (records: number) => void): Promise<void> {
  for (const [name, map] of state.maps) {
    const expected = map.expected();
    if (expected === undefined) continue;
    const record = await store.get(name);
    // The map has changed meanwhile: the next audit checks it.
    if (map.expected() !== expected) continue;
    const found = record === undefined ? null : decodeManifest(name, record.value);
    if (found?.digest !== expected?.digest || found?.sequence !== expected?.sequence) rewriteMap(map, refilling);
  }
}

function auditList(
  state: State,
  put: (key: string, value: unknown) => void,
  refilling: (records: number) => void,
): State['toAudit'] {
  const ofRecords = [...state.records.keys()].map((key) => ({
    key,
    missing: () => {
      const value = state.records.get(key);
      if (value === undefined) return;
      refilling(1);
      put(key, value);
    },
  }));
  const ofMaps = [...state.maps].flatMap(([name, map]) =>
    [...(map.expected()?.buckets ?? [])].flatMap(([number, ref]) =>
      bucketKeys(name, number, ref).map((key) => ({
        key,
        // Not missing if the bucket has changed since.
        missing: () => {
          if (map.expected()?.buckets.get(number)?.digest === ref.digest) rewriteMap(map, refilling);
        },
      })),
    ),
  );
  return [...ofRecords, ...ofMaps];
}
