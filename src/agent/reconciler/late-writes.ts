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
  readonly record: InventoryRecord;
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
  let cancel = clock.schedule(UNDER_WAY_MS, () => {
    earlier = undefined;
    cancel = clock.schedule(SEEN_MS, () => removed.clear());
  });

  return {
    /** The object was removed, and its record is gone. */
    removed: (fleet: FleetName, record: InventoryRecord): void => {
      if (earlier?.get(record.key)?.nonce === record.nonce) removed.set(record.key, { fleet, record });
    },
    keys: (): Iterable<ObjectKey> => removed.keys(),
    /** The last record of an object that a late write can bring back. */
    record: (key: ObjectKey): InventoryRecord | undefined => removed.get(key)?.record,
    /** Whether a late write has brought the object back. */
    isBack: (live: LiveState, key: ObjectKey): boolean => {
      const last = removed.get(key);
      return last !== undefined && live.objects.get(key)?.stamp?.nonce === last.record.nonce;
    },
    /** Removes the object again. Resolves with whether it is gone. Never rejects. */
    remove: async (key: ObjectKey): Promise<boolean> => {
      const last = removed.get(key);
      if (last === undefined) return true;
      const object = displayKey(key);
      log.info('an earlier agent has brought back a removed object, which is removed again', { object });
      try {
        const { type } = await cluster.remove({ key, fleet: last.fleet, nonce: last.record.nonce });
        if (type !== 'gone') log.warn('an object that is live again is still there', { object, type });
        return type === 'gone';
      } catch (error) {
        log.error('an object that is live again could not be removed', { object, error });
        return false;
      }
    },
    stop: (): void => cancel(),
  };
}
