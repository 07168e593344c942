import { isStatusKey, type ObjectKey } from '../../model/objects/object-key.ts';
import type { JsonObject } from '../../model/text/json.ts';
import type { StoredObject } from '../../ports/agent-disk.ts';
import type { InventoryRecord, LiveState, ObservedObject } from '../../ports/cluster-api.ts';
import { createFoundDrift, type FoundDriftDeps } from './found-drift.ts';
import { contentOf, fleetOf, type Inventory } from './inventory.ts';
import { OwnedRequest } from './object-step.ts';
import type { WorkQueue } from './work-queue.ts';

/** The declared value; undefined: the disk cannot read it any more, which the work on the object finds out. */
function readable(content: Pick<StoredObject, 'value'>): JsonObject | undefined {
  try {
    return content.value;
  } catch {
    return undefined;
  }
}

interface DriftDeps extends FoundDriftDeps {
  readonly queue: Pick<WorkQueue, 'isWaiting'>;
}

/** Nothing differs as far as it is known. */
const UNKNOWN = { fields: [], managers: [] };

/** Finds live objects that differ from their declared content. Compares each live object once. */
export function createDrift(deps: DriftDeps) {
  const { cluster, results, queue } = deps;
  /** Per key, the live object that last differed: work on it starts once, then the back-off decides. */
  const differing = new Map<ObjectKey, ObservedObject | undefined>();
  /** Per key, the live object and the record that last matched. */
  const matching = new Map<ObjectKey, { readonly observed: ObservedObject; readonly record: InventoryRecord }>();
  const found = createFoundDrift(deps);
  const { left, putBack } = found;

  return {
    needsWork,
    /** An apply has found drift that is only reported. */
    left: found.noteLeft,
    /** An apply has found or made the object as declared. */
    applied: putBack.applied,
    /** The objects whose drift was left, and is put back from now on: settings or Placements have changed. */
    returned: (inventory: Inventory): readonly ObjectKey[] => found.returned(inventory.records),
    forget(key: ObjectKey): void {
      differing.delete(key);
      matching.delete(key);
      found.forget(key);
    },
    /** Objects that were put back since the start. */
    counts: putBack.counts,
    /** Objects whose drift is left now. */
    leftCounts: left.counts,
  };

  /** Whether the live object differs, and no work has started for this difference. */
  function needsWork(inventory: Inventory, live: LiveState, key: ObjectKey): boolean {
    const record = inventory.records.get(key);
    const content = contentOf(inventory, key);
    const fleet = fleetOf(inventory);
    if (record === undefined || content === undefined || fleet === undefined) return false;
    const isStatus = isStatusKey(key);
    const observed = isStatus ? live.statuses?.get(key) : live.objects.get(key);
    const known = matching.get(key);
    if (observed !== undefined && known?.observed === observed && known.record === record) return false;
    const request = new OwnedRequest(fleet, record, content);
    if (observed !== undefined && cluster.matches(request, observed)) {
      matching.set(key, { observed, record });
      differing.delete(key);
      found.end(key);
      return false;
    }
    if (left.has(record, observed)) return false;
    const isTried = differing.has(key) && differing.get(key) === observed;
    if (isTried && queue.isWaiting(key)) return false;
    const last = results.get(key);
    if (isTried && last !== undefined && last.state !== 'applied' && last.digest === record.digest) return false;
    // A status whose object is gone has not drifted.
    const canDrift = !live.paused && (observed !== undefined || !isStatus);
    if (canDrift && last?.state === 'applied' && last.digest === record.digest) {
      // A content that the disk cannot read is not applied.
      const value = readable(content);
      const differences =
        observed === undefined || value === undefined ? UNKNOWN : cluster.differences(request, observed);
      if (value !== undefined && found.take(value, record, { last, observed, differences })) return false;
    }
    differing.set(key, observed);
    return true;
  }
}
