import type { AgentSettings } from '../../model/agent-settings.ts';
import { MOST_DRIFT_FIELDS } from '../../model/drift.ts';
import type { JsonObject } from '../../model/json.ts';
import { firstNames } from '../../model/messages.ts';
import { annotationOf, displayKey, type ObjectKey } from '../../model/object-key.ts';
import type { StoredObject } from '../../ports/agent-disk.ts';
import type { ClusterApi, InventoryRecord, LiveState, ObservedObject } from '../../ports/cluster-api.ts';
import type { Log } from '../../ports/log.ts';
import type { ResultBook } from '../result-book.ts';
import type { DriftBook } from './drift-book.ts';
import { contentOf, fleetOf, type Inventory } from './inventory.ts';
import { OwnedRequest } from './object-step.ts';
import type { WorkQueue } from './work-queue.ts';

/** Applied objects that another actor has changed or removed. */
export type DriftCounts = Readonly<Record<'changed' | 'removed', number>>;

/** On a manifest: whether drift of the object is put back, whatever the policy says. */
const DRIFT = 'fleetrelay.dev/drift';

/** Whether drift of a declared object is only reported. */
export function leavesDrift(value: JsonObject, { driftMode }: AgentSettings): boolean {
  const declared = annotationOf(value, DRIFT);
  return declared === 'report' || (declared !== 'repair' && driftMode === 'Report');
}

/** The declared value; undefined: the disk cannot read it any more, which the work on the object finds out. */
function readable(content: Pick<StoredObject, 'value'>): JsonObject | undefined {
  try {
    return content.value;
  } catch {
    return undefined;
  }
}

function namesOf(fields: readonly string[]): string {
  return fields.length === 0 ? 'it' : firstNames(fields, MOST_DRIFT_FIELDS);
}

/** A live object that differed, and the record that it was compared with. */
interface Compared {
  readonly observed: ObservedObject | undefined;
  readonly record: InventoryRecord;
}

/** An object that was removed has no Events. */
function tell(
  cluster: ClusterApi,
  key: ObjectKey,
  observed: ObservedObject | undefined,
  reason: 'DriftCorrected' | 'DriftReported',
  message: string,
): void {
  if (observed !== undefined) void cluster.tell?.(key, { type: 'Normal', reason, message });
}

interface DriftDeps {
  readonly cluster: ClusterApi;
  readonly results: ResultBook;
  readonly queue: Pick<WorkQueue, 'isWaiting'>;
  readonly log: Log;
  readonly drifts: Pick<DriftBook, 'note' | 'end'>;
  readonly settings: () => AgentSettings;
}

/** Drift that is only reported, by object. */
function createLeftDrift({ cluster, drifts, log, settings }: DriftDeps, counts: Record<keyof DriftCounts, number>) {
  const left = new Map<ObjectKey, Compared>();
  return {
    has(record: InventoryRecord, observed: ObservedObject | undefined): boolean {
      const before = left.get(record.key);
      return before !== undefined && before.observed === observed && before.record === record;
    },
    note(record: InventoryRecord, observed: ObservedObject | undefined, fields: readonly string[]): void {
      const { key } = record;
      const before = left.get(key);
      left.set(key, { observed, record });
      if (before !== undefined && before.observed === observed) return;
      const drift = observed === undefined ? 'removed' : 'changed';
      counts[drift] += 1;
      drifts.note(key, { drift, fields, outcome: 'left' });
      const message = `others have changed ${namesOf(fields)}: it is left, since drift is only reported`;
      tell(cluster, key, observed, 'DriftReported', message);
      log.info('drift is reported, and left', { object: displayKey(key), drift, fields });
    },
    /** The object is as declared again, or is not owned any more. */
    end(key: ObjectKey): void {
      if (left.delete(key)) drifts.end(key);
    },
    /** The objects whose drift is only reported, and is to be put back under the settings of now. */
    toPutBack: (inventory: Inventory): readonly ObjectKey[] =>
      [...left.keys()].filter((key) => {
        const content = contentOf(inventory, key);
        const value = content && readable(content);
        return value !== undefined && !leavesDrift(value, settings());
      }),
  };
}

/** Finds live objects that differ from their declared content. Compares each live object once. */
export function createDrift(deps: DriftDeps) {
  const { cluster, results, queue, log, drifts } = deps;
  /** Per key, the live object that last differed: work on it starts once, then the back-off decides. */
  const differing = new Map<ObjectKey, ObservedObject | undefined>();
  /** Per key, the live object and the record that last matched. */
  const matching = new Map<ObjectKey, { readonly observed: ObservedObject; readonly record: InventoryRecord }>();
  const counts = { changed: 0, removed: 0 };
  const left = createLeftDrift(deps, counts);

  return {
    needsWork,
    /** An apply has found drift that is only reported. */
    left: left.note,
    toPutBack: left.toPutBack,
    forget(key: ObjectKey): void {
      differing.delete(key);
      matching.delete(key);
      left.end(key);
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
    const request = new OwnedRequest(fleet, record, content);
    if (observed !== undefined && cluster.matches(request, observed)) {
      matching.set(key, { observed, record });
      differing.delete(key);
      left.end(key);
      return false;
    }
    if (left.has(record, observed)) return false;
    const isTried = differing.has(key) && differing.get(key) === observed;
    if (isTried && queue.isWaiting(key)) return false;
    const last = results.get(key);
    if (isTried && last !== undefined && last.state !== 'applied' && last.digest === record.digest) return false;
    if (last?.state === 'applied' && last.digest === record.digest && !live.paused) {
      const value = readable(content);
      const fields = observed === undefined || value === undefined ? [] : cluster.differences(request, observed);
      if (value !== undefined && leavesDrift(value, deps.settings())) {
        left.note(record, observed, fields);
        return false;
      }
      const drift = observed === undefined ? 'removed' : 'changed';
      counts[drift] += 1;
      drifts.note(key, { drift, fields, outcome: 'putBack' });
      tell(cluster, key, observed, 'DriftCorrected', `others have changed ${namesOf(fields)}: it is put back`);
      log.info('drift is corrected', { object: displayKey(key), drift, fields });
    }
    differing.set(key, observed);
    return true;
  }
}
