import type { Engine } from '../../engine/graph.ts';
import { type ObservedStatus, readObserved } from '../../model/conditions.ts';
import { type EngineKind, isEngineKind } from '../../model/engine-kinds.ts';
import { type JsonObject, type JsonValue, jsonEquals } from '../../model/json.ts';
import { type LedgerRecords, recordKey } from '../ledger/records.ts';
import type { Loop } from '../loop.ts';
import type { Replica } from '../replica/replica.ts';
import type { RecordWriter } from '../stored/group.ts';

/**
 * Tells the engine which statuses were written last: from the store, else from the custom resource, else from the status
 * branch; from then on what a sink has written.
 */
export interface ObservedStatuses {
  /** What the store has, when the server begins to lead. */
  load(records: LedgerRecords['observed']): void;
  /** What stands in a custom resource or on the branch; it counts unless a better place has a status. */
  found(place: 'resource' | 'branch', kind: EngineKind, key: string, status: JsonValue | undefined): void;
  /** A sink has written this status. */
  written(kind: EngineKind, key: string, status: JsonObject): void;
  /** From now on statuses of what is not declared any more are forgotten, while this replica leads. */
  follow(replica: Pick<Replica, 'leads' | 'knowsAll'>): void;
}

/** Later ones are better. */
const PLACES = ['branch', 'resource', 'store'] as const;

export function createObservedStatuses(deps: {
  readonly engine: Engine;
  readonly loop: Loop;
  /** Writes what belongs to the fleet. */
  readonly journal: Pick<RecordWriter, 'put' | 'noted'>;
  readonly records: Pick<LedgerRecords, 'observed'>;
}): ObservedStatuses {
  const { engine, loop, journal } = deps;
  const { observed } = engine.inputs;
  const places = new Map<string, (typeof PLACES)[number]>();
  const changes = engine.graph.watch(engine.statuses);
  const addressOf = (kind: string, key: string): string => `${kind}/${key}`;

  const stage = (place: (typeof PLACES)[number], kind: string, key: string, status: ObservedStatus): void => {
    places.set(addressOf(kind, key), place);
    observed.set(kind, key, status);
  };
  /** Only the leader takes the record from the store. */
  const forget = (kind: string, key: string, leads: boolean): boolean => {
    places.delete(addressOf(kind, key));
    if (observed.get(kind, key) === undefined || !isEngineKind(kind)) return false;
    observed.delete(kind, key);
    if (leads) journal.put(recordKey.observed(kind, key), null);
    return true;
  };
  const load = (records: LedgerRecords['observed']): void => {
    // The leader before may have deleted a record since this process read it.
    for (const { partition: kind, key } of [...observed.partitions()].flatMap((each) => [...observed.entries(each)])) {
      const isGone = places.get(addressOf(kind, key)) === 'store' && records.get(kind)?.get(key) === undefined;
      if (!isGone) continue;
      places.delete(addressOf(kind, key));
      observed.delete(kind, key);
    }
    for (const [kind, ofKind] of records) {
      if (!isEngineKind(kind)) continue;
      for (const [key, record] of ofKind) {
        const status = readObserved(record);
        journal.noted(recordKey.observed(kind, key), record);
        if (status !== undefined) stage('store', kind, key, status);
      }
    }
  };
  load(deps.records.observed);

  return {
    load,
    found: (place, kind, key, status) => {
      const read = readObserved(status);
      const before = places.get(addressOf(kind, key));
      if (read === undefined || (before !== undefined && PLACES.indexOf(before) >= PLACES.indexOf(place))) return;
      loop.transact(() => stage(place, kind, key, read));
    },
    written: (kind, key, status) => {
      const read = readObserved(status);
      // It may have gone meanwhile.
      if (read === undefined || engine.statuses.get(kind, key) === undefined) return;
      const before = observed.get(kind, key);
      const isKnown = before !== undefined && jsonEquals(asJson(before), asJson(read));
      if (isKnown && places.get(addressOf(kind, key)) === 'store') return;
      journal.put(recordKey.observed(kind, key), status);
      loop.transact(() => stage('store', kind, key, read));
    },
    follow: (replica) => {
      let hasForgottenOld = false;
      let wasLeading = false;
      loop.addBookkeeper(() => {
        const gone = changes.take().filter(({ after }) => after === undefined);
        // A new leader has loaded the records anew. What is gone while a source is not complete is forgotten later.
        if (replica.leads() !== wasLeading || !replica.knowsAll()) hasForgottenOld = false;
        wasLeading = replica.leads();
        if (!replica.knowsAll()) return false;
        const old = hasForgottenOld ? [] : [...observed.partitions()].flatMap((kind) => [...observed.entries(kind)]);
        hasForgottenOld = true;
        const over = [...gone, ...old].filter(
          ({ partition, key }) => engine.statuses.get(partition, key) === undefined,
        );
        return over.map(({ partition, key }) => forget(partition, key, replica.leads())).includes(true);
      });
    },
  };
}

function asJson({ conditions, fields }: ObservedStatus): JsonObject {
  return { ...fields, conditions: conditions.map((condition) => ({ ...condition })) as JsonValue };
}
