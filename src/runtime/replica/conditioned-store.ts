import { objectOf, parseJsonBytes } from '../../model/text/json.ts';
import type { SnapshotStore, StoreEvent, StoreWrite } from '../../ports/snapshot-store.ts';
import { recordKey, STORE_FORMAT } from '../ledger/records.ts';
import { jsonWrite } from '../stored/json-record.ts';

/** A record of the store that must be as this process knows it; otherwise the process writes nothing. */
export interface StoreCondition {
  readonly key: string;
  /** Why this process may not use the store, now or any more; undefined: it may. */
  problem(): string | undefined;
  /** The check of each batch. The same object until `look` has found another record. */
  check(): StoreWrite;
  /** Reads the record again. Rejects if the store does not answer. */
  look(): Promise<void>;
}

/** Returns the store as it may be used under the conditions. A batch is written only if all of them hold in that moment. */
export function createConditionedStore(store: SnapshotStore, conditions: readonly StoreCondition[]): SnapshotStore {
  const listeners = new Set<(event: StoreEvent) => void>();
  const problems = (): readonly string[] => conditions.flatMap(({ problem }) => problem() ?? []);
  const assertUsable = (): void => {
    const [problem] = problems();
    if (problem !== undefined) throw new Error(problem);
  };
  const look = (at: readonly StoreCondition[]): Promise<unknown> => Promise.allSettled(at.map((one) => one.look()));
  const tell = (event: StoreEvent): void => {
    for (const listener of listeners) listener(event);
  };
  /** Events that wait for a look. */
  const delayed = new Set<Promise<unknown>>();
  const unwatch = store.watch((event) => {
    if (event.type === 'down') return tell(event);
    if (event.type !== 'changed') {
      void look(conditions);
      return tell(event);
    }
    const concerned = conditions.filter(({ key }) => event.keys.includes(key));
    if (concerned.length === 0) return tell(event);
    // If a condition does not hold any more, this process must not read the records of the same batch.
    const told = look(concerned).then(() => problems().length === 0 && tell(event));
    delayed.add(told);
    void told.then(() => delayed.delete(told));
  });
  return {
    shared: store.shared,
    get: async (key) => {
      assertUsable();
      return store.get(key);
    },
    async *list(prefix) {
      assertUsable();
      yield* store.list(prefix);
    },
    write: async (writes) => {
      for (;;) {
        assertUsable();
        const checks = conditions.map((condition) => condition.check());
        const outcome = await store.write([...checks, ...writes]);
        if (outcome === 'written') return outcome;
        await Promise.all(conditions.map((condition) => condition.look()));
        assertUsable();
        // Nothing was written. If a check has changed, the same batch may pass with the new one.
        if (conditions.every((condition, at) => condition.check() === checks[at])) return outcome;
      }
    },
    watch: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    notified: async () => {
      await store.notified();
      await Promise.all(delayed);
    },
    close: async () => {
      unwatch();
      await store.close();
    },
  };
}

/**
 * Keeps versions with different record formats apart. The first batch of a newer version writes its format to the store;
 * from then on an older version writes and reads nothing. `outgrown` is called once. Rejects if the store does not answer,
 * or has a newer format already.
 */
export async function openStoreFormat(
  store: SnapshotStore,
  outgrown: (reason: string) => void,
  ours = STORE_FORMAT,
): Promise<StoreCondition> {
  const key = recordKey.format;
  let check: StoreWrite | undefined;
  let newer: string | undefined;

  const look = async (): Promise<void> => {
    const record = await store.get(key);
    const version = record?.version ?? null;
    if (newer !== undefined || check?.ifVersion === version) return;
    const { format } = objectOf(record === undefined ? undefined : parseJsonBytes(record.value));
    if (typeof format === 'number' && format > ours) {
      newer = `the store was written by a newer version (format ${format}, known is ${ours})`;
      outgrown(newer);
      return;
    }
    check = format === ours ? { key, ifVersion: version } : jsonWrite(key, { format: ours }, version);
  };
  await look();
  if (newer !== undefined) throw new Error(newer);
  return { key, look, problem: () => newer, check: () => check ?? { key, ifVersion: null } };
}
