import type { FleetName } from '../../model/fleet/ids.ts';
import type { Log } from '../../ports/log.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';

/** The record that names the fleet of a shared store. */
const FLEET_KEY = 'fleet';

/**
 * Writes the name of the fleet to a shared store, also after each loss, until the returned function is called. Rejects with
 * advice if the store belongs to another fleet: two fleets in one store would deregister each other's clusters.
 */
export async function keepFleetMark(
  { store, log }: { readonly store: SnapshotStore; readonly log: Log },
  fleet: FleetName,
): Promise<() => void> {
  await mark(store, fleet);
  return store.watch((event) => {
    if (event.type !== 'lost') return;
    mark(store, fleet).catch((error: unknown) =>
      log.error('the name of the fleet cannot be written to the store', { error }),
    );
  });
}

async function mark(store: SnapshotStore, fleet: FleetName): Promise<void> {
  for (;;) {
    const found = await store.get(FLEET_KEY);
    if (found !== undefined) {
      if (Buffer.from(found.value).toString('utf8') === fleet) return;
      throw new Error(
        `the store belongs to another fleet than ${fleet}: give each fleet a prefix (store.redis.prefix) or a database of its own`,
      );
    }
    const write = { key: FLEET_KEY, value: Buffer.from(fleet), ifVersion: null };
    if ((await store.write([write])) === 'written') return;
  }
}
