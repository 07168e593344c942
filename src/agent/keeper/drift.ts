import { displayKey, type ObjectKey } from '../../model/object-key.ts';
import type { ClusterApi, InventoryRecord, LiveState, ObservedObject } from '../../ports/cluster-api.ts';
import type { Log } from '../../ports/log.ts';
import type { ResultBook } from '../result-book.ts';
import { contentOf, fleetOf, type Holding } from './holding.ts';
import { applyRequest } from './reconcile.ts';
import type { WorkQueue } from './work-queue.ts';

/** Finds live objects that differ from what is declared. Remembers what it has looked at, so that each is judged once. */
export interface Drift {
  /** Does it differ in a way that no work has been begun for? */
  isWanting(holding: Holding, live: LiveState, key: ObjectKey): boolean;
  forget(key: ObjectKey): void;
  /** How often something was found that others had changed or removed, since the start. */
  putBack(): DriftCounts;
}

/** By what others had done. */
export type DriftCounts = Readonly<Record<'changed' | 'removed', number>>;

export function createDrift(deps: {
  readonly cluster: ClusterApi;
  readonly results: ResultBook;
  readonly queue: Pick<WorkQueue, 'isWaiting'>;
  readonly log: Log;
}): Drift {
  const { cluster, results, queue, log } = deps;
  /** Per object, the live state that a look last found wanting: tried once, then left to the back-off. */
  const seenWanting = new Map<ObjectKey, ObservedObject | undefined>();
  /** Per object, what was last found to match. */
  const seenMatching = new Map<ObjectKey, { readonly observed: ObservedObject; readonly record: InventoryRecord }>();
  const counts = { changed: 0, removed: 0 };

  return {
    isWanting,
    forget(key) {
      seenWanting.delete(key);
      seenMatching.delete(key);
    },
    putBack: () => ({ ...counts }),
  };

  function isWanting(holding: Holding, live: LiveState, key: ObjectKey): boolean {
    const record = holding.records.get(key);
    const content = contentOf(holding, key);
    const fleet = fleetOf(holding);
    if (record === undefined || content === undefined || fleet === undefined) return false;
    const observed = live.objects.get(key);
    const known = seenMatching.get(key);
    if (observed !== undefined && known?.observed === observed && known.record === record) return false;
    if (observed !== undefined && cluster.matches(applyRequest(fleet, record, content), observed)) {
      seenMatching.set(key, { observed, record });
      seenWanting.delete(key);
      return false;
    }
    const tried = seenWanting.has(key) && seenWanting.get(key) === observed;
    if (tried && queue.isWaiting(key)) return false;
    const last = results.get(key);
    if (tried && last !== undefined && last.state !== 'applied' && last.digest === record.digest) return false;
    seenWanting.set(key, observed);
    if (last?.state === 'applied' && last.digest === record.digest && !live.paused) {
      const drift = observed === undefined ? 'removed' : 'changed';
      counts[drift] += 1;
      log.info('drift is put back', { object: displayKey(key), drift });
    }
    return true;
  }
}
