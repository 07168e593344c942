import type { FleetName } from '../../model/ids.ts';
import type { Log } from '../../ports/log.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';

/** Says of which fleet the records of a shared store are. */
const FLEET_KEY = 'fleet';

/**
 * Marks a shared store as this fleet's, also after it was emptied, until the returned function is called. Rejects with a
 * text for people if it is another one's: two fleets in one place would take each other's clusters for deregistered.
 */
export async function keepFleetMark(
  { store, log }: { readonly store: SnapshotStore; readonly log: Log },
  fleet: FleetName,
): Promise<() => void> {
  await mark(store, fleet);
  return store.watch((event) => {
    if (event.type !== 'lost') return;
    mark(store, fleet).catch((error: unknown) =>
      log.error('the store cannot be marked as that of the fleet', { error }),
    );
  });
}

async function mark(store: SnapshotStore, fleet: FleetName): Promise<void> {
  for (;;) {
    const there = await store.get(FLEET_KEY);
    if (there !== undefined) {
      if (Buffer.from(there.value).toString('utf8') === fleet) return;
      throw new Error(
        `the store is that of another fleet than ${fleet}: give each fleet a prefix (store.redis.prefix) or a database of its own`,
      );
    }
    const write = { key: FLEET_KEY, value: Buffer.from(fleet), ifVersion: null };
    if ((await store.write([write])) === 'written') return;
  }
}
