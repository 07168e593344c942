import type { SnapshotStore, StoredRecord } from '../../../src/ports/snapshot-store.ts';
import type { SharedMemory } from '../../support/shared-memory-store.ts';
import type { Dice } from '../core/dice.ts';
import type { SimProcess } from '../core/process.ts';
import type { SimTime } from '../core/time.ts';

/** How long a store's answer takes at most, in milliseconds. */
export interface StoreWeather {
  latencyMs: number;
}

/** What is on its way when a process dies may still arrive within this time. */
const LAST_WORDS_MS = 500;

/** A process's connection to the store. `shared`: others have it open as well. */
export function createSimStore(
  deps: { readonly process: SimProcess; readonly time: SimTime; readonly memory: SharedMemory; readonly dice: Dice },
  weather: StoreWeather,
  shared: boolean,
): SnapshotStore {
  const { process, time, memory, dice } = deps;
  const store = memory.open();
  const delay = (): number => dice.int(weather.latencyMs + 1);
  process.atDeath(() => void time.in(LAST_WORDS_MS, () => void store.close()));
  return {
    shared,
    get: (key) => process.call(delay(), () => store.get(key)),
    async *list(prefix) {
      yield* await process.call(delay(), async () => {
        const found: StoredRecord[] = [];
        for await (const record of store.list(prefix)) found.push(record);
        return found;
      });
    },
    write: (writes) => process.write(delay(), () => store.write(writes)),
    watch: (listener) => (shared ? store.watch((event) => process.enter(() => listener(event))) : () => undefined),
    notified: () => process.call(delay(), () => store.notified()),
    close: () => store.close(),
  };
}
