import type { AgentSettings } from '../../model/agent-settings.ts';
import { MOST_DRIFT_FIELDS, toldFields } from '../../model/drift.ts';
import { type JsonObject, jsonEquals } from '../../model/json.ts';
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

/** Objects that were put back, by what another actor had done to them. */
export type DriftCounts = Readonly<Record<'changed' | 'removed', number>>;

/** An annotation of a manifest. It overrides the policy's `drift.mode` for this object. */
const DRIFT = 'fleetrelay.dev/drift';

/** Whether drift of a declared object is only reported. The annotation may be written as the policy writes it (`Report`). */
export function leavesDrift(value: JsonObject, { driftMode }: AgentSettings): boolean {
  const declared = annotationOf(value, DRIFT)?.toLowerCase();
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

/** A live object that differed, the record that it was compared with, and what was found. */
interface Compared {
  readonly observed: ObservedObject | undefined;
  readonly record: InventoryRecord;
  readonly drift: keyof DriftCounts;
  /** As they are told to people. */
  readonly fields: readonly string[];
}

function compared(record: InventoryRecord, observed: ObservedObject | undefined, fields: readonly string[]): Compared {
  const drift = observed === undefined ? 'removed' : 'changed';
  return { observed, record, drift, fields: toldFields(record.key, fields) };
}

/** Whether both are the same drift: the object may differ in what is not declared, such as its status. */
function isSameDrift(a: Compared, b: Compared): boolean {
  return a.record.digest === b.record.digest && a.drift === b.drift && jsonEquals([...a.fields], [...b.fields]);
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
function createLeftDrift({ cluster, drifts, log, settings }: DriftDeps) {
  const left = new Map<ObjectKey, Compared>();
  return {
    has(record: InventoryRecord, observed: ObservedObject | undefined): boolean {
      const before = left.get(record.key);
      return before !== undefined && before.observed === observed && before.record === record;
    },
    note(record: InventoryRecord, observed: ObservedObject | undefined, found: readonly string[]): void {
      const { key } = record;
      const before = left.get(key);
      const now = compared(record, observed, found);
      left.set(key, now);
      if (before !== undefined && (before.observed === observed || isSameDrift(before, now))) return;
      const { drift, fields } = now;
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

/** Drift that is being put back, by object: it is told when the object was written, and not before. */
function createPutBackDrift({ cluster, drifts, log }: DriftDeps) {
  const found = new Map<ObjectKey, Compared>();
  const counts = { changed: 0, removed: 0 };
  return {
    counts: (): DriftCounts => ({ ...counts }),
    found(now: Compared): void {
      found.set(now.record.key, now);
    },
    /**
     * The object is as declared. Drift is put back if the object was written for that, and with the content that it was
     * compared with.
     */
    applied({ key, digest }: InventoryRecord, isWritten: boolean): void {
      const before = found.get(key);
      found.delete(key);
      if (!isWritten || before === undefined || before.record.digest !== digest) return;
      const { drift, fields, observed } = before;
      counts[drift] += 1;
      drifts.note(key, { drift, fields, outcome: 'putBack' });
      tell(cluster, key, observed, 'DriftCorrected', `others have changed ${namesOf(fields)}: it was put back`);
      log.info('drift is corrected', { object: displayKey(key), drift, fields });
    },
    /** The object is as declared without a write, or its drift is left. */
    end(key: ObjectKey): void {
      found.delete(key);
    },
  };
}

/** Drift of applied objects, which is left or put back. */
function createFoundDrift(deps: DriftDeps) {
  const left = createLeftDrift(deps);
  const putBack = createPutBackDrift(deps);
  return {
    left,
    putBack,
    /** Whether the drift is only reported, by the declared value; it is told then, and else when it was put back. */
    isLeft(
      value: JsonObject,
      record: InventoryRecord,
      observed: ObservedObject | undefined,
      fields: readonly string[],
    ): boolean {
      const isLeft = leavesDrift(value, deps.settings());
      putBack.end(record.key);
      if (isLeft) left.note(record, observed, fields);
      else putBack.found(compared(record, observed, fields));
      return isLeft;
    },
    /** The object is as declared without a write, or is not owned any more. */
    end(key: ObjectKey): void {
      left.end(key);
      putBack.end(key);
    },
  };
}

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
    left: left.note,
    /** An apply has found or made the object as declared, or has left its drift. */
    applied: putBack.applied,
    toPutBack: left.toPutBack,
    forget(key: ObjectKey): void {
      differing.delete(key);
      matching.delete(key);
      found.end(key);
    },
    /** Objects that were put back since the start. */
    counts: putBack.counts,
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
      found.end(key);
      return false;
    }
    if (left.has(record, observed)) return false;
    const isTried = differing.has(key) && differing.get(key) === observed;
    if (isTried && queue.isWaiting(key)) return false;
    const last = results.get(key);
    if (isTried && last !== undefined && last.state !== 'applied' && last.digest === record.digest) return false;
    if (last?.state === 'applied' && last.digest === record.digest && !live.paused) {
      // A content that the disk cannot read is not applied.
      const value = readable(content);
      const fields = observed === undefined || value === undefined ? [] : cluster.differences(request, observed);
      if (value !== undefined && found.isLeft(value, record, observed, fields)) return false;
    }
    differing.set(key, observed);
    return true;
  }
}
