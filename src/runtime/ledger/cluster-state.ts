import type { Input } from '../../engine/collections/types.ts';
import type { Engine } from '../../engine/graph.ts';
import type { SnapshotValue } from '../../engine/inputs.ts';
import type { InputDelta, InventoryEntry, KindState, LiveObject, ObjectResult } from '../../model/agent/agent.ts';
import type { Digest } from '../../model/fleet/ids.ts';
import { inputParts, isOnePart } from '../../model/fleet/input-parts.ts';
import type { LedgerEntry } from '../../model/fleet/ledger.ts';
import { metaOf } from '../../model/fleet/output.ts';
import { contentLength, liveObjectOf } from '../../model/objects/live-object.ts';
import type { ObjectKey } from '../../model/objects/object-key.ts';
import { canonicalJson, type JsonValue, jsonEquals, objectOf } from '../../model/text/json.ts';
import { given } from '../../model/values/given.ts';
import { releaseTexts } from '../../model/values/packed-texts.ts';
import type { ReportedHolding } from '../../relay/session.ts';
import type { TagProof } from '../../relay/trust/step-tags.ts';
import type { WriteGroup, WriteGuard } from '../stored/group.ts';
import type { Journal } from '../stored/journal.ts';
import type { MapWriter } from '../stored/map-writer.ts';
import { jsonCodec, type MapReading, type StoredMap, type ValueCodec } from '../stored/stored-map.ts';

/** The checked maps of one cluster. */
export interface ClusterMapTypes {
  readonly entries: LedgerEntry;
  readonly live: LiveObject;
  readonly kinds: KindState;
  readonly results: ObjectResult;
}

export type ClusterMapKind = keyof ClusterMapTypes;

/** The encoding of each map. */
export const clusterCodecs: { readonly [Kind in ClusterMapKind]: ValueCodec<ClusterMapTypes[Kind]> } = {
  entries: jsonCodec(),
  live: {
    encode: (object) => [object.digest, object.text ?? canonicalJson(object.value)],
    decode: (json, key) => (Array.isArray(json) ? restoredObject(key, json[0], json[1]) : undefined),
    equals: (a, b) => a.digest === b.digest,
    length: contentLength,
  },
  kinds: jsonCodec(),
  results: jsonCodec(),
};

export const clusterMapKinds: readonly ClusterMapKind[] = ['entries', 'live', 'kinds', 'results'];

/** The name of a cluster's map in the store. */
export function clusterMapName(cluster: string, kind: ClusterMapKind): string {
  return `clusters/${cluster}/${kind}`;
}

/** The cluster and the kind of a map; undefined if the name is no name of a cluster's map. */
export function clusterMapOf(name: string): { readonly cluster: string; readonly kind: ClusterMapKind } | undefined {
  const [, cluster, last] = /^clusters\/([^/]*)\/([^/]*)$/.exec(name) ?? [];
  const kind = clusterMapKinds.find((known) => known === last);
  return cluster === undefined || kind === undefined ? undefined : { cluster, kind };
}

/** The maps of a cluster as read from the store; an absent one is missing. */
export type ClusterReadings = { readonly [Kind in ClusterMapKind]?: MapReading<ClusterMapTypes[Kind]> };

/** The state of a stored input snapshot. */
export function snapshotOf({ meta }: StoredMap<LiveObject>): SnapshotValue {
  const { since, isArriving } = objectOf(meta);
  return { since: typeof since === 'number' ? since : 0, ...(isArriving === true ? { isArriving } : {}) };
}

/** The engine's input for each map of a cluster; the cluster is the partition. */
export function clusterInputs({ inputs: { ledger, live, kinds, results } }: Engine): {
  readonly [Kind in ClusterMapKind]: Input<ClusterMapTypes[Kind]>;
} {
  return { entries: ledger, live, kinds, results };
}

/** Stages changes of a cluster's map in the engine; null: deleted. */
export function stageClusterMap<Kind extends ClusterMapKind>(
  engine: Engine,
  cluster: string,
  kind: Kind,
  changes: Iterable<readonly [string, ClusterMapTypes[Kind] | null]>,
): void {
  const input: Input<ClusterMapTypes[Kind]> = clusterInputs(engine)[kind];
  const replaced: LiveObject[] = [];
  for (const [key, value] of changes) {
    const before = kind === 'live' ? engine.inputs.live.latest(cluster, key) : undefined;
    // The input keeps the object that it has if the other one is equal.
    const isKept = before !== undefined && before.digest === (value as LiveObject | null)?.digest;
    if (before !== undefined && before !== value) replaced.push(isKept ? (value as LiveObject) : before);
    if (value === null) input.delete(cluster, key);
    else input.set(cluster, key, value);
  }
  releaseTexts(replaced);
}

/**
 * The complete and valid maps: these are staged when a server starts. The input snapshot and the results belong to a
 * registration. The snapshot needs live objects and kinds.
 */
export function validReadings(
  { entries, live, kinds, results }: ClusterReadings,
  isRegistered: boolean,
): { readonly [Kind in ClusterMapKind]?: Extract<MapReading<ClusterMapTypes[Kind]>, { readonly type: 'complete' }> } {
  return {
    ...(entries?.type === 'complete' ? { entries } : {}),
    ...(isRegistered && results?.type === 'complete' ? { results } : {}),
    ...(isRegistered && live?.type === 'complete' && kinds?.type === 'complete' ? { live, kinds } : {}),
  };
}

/** Stages the complete and valid maps of a cluster. */
export function stageClusterReadings(
  engine: Engine,
  cluster: string,
  readings: ClusterReadings,
  isRegistered: boolean,
): void {
  const valid = validReadings(readings, isRegistered);
  for (const kind of clusterMapKinds) stageClusterMap(engine, cluster, kind, valid[kind]?.map.values ?? []);
  if (valid.live !== undefined) engine.inputs.snapshots.set('', cluster, snapshotOf(valid.live.map));
}

function restoredObject(
  key: string,
  digest: JsonValue | undefined,
  content: JsonValue | undefined,
): LiveObject | undefined {
  if (typeof digest !== 'string' || typeof content !== 'string') return undefined;
  return liveObjectOf(key as ObjectKey, digest as Digest, content);
}

type ClusterMapWriters = { readonly [Kind in ClusterMapKind]: MapWriter<ClusterMapTypes[Kind]> };

/** The writers of one cluster; their writes form one consistent state. */
export type ClusterWriters = ClusterMapWriters & { readonly records: WriteGroup };

/** Creates the writers of one cluster; `readings`: the maps in the store. */
export function createWriters(
  journal: Journal,
  cluster: string,
  readings: ClusterReadings,
  guard?: WriteGuard,
): ClusterWriters {
  const records = journal.group(guard);
  const map = <Kind extends ClusterMapKind>(kind: Kind): MapWriter<ClusterMapTypes[Kind]> =>
    records.map(
      clusterMapName(cluster, kind),
      clusterCodecs[kind],
      readings[kind] ?? { type: 'missing', version: null, orphans: [] },
    );
  return { records, entries: map('entries'), live: map('live'), kinds: map('kinds'), results: map('results') };
}

type ClusterWriterTable = ReturnType<typeof createClusterWriters>;

/**
 * The clusters whose records this process writes. `ownsAll`: no other process writes to the store, so this process also owns
 * unknown clusters.
 */
export function createClusterWriters(journal: Journal, ownsAll: boolean) {
  const table = new Map<string, ClusterWriters>();
  const own = (cluster: string, readings: ClusterReadings, guard?: WriteGuard): ClusterWriters => {
    const writers = createWriters(journal, cluster, readings, guard);
    table.set(cluster, writers);
    return writers;
  };
  return {
    /** The writers of a cluster; undefined if another process writes its records. */
    of: (cluster: string) => table.get(cluster) ?? (ownsAll ? own(cluster, {}) : undefined),
    owns: (cluster: string) => table.has(cluster),
    /** Makes this process the writer; `readings`: the maps in the store. Must not be called twice for a cluster. */
    own,
    /** Another process is the writer from now on; waiting writes are dropped. */
    disown: (cluster: string): void => {
      table.get(cluster)?.records.close();
      table.delete(cluster);
    },
  };
}

/**
 * The state of clusters: each change is staged in the engine and written to the store. `read`: clusters whose entries were
 * read completely and are staged.
 */
export function createClusterState(engine: Engine, writers: ClusterWriterTable, read: Iterable<string>) {
  const { inputs } = engine;
  const complete = new Set(read);
  const set = <Kind extends 'entries' | 'results'>(
    kind: Kind,
    cluster: string,
    key: string,
    value: ClusterMapTypes[Kind] | null,
  ): void => {
    stageClusterMap(engine, cluster, kind, [[key, value]]);
    const written: ClusterMapWriters | undefined = writers.of(cluster);
    written?.[kind].set(key, value);
  };

  const dropOtherResults = (cluster: string, isOwned: (key: string) => boolean): void => {
    for (const { key } of [...inputs.results.latestEntries(cluster)]) {
      if (!isOwned(key)) set('results', cluster, key, null);
    }
  };

  return {
    setEntry: (cluster: string, key: ObjectKey, entry: LedgerEntry | null) => set('entries', cluster, key, entry),
    /** Sets the result of an object; null deletes it. */
    setResult: (cluster: string, key: ObjectKey, result: ObjectResult | null) => set('results', cluster, key, result),
    /** Marks the cluster's entries as complete: another replica wrote them, and they are staged. */
    markEntriesComplete: (cluster: string) => void complete.add(cluster),
    /**
     * True if the cluster provably does not own the object: its entries are complete, as read or as its agent reported them, and
     * omit the object. False while the entries are missing. Staged changes count.
     */
    omits: (cluster: string, key: string) => complete.has(cluster) && inputs.ledger.latest(cluster, key) === undefined,
    /** Replaces the entries by the inventory that an agent reports, and deletes results of other objects. */
    replaceEntries: (cluster: string, holding: Pick<ReportedHolding, 'entries' | 'proof'>): void => {
      complete.add(cluster);
      const owned = stageEntries(engine, cluster, holding);
      writers.of(cluster)?.entries.replaceAll(owned);
      dropOtherResults(cluster, (key) => owned.has(key));
    },
    takeInput: (cluster: string, delta: InputDelta, options: TakeOptions) =>
      takeInput(engine, () => writers.of(cluster), cluster, delta, options),
    /** Writes the state of the cluster, staged changes included. `to`: the writers; default: this process's own. */
    write: (cluster: string, to: ClusterWriters | undefined = writers.of(cluster)): void => {
      to?.entries.replaceAll(pairsOf(inputs.ledger, cluster));
      to?.results.replaceAll(pairsOf(inputs.results, cluster));
      const snapshot = inputs.snapshots.latest('', cluster);
      const live = pairsOf(inputs.live, cluster);
      // A part of the first snapshot is here: without kinds, a server that starts drops it and a replica marks it as arriving.
      if (snapshot !== undefined || live.length > 0) to?.live.replaceAll(live);
      if (snapshot === undefined) {
        if (live.length === 0) to?.live.drop();
        to?.kinds.drop();
        return;
      }
      to?.live.setMeta({ ...snapshot });
      to?.kinds.replaceAll(pairsOf(inputs.kinds, cluster));
    },
    /** Forgets the input snapshot and the results; the ledger entries stay. */
    forgetSnapshot: (cluster: string): void => {
      for (const kind of snapshotMaps) {
        clusterInputs(engine)[kind].drop(cluster);
        writers.of(cluster)?.[kind].drop();
      }
      inputs.snapshots.delete('', cluster);
    },
  };
}

interface TakeOptions {
  /** In milliseconds since 1970. */
  readonly now: () => number;
  readonly partRecords?: number;
}

/**
 * Stages a delta that leads to a complete input snapshot. Yields after each part but the last one; each may have a commit of its own.
 * Until the last part the snapshot is marked as arriving: it is a mixture of the one before and the next one.
 */
function* takeInput(
  engine: Engine,
  writersNow: () => ClusterWriters | undefined,
  cluster: string,
  delta: InputDelta,
  { now, partRecords }: TakeOptions,
): Generator<undefined, void> {
  const { inputs } = engine;
  const before = inputs.snapshots.latest('', cluster);
  const setSnapshot = (snapshot: SnapshotValue): void => {
    inputs.snapshots.set('', cluster, snapshot);
    writersNow()?.live.setMeta({ ...snapshot });
  };
  // The delta may start from objects in the engine that were not stored, because they were no complete snapshot.
  if (before === undefined) writersNow()?.live.replaceAll(pairsOf(inputs.live, cluster));
  else if (!isOnePart(delta, partRecords)) setSnapshot({ ...before, isArriving: true });
  let isFirst = true;
  for (const { upserts, removals } of inputParts(delta, partRecords)) {
    if (!isFirst) yield;
    isFirst = false;
    const changes = [
      ...upserts.map((object) => [object.key, object] as const),
      ...removals.map((key) => [key, null] as const),
    ];
    stageClusterMap(engine, cluster, 'live', changes);
    const written = writersNow();
    for (const [key, object] of changes) written?.live.set(key, object);
  }
  const { kinds } = delta;
  if (kinds !== undefined) {
    inputs.kinds.drop(cluster);
    for (const state of kinds) inputs.kinds.set(cluster, state.kind, state);
    writersNow()?.kinds.replaceAll(kinds.map((state) => [state.kind, state]));
  }
  setSnapshot({ since: now() });
}

/** The inventory of a cluster as its agent would report it, by the ledger with all staged changes. */
export function inventoryOf({ inputs: { ledger } }: Engine, cluster: string): readonly InventoryEntry[] {
  return Array.from(ledger.latestEntries(cluster), ({ key, value: { digest, phase, lost, ...meta } }) => ({
    key: key as ObjectKey,
    digest,
    phase: phase === 'removing' ? phase : 'held',
    ...metaOf(meta),
    ...given({ lost }),
  }));
}

/** Maps that belong to a registration. */
export const snapshotMaps = ['live', 'kinds', 'results'] as const;

/** Replaces the staged entries of the cluster; returns the new entries. */
function stageEntries(
  { inputs: { ledger } }: Engine,
  cluster: string,
  { entries, proof }: Pick<ReportedHolding, 'entries' | 'proof'>,
): ReadonlyMap<string, LedgerEntry> {
  const owned = new Map<string, LedgerEntry>();
  for (const entry of entries) {
    const before = ledger.latest(cluster, entry.key);
    const now = entryOf(entry, before, proof);
    // An unchanged entry stays the same object, which makes later comparisons cheap.
    const isSame = before !== undefined && jsonEquals(before as unknown as JsonValue, now as unknown as JsonValue);
    if (!isSame) ledger.set(cluster, entry.key, now);
    owned.set(entry.key, isSame ? before : now);
  }
  for (const { key } of [...ledger.latestEntries(cluster)]) if (!owned.has(key)) ledger.delete(cluster, key);
  return owned;
}

/** The entries of the cluster, staged changes included. */
function pairsOf<Value>(input: Input<Value>, cluster: string): readonly [string, Value][] {
  return [...input.latestEntries(cluster)].map(({ key, value }) => [key, value]);
}

/** Keeps what an inventory does not contain: `leaving`, and `serves` and `madeBy` while the content is unchanged. */
function entryOf(
  { digest, phase, lost, ...meta }: InventoryEntry,
  before: LedgerEntry | undefined,
  proof: TagProof,
): LedgerEntry {
  const { serves, madeBy } = before?.digest === digest ? before : {};
  const leaving = phase === 'held' ? before?.leaving : undefined;
  const known = given({ serves, madeBy, leaving });
  // The tag covers the entries that are held.
  const isProven =
    (proof.type === 'inventory' && phase === 'held') || (before !== undefined && before.unproven !== true);
  const unproven = isProven ? {} : ({ unproven: true } as const);
  const marks = { ...known, ...unproven, ...given({ lost }) };
  return { digest, ...metaOf(meta), phase: phase === 'held' ? 'accepted' : 'removing', ...marks };
}
