import { type ObservedStatus, readObserved } from '../../model/conditions.ts';
import { type EngineKind, isEngineKind } from '../../model/engine-kinds.ts';
import { type JsonObject, type JsonValue, jsonEquals } from '../../model/json.ts';
import type { ServerCore } from '../core.ts';
import { type LedgerRecords, recordKey } from '../ledger/records.ts';
import type { Replica } from '../replica/replica.ts';

/** Places of a status; later ones are trusted more. */
const PLACES = ['branch', 'resource', 'store'] as const;
type Place = (typeof PLACES)[number];

export type ObservedStatuses = ReturnType<typeof createObservedStatuses>;

/**
 * Stages the statuses that were written last: from the store, else from the custom resource, else from the status branch, and
 * then those that a sink has written.
 */
export function createObservedStatuses({ engine, loop, fleet, records }: ServerCore) {
  const { observed } = engine.inputs;
  /** The place of each staged status, by kind and key. */
  const places = new Map<string, Place>();
  const changes = engine.graph.watch(engine.statuses);
  const addressOf = (kind: string, key: string): string => `${kind}/${key}`;
  const all = () => [...observed.partitions()].flatMap((kind) => [...observed.entries(kind)]);

  const stage = (place: Place, kind: string, key: string, status: ObservedStatus): void => {
    places.set(addressOf(kind, key), place);
    observed.set(kind, key, status);
  };
  const unstage = (kind: string, key: string): void => {
    places.delete(addressOf(kind, key));
    observed.delete(kind, key);
  };
  /** Stages the records of the store. */
  const load = (stored: LedgerRecords['observed']): void => {
    for (const { partition: kind, key } of all()) {
      // An earlier leader has deleted the record since this process read it.
      const isGone = places.get(addressOf(kind, key)) === 'store' && stored.get(kind)?.get(key) === undefined;
      if (isGone) unstage(kind, key);
    }
    for (const [kind, ofKind] of stored) {
      if (!isEngineKind(kind)) continue;
      for (const [key, record] of ofKind) {
        const status = readObserved(record);
        fleet.noted(recordKey.observed(kind, key), record);
        if (status !== undefined) stage('store', kind, key, status);
      }
    }
  };
  load(records.observed);

  return {
    load,
    /** Stages a status found in a custom resource or on the branch, unless a more trusted place has one. */
    found: (place: 'resource' | 'branch', kind: EngineKind, key: string, status: JsonValue | undefined): void => {
      const read = readObserved(status);
      const before = places.get(addressOf(kind, key));
      if (read === undefined || (before !== undefined && PLACES.indexOf(before) >= PLACES.indexOf(place))) return;
      loop.transact(() => stage(place, kind, key, read));
    },
    /** A sink has written this status. */
    written: (kind: EngineKind, key: string, status: JsonObject): void => {
      const read = readObserved(status);
      // The declaration may have been removed meanwhile.
      if (read === undefined || engine.statuses.get(kind, key) === undefined) return;
      const before = observed.get(kind, key);
      const isKnown = before !== undefined && jsonEquals(asJson(before), asJson(read));
      if (isKnown && places.get(addressOf(kind, key)) === 'store') return;
      fleet.put(recordKey.observed(kind, key), status);
      loop.transact(() => stage('store', kind, key, read));
    },
    /** From now on forgets the statuses of undeclared objects when all sources are known; the leader deletes their records. */
    follow: ({ leads, knowsAll }: Pick<Replica, 'leads' | 'knowsAll'>): void => {
      let hasForgottenOld = false;
      let wasLeading = false;
      loop.addBookkeeper(() => {
        const removed = changes.take().filter(({ after }) => after === undefined);
        // A new leader has loaded the records again. Statuses that are removed while a source is not complete are forgotten later.
        if (leads() !== wasLeading || !knowsAll()) hasForgottenOld = false;
        wasLeading = leads();
        if (!knowsAll()) return false;
        const old = hasForgottenOld ? [] : all();
        hasForgottenOld = true;
        const over = [...removed, ...old].filter(
          ({ partition, key }) =>
            engine.statuses.get(partition, key) === undefined && observed.get(partition, key) !== undefined,
        );
        for (const { partition, key } of over) {
          unstage(partition, key);
          if (leads()) fleet.put(recordKey.observed(partition, key), null);
        }
        return over.length > 0;
      });
    },
  };
}

function asJson({ conditions, fields }: ObservedStatus): JsonObject {
  return { ...fields, conditions: conditions.map((condition) => ({ ...condition })) as JsonValue };
}
