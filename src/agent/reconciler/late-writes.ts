import type { FleetName } from '../../model/fleet/ids.ts';
import { displayKey, type ObjectKey } from '../../model/objects/object-key.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ClusterApi, InventoryRecord, LiveState } from '../../ports/cluster-api.ts';
import type { Log } from '../../ports/log.ts';

/** An API server ends each request within a minute. */
const UNDER_WAY_MS = 60_000;
/** A list or a watch tells of an object within this time. */
const SEEN_MS = 60_000;

interface Removed {
  readonly fleet: FleetName;
  readonly nonce: string;
}

/**
 * Removes what an earlier agent brings back: a request that was under way when it ended can reach the API server after this agent has
 * removed the object. The object then bears the nonce of the removed record. Only what was removed within a minute of the start, and
 * of which the inventory had the record at the start, is removed again: later, people may restore what fleetrelay has removed.
 */
export function createLateWrites({
  cluster,
  clock,
  log,
  recovered,
}: {
  readonly cluster: ClusterApi;
  readonly clock: Clock;
  readonly log: Log;
  /** The records of the inventory at the start. */
  readonly recovered: ReadonlyMap<ObjectKey, Pick<InventoryRecord, 'nonce'>>;
}) {
  let earlier: typeof recovered | undefined = recovered;
  const removed = new Map<ObjectKey, Removed>();
  const working = new Set<ObjectKey>();
  let cancel = clock.schedule(UNDER_WAY_MS, () => {
    earlier = undefined;
    cancel = clock.schedule(SEEN_MS, () => removed.clear());
  });

  const remove = async (key: ObjectKey, { fleet, nonce }: Removed): Promise<void> => {
    const object = displayKey(key);
    log.info('an earlier agent has brought back a removed object, which is removed again', { object });
    try {
      const { type } = await cluster.remove({ key, fleet, nonce });
      if (type !== 'gone') log.warn('an object that is live again is still there', { object, type });
    } catch (error) {
      log.error('an object that is live again could not be removed', { object, error });
    }
    working.delete(key);
  };

  return {
    /** The object was removed, and its record is gone. */
    removed: (fleet: FleetName, { key, nonce }: InventoryRecord): void => {
      if (earlier?.get(key)?.nonce === nonce) removed.set(key, { fleet, nonce });
    },
    /** Removes the object again if a late write has brought it back. True: it is to be compared with the next state too. */
    observe: (live: LiveState, key: ObjectKey): boolean => {
      const last = removed.get(key);
      if (last === undefined || live.objects.get(key)?.stamp?.nonce !== last.nonce) return false;
      if (working.has(key)) return true;
      working.add(key);
      void remove(key, last);
      return true;
    },
    keys: (): Iterable<ObjectKey> => removed.keys(),
    stop: (): void => cancel(),
  };
}
