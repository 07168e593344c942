import type { JsonValue } from '../../src/model/text/json.ts';
import type { SnapshotStore, StoreWrite } from '../../src/ports/snapshot-store.ts';
import { createJournal, type Journal } from '../../src/runtime/stored/journal.ts';
import { readMap } from '../../src/runtime/stored/read-map.ts';
import { jsonCodec, type MapReading } from '../../src/runtime/stored/stored-map.ts';
import { silentLog } from './silent-log.ts';
import type { VirtualClock } from './virtual-clock.ts';

export const codec = jsonCodec<JsonValue>();

/** A journal of one process, on a virtual clock. */
export function journalOn(store: SnapshotStore, clock: VirtualClock): Journal {
  return createJournal({ store, clock, log: silentLog });
}

export async function read(store: SnapshotStore, name: string): Promise<MapReading> {
  return readMap(store, name, codec);
}

/** Returns the values that a reader gets; null if the map is missing or damaged. */
export async function contentOf(
  store: SnapshotStore,
  name: string,
): Promise<Readonly<Record<string, JsonValue>> | null> {
  const reading = await read(store, name);
  return reading.type === 'complete' ? Object.fromEntries([...reading.map.values].sort()) : null;
}

export async function keysOf(store: SnapshotStore, prefix = ''): Promise<readonly string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list(prefix)) keys.push(key);
  return keys;
}

/** Counts the writes of a store, and stops the process at one of them: before the write, or after it took effect. */
export function dyingStore(
  store: SnapshotStore,
  at: number,
  when: 'before' | 'after',
): SnapshotStore & { writes(): number; batches: (readonly StoreWrite[])[] } {
  let writes = 0;
  const batches: (readonly StoreWrite[])[] = [];
  return {
    ...store,
    batches,
    writes: () => writes,
    write: async (batch) => {
      if (writes >= at) throw new Error('the process is dead');
      writes += 1;
      if (writes === at && when === 'before') throw new Error('the process is dead');
      const outcome = await store.write(batch);
      batches.push(batch);
      if (writes === at) throw new Error('the process is dead');
      return outcome;
    },
  };
}
