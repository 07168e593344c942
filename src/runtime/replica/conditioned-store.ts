import type { SnapshotStore, StoreEvent, StoreWrite } from '../../ports/snapshot-store.ts';

/** A record of the store that must be as this process knows it, or it may not write there. */
export interface StoreCondition {
  readonly key: string;
  /** Why this process may use the store no more, or not now; undefined: it may. */
  trouble(): string | undefined;
  /** Goes with each batch, in the same step of the store. The same object until `look` has found something else. */
  check(): StoreWrite;
  /** Looks anew. Rejects if the store cannot be asked. */
  look(): Promise<void>;
}

/** The store as it may be used while the conditions hold: whoever finds otherwise too late has written nothing. */
export function createConditionedStore(store: SnapshotStore, conditions: readonly StoreCondition[]): SnapshotStore {
  const listeners = new Set<(event: StoreEvent) => void>();
  const troubles = (): readonly string[] => conditions.flatMap(({ trouble }) => trouble() ?? []);
  const assertUsable = (): void => {
    const [trouble] = troubles();
    if (trouble !== undefined) throw new Error(trouble);
  };
  const look = (at: readonly StoreCondition[]): Promise<unknown> => Promise.allSettled(at.map((one) => one.look()));
  const tell = (event: StoreEvent): void => {
    for (const listener of listeners) listener(event);
  };
  const unwatch = store.watch((event) => {
    if (event.type === 'down') return tell(event);
    if (event.type !== 'changed') {
      void look(conditions);
      return tell(event);
    }
    const met = conditions.filter(({ key }) => event.keys.includes(key));
    if (met.length === 0) return tell(event);
    // What was written in the same moment may be nothing for this process to read.
    void look(met).then(() => troubles().length === 0 && tell(event));
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
        // Nothing was written: with what was found now the same batch may pass.
        if (conditions.every((condition, at) => condition.check() === checks[at])) return outcome;
      }
    },
    watch: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close: async () => {
      unwatch();
      await store.close();
    },
  };
}
