import type { FleetName } from '../../model/ids.ts';
import { displayKey, type ObjectKey } from '../../model/object-key.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ClusterApi, InventoryRecord, LiveState } from '../../ports/cluster-api.ts';
import type { Log } from '../../ports/log.ts';

/** An API server ends each request within a minute, and a watch tells of it soon after. */
const KEPT_MS = 120_000;

interface Removed {
  readonly fleet: FleetName;
  readonly nonce: string;
  readonly at: number;
}

/**
 * Removes what a late write brings back: a request of an agent that has ended, or one that was given up, can reach the API server
 * after the next agent has removed the object. Its stamp has the nonce of the removed record.
 */
export function createLateWrites({
  cluster,
  clock,
  log,
}: {
  readonly cluster: ClusterApi;
  readonly clock: Clock;
  readonly log: Log;
}) {
  /** In the order of their removal. */
  const removed = new Map<ObjectKey, Removed>();
  const working = new Set<ObjectKey>();
  let cancel: (() => void) | undefined;

  const dropOld = (): void => {
    cancel = undefined;
    const now = clock.monotonic();
    for (const [key, { at }] of removed) {
      if (at + KEPT_MS > now) {
        cancel = clock.schedule(at + KEPT_MS - now, dropOld);
        return;
      }
      removed.delete(key);
    }
  };
  const remove = async (key: ObjectKey, { fleet, nonce }: Removed): Promise<void> => {
    const object = displayKey(key);
    log.info('a removed object is live again, and is removed again', { object });
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
      removed.delete(key);
      removed.set(key, { fleet, nonce, at: clock.monotonic() });
      cancel ??= clock.schedule(KEPT_MS, dropOld);
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
    stop: (): void => cancel?.(),
  };
}
