import { displayKey, type ObjectKey } from '../../model/object-key.ts';
import type { ClusterApi, InventoryRecord, LiveState, ObservedObject } from '../../ports/cluster-api.ts';
import type { Log } from '../../ports/log.ts';
import type { ResultBook } from '../result-book.ts';
import { contentOf, fleetOf, type Inventory } from './inventory.ts';
import { OwnedRequest } from './object-step.ts';
import type { WorkQueue } from './work-queue.ts';

/** Applied objects that another actor has changed or removed. */
export type DriftCounts = Readonly<Record<'changed' | 'removed', number>>;

/** Finds live objects that differ from their declared content. Compares each live object once. */
export function createDrift(deps: {
  readonly cluster: ClusterApi;
  readonly results: ResultBook;
  readonly queue: Pick<WorkQueue, 'isWaiting'>;
  readonly log: Log;
}) {
  const { cluster, results, queue, log } = deps;
  /** Per key, the live object that last differed: work on it starts once, then the back-off decides. */
  const differing = new Map<ObjectKey, ObservedObject | undefined>();
  /** Per key, the live object and the record that last matched. */
  const matching = new Map<ObjectKey, { readonly observed: ObservedObject; readonly record: InventoryRecord }>();
  const counts = { changed: 0, removed: 0 };

  return {
    needsWork,
    forget(key: ObjectKey): void {
      differing.delete(key);
      matching.delete(key);
    },
    /** Drift that was found in applied objects since the start. */
    counts: (): DriftCounts => ({ ...counts }),
  };

  /** Whether the live object differs, and no work has started for this difference. */
  function needsWork(inventory: Inventory, live: LiveState, key: ObjectKey): boolean {
    const record = inventory.records.get(key);
    const content = contentOf(inventory, key);
    const fleet = fleetOf(inventory);
    if (record === undefined || content === undefined || fleet === undefined) return false;
    const observed = live.objects.get(key);
    const known = matching.get(key);
    if (observed !== undefined && known?.observed === observed && known.record === record) return false;
    if (observed !== undefined && cluster.matches(new OwnedRequest(fleet, record, content), observed)) {
      matching.set(key, { observed, record });
      differing.delete(key);
      return false;
    }
    const isTried = differing.has(key) && differing.get(key) === observed;
    if (isTried && queue.isWaiting(key)) return false;
    const last = results.get(key);
    if (isTried && last !== undefined && last.state !== 'applied' && last.digest === record.digest) return false;
    differing.set(key, observed);
    if (last?.state === 'applied' && last.digest === record.digest && !live.paused) {
      const drift = observed === undefined ? 'removed' : 'changed';
      counts[drift] += 1;
      log.info('drift is corrected', { object: displayKey(key), drift });
    }
    return true;
  }
}
