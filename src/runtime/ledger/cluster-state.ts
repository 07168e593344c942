import type { Collection } from '../../engine/collections/types.ts';
import type { Engine } from '../../engine/graph.ts';
import type { AgentHolding, InputDelta, InventoryEntry, ObjectResult } from '../../model/agent.ts';
import type { JsonValue } from '../../model/json.ts';
import { jsonEquals } from '../../model/json.ts';
import type { LedgerEntry } from '../../model/ledger.ts';
import type { ObjectKey } from '../../model/object-key.ts';
import type { LiveMeta } from './cluster-maps.ts';
import type { ClusterWriters, ClusterWriterTable } from './cluster-writers.ts';

/** The state of clusters: each change is staged in the engine and written to the store. */
export interface ClusterState {
  setEntry(cluster: string, key: ObjectKey, entry: LedgerEntry | null): void;
  /** Replaces the entries by the inventory that an agent reports, and deletes results of other objects. */
  replaceEntries(cluster: string, holding: AgentHolding): void;
  /** Marks the cluster's entries as complete: another replica wrote them, and they are staged. */
  markEntriesComplete(cluster: string): void;
  /**
   * True if the cluster provably does not own the object: its entries are complete, as read or as its agent reported them, and
   * omit the object. False while the entries are missing. As of the last commit.
   */
  omits(cluster: string, key: string): boolean;
  /** Sets the result of an object; null deletes it. */
  setResult(cluster: string, key: ObjectKey, result: ObjectResult | null): void;
  /** Applies a delta that leads to a complete input snapshot; `since`: now, in milliseconds since 1970. */
  takeInput(cluster: string, delta: InputDelta, since: number): void;
  /** Forgets the input snapshot and the results; the ledger entries stay. */
  forgetSnapshot(cluster: string): void;
  /** Writes the committed state of the cluster; `to`: with these writers instead of those of this process. */
  write(cluster: string, to?: ClusterWriters): void;
}

/** `read`: clusters whose entries were read completely and are staged. */
export function createClusterState(engine: Engine, writers: ClusterWriterTable, read: Iterable<string>): ClusterState {
  const { inputs } = engine;
  const complete = new Set(read);

  const setEntry = (cluster: string, key: ObjectKey, entry: LedgerEntry | null): void => {
    if (entry === null) inputs.ledger.delete(cluster, key);
    else inputs.ledger.set(cluster, key, entry);
    writers.of(cluster)?.entries.set(key, entry);
  };
  const setResult = (cluster: string, key: ObjectKey, result: ObjectResult | null): void => {
    if (result === null) inputs.results.delete(cluster, key);
    else inputs.results.set(cluster, key, result);
    writers.of(cluster)?.results.set(key, result);
  };

  return {
    setEntry,
    setResult,
    markEntriesComplete: (cluster) => void complete.add(cluster),
    omits: (cluster, key) => complete.has(cluster) && inputs.ledger.get(cluster, key) === undefined,
    replaceEntries: (cluster, { entries }) => {
      complete.add(cluster);
      const owned = stageEntries(engine, cluster, entries);
      writers.of(cluster)?.entries.replaceAll(owned);
      for (const { key } of [...inputs.results.entries(cluster)]) {
        if (!owned.has(key)) setResult(cluster, key as ObjectKey, null);
      }
    },
    takeInput: (cluster, { upserts, removals, kinds }, since) => {
      const written = writers.of(cluster);
      // The delta may start from objects in the engine that were not stored, because they were no complete snapshot.
      if (inputs.snapshots.get('', cluster) === undefined) written?.live.replaceAll(pairsOf(inputs.live, cluster));
      for (const object of upserts) {
        inputs.live.set(cluster, object.key, object);
        written?.live.set(object.key, object);
      }
      for (const key of removals) {
        inputs.live.delete(cluster, key);
        written?.live.set(key, null);
      }
      if (kinds !== undefined) {
        inputs.kinds.drop(cluster);
        for (const state of kinds) inputs.kinds.set(cluster, state.kind, state);
        written?.kinds.replaceAll(kinds.map((state) => [state.kind, state]));
      }
      inputs.snapshots.set('', cluster, { since });
      written?.live.setMeta({ since } satisfies LiveMeta);
    },
    write: (cluster, to) => {
      const written = to ?? writers.of(cluster);
      written?.entries.replaceAll(pairsOf(inputs.ledger, cluster));
      written?.results.replaceAll(pairsOf(inputs.results, cluster));
      const snapshot = inputs.snapshots.get('', cluster);
      if (snapshot === undefined) {
        written?.live.drop();
        written?.kinds.drop();
        return;
      }
      written?.live.replaceAll(pairsOf(inputs.live, cluster));
      written?.live.setMeta({ since: snapshot.since } satisfies LiveMeta);
      written?.kinds.replaceAll(pairsOf(inputs.kinds, cluster));
    },
    forgetSnapshot: (cluster) => {
      for (const input of [inputs.results, inputs.live, inputs.kinds]) input.drop(cluster);
      inputs.snapshots.delete('', cluster);
      const written = writers.of(cluster);
      for (const map of [written?.results, written?.live, written?.kinds]) map?.drop();
    },
  };
}

/** Replaces the staged entries of the cluster; returns the new entries. */
function stageEntries(
  { inputs: { ledger } }: Engine,
  cluster: string,
  entries: readonly InventoryEntry[],
): ReadonlyMap<string, LedgerEntry> {
  const owned = new Map<string, LedgerEntry>();
  for (const entry of entries) {
    const before = ledger.get(cluster, entry.key);
    const now = entryOf(entry, before);
    // An unchanged entry stays the same object, which makes later comparisons cheap.
    const isSame = sameEntry(before, now);
    if (!isSame) ledger.set(cluster, entry.key, now);
    owned.set(entry.key, isSame ? before : now);
  }
  for (const { key } of [...ledger.entries(cluster)]) if (!owned.has(key)) ledger.delete(cluster, key);
  return owned;
}

function pairsOf<Value>(collection: Collection<Value>, cluster: string): readonly [string, Value][] {
  return [...collection.entries(cluster)].map(({ key, value }) => [key, value]);
}

/** Keeps `serves`, which an inventory does not contain, while the content is unchanged. */
function entryOf({ digest, origins, scope, phase }: InventoryEntry, before: LedgerEntry | undefined): LedgerEntry {
  const { serves } = before?.digest === digest ? before : {};
  const known = serves === undefined ? {} : { serves };
  return { digest, origins, scope, phase: phase === 'held' ? 'accepted' : 'removing', ...known };
}

function sameEntry(a: LedgerEntry | undefined, b: LedgerEntry): a is LedgerEntry {
  return a !== undefined && jsonEquals(a as unknown as JsonValue, b as unknown as JsonValue);
}
