import type { Collection } from '../../engine/collections/types.ts';
import type { Engine } from '../../engine/graph.ts';
import type { AgentHolding, InputDelta, InventoryEntry, ObjectResult } from '../../model/agent.ts';
import type { JsonValue } from '../../model/json.ts';
import { jsonEquals } from '../../model/json.ts';
import type { LedgerEntry } from '../../model/ledger.ts';
import type { ObjectKey } from '../../model/object-key.ts';
import type { LiveMeta } from './cluster-maps.ts';
import type { ClusterWriters, ClusterWriterTable } from './cluster-writers.ts';

/** What is known of one cluster: each change is staged into the engine and written to the store. */
export interface ClusterState {
  setEntry(cluster: string, key: ObjectKey, entry: LedgerEntry | null): void;
  /** An agent has said what its cluster holds: that is the truth about it, and results about anything else are void. */
  replaceEntries(cluster: string, holding: AgentHolding): void;
  /** Another process has written the cluster's entries, and they are staged whole. */
  markEntriesComplete(cluster: string): void;
  /**
   * It is known that the cluster does not hold the object: its entries are here whole, as read or as its agent has said
   * them, and the object is not among them. False while the entries are missing: then nothing is known. As committed.
   */
  omits(cluster: string, key: string): boolean;
  /** What became of an object; null: nothing is known of it any more. */
  setResult(cluster: string, key: ObjectKey, result: ObjectResult | null): void;
  /** A step of the input snapshot, which is whole with it; `since`: now. */
  takeInput(cluster: string, delta: InputDelta, since: number): void;
  /** Nothing is known any more of what lives there and of what became of our objects; the ledger entries stay. */
  forgetSnapshot(cluster: string): void;
  /** Writes what the engine has of it, committed; `to`: by these writers, not by those of this process. */
  write(cluster: string, to?: ClusterWriters): void;
}

/** `read`: clusters whose entries were read whole and are staged. */
export function createClusterState(engine: Engine, writers: ClusterWriterTable, read: Iterable<string>): ClusterState {
  const { inputs } = engine;
  const whole = new Set(read);

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
    markEntriesComplete: (cluster) => void whole.add(cluster),
    omits: (cluster, key) => whole.has(cluster) && inputs.ledger.get(cluster, key) === undefined,
    replaceEntries: (cluster, { entries }) => {
      whole.add(cluster);
      const held = stageEntries(engine, cluster, entries);
      writers.of(cluster)?.entries.replaceAll(held);
      for (const { key } of [...inputs.results.entries(cluster)]) {
        if (!held.has(key)) setResult(cluster, key as ObjectKey, null);
      }
    },
    takeInput: (cluster, { upserts, removals, kinds }, since) => {
      const written = writers.of(cluster);
      // The step may go on from objects that are here, and are written down nowhere as long as they are no snapshot.
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

/** Stages that the cluster holds these and nothing else; gives what the ledger then has of it. */
function stageEntries(
  { inputs: { ledger } }: Engine,
  cluster: string,
  entries: readonly InventoryEntry[],
): ReadonlyMap<string, LedgerEntry> {
  const held = new Map<string, LedgerEntry>();
  for (const entry of entries) {
    const before = ledger.get(cluster, entry.key);
    const now = entryOf(entry, before);
    // What has not changed stays the object that it was: whoever compares sees it at once.
    const isSame = sameEntry(before, now);
    if (!isSame) ledger.set(cluster, entry.key, now);
    held.set(entry.key, isSame ? before : now);
  }
  for (const { key } of [...ledger.entries(cluster)]) if (!held.has(key)) ledger.delete(cluster, key);
  return held;
}

function pairsOf<Value>(collection: Collection<Value>, cluster: string): readonly [string, Value][] {
  return [...collection.entries(cluster)].map(({ key, value }) => [key, value]);
}

/** What an inventory does not say is as it was, if the content is. */
function entryOf({ digest, origins, scope, phase }: InventoryEntry, before: LedgerEntry | undefined): LedgerEntry {
  const { serves } = before?.digest === digest ? before : {};
  const known = serves === undefined ? {} : { serves };
  return { digest, origins, scope, phase: phase === 'held' ? 'accepted' : 'removing', ...known };
}

function sameEntry(a: LedgerEntry | undefined, b: LedgerEntry): a is LedgerEntry {
  return a !== undefined && jsonEquals(a as unknown as JsonValue, b as unknown as JsonValue);
}
