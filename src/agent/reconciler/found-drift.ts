import type { ObjectResult } from '../../model/agent/agent.ts';
import type { AgentSettings } from '../../model/agent/agent-settings.ts';
import {
  DRIFT_ANNOTATION,
  DRIFT_MODES,
  type Drift,
  type DriftMode,
  displayDrift,
  short,
  toldFields,
} from '../../model/fleet/drift.ts';
import { annotationOf, displayKey, isStatusKey, type ObjectKey } from '../../model/objects/object-key.ts';
import { type JsonObject, jsonEquals } from '../../model/text/json.ts';
import type { ClusterApi, Differences, InventoryRecord, ObservedObject } from '../../ports/cluster-api.ts';
import type { Log } from '../../ports/log.ts';
import type { ResultBook } from '../result-book.ts';
import type { DriftBook } from './drift-book.ts';

/** Objects by what another actor had done to them. */
export type DriftCounts = Readonly<Record<Drift['drift'], number>>;

/** What a manifest says of drift; it may write it as the policy does (`Report`). */
function declaredMode(value: JsonObject): DriftMode | undefined {
  const written = annotationOf(value, DRIFT_ANNOTATION).toLowerCase();
  return DRIFT_MODES.find((mode) => mode.toLowerCase() === written);
}

type Declared = Pick<InventoryRecord, 'key' | 'driftMode'>;

function leavesBy(
  annotation: DriftMode | undefined,
  { key, driftMode }: Declared,
  { driftMode: policy, driftModeBound }: AgentSettings,
): boolean {
  // No other manager decides what fleetrelay says of an object.
  if (isStatusKey(key)) return false;
  const ofPolicy: DriftMode = policy ?? 'Repair';
  return (driftModeBound === true ? ofPolicy : (annotation ?? driftMode ?? ofPolicy)) === 'Report';
}

/** Whether drift of an object is only reported: its manifest says so, else its Placements, else the policy. */
export function leavesDrift(value: JsonObject, record: Declared, settings: AgentSettings): boolean {
  return leavesBy(declaredMode(value), record, settings);
}

/** Whether drift of an object is only reported, or may be as soon as the server does not bound the mode. */
export function mayLeaveDrift(value: JsonObject, record: Declared, settings: AgentSettings): boolean {
  return (declaredMode(value) === 'Report' && !isStatusKey(record.key)) || leavesDrift(value, record, settings);
}

/** As {@link leavesDrift}, of objects whose manifests say nothing. */
export function usuallyLeavesDrift(record: Declared, settings: AgentSettings): boolean {
  return leavesBy(undefined, record, settings);
}

/** A live object that differed, the record that it was compared with, and what was found. */
export interface Compared {
  readonly observed: ObservedObject | undefined;
  readonly record: InventoryRecord;
  /** What its manifest says of drift. */
  readonly declared: DriftMode | undefined;
  /** As it is told to people. */
  readonly found: Drift;
}

/** What is told of drift. */
export function toldDrift(key: ObjectKey, drift: Drift['drift'], { fields, managers }: Differences): Drift {
  return { drift, fields: toldFields(key, fields), managers: short(managers) };
}

/** Whether both are the same drift: the object may differ in what is not declared, such as its status. */
function isSameDrift(a: Compared, b: Compared): boolean {
  const [one, other] = [a.found, b.found].map(({ drift, fields }) => [drift, [...fields]]);
  return a.record.digest === b.record.digest && jsonEquals(one, other);
}

/** An object that was removed has no Events. */
function tell(
  cluster: ClusterApi,
  { record: { key }, observed }: Compared,
  reason: 'DriftCorrected' | 'DriftReported',
  message: string,
): void {
  if (observed !== undefined) void cluster.tell?.(key, { type: 'Normal', reason, message });
}

export interface FoundDriftDeps {
  readonly cluster: ClusterApi;
  readonly results: ResultBook;
  readonly log: Log;
  readonly drifts: Pick<DriftBook, 'note' | 'putBack' | 'end'>;
  readonly settings: () => AgentSettings;
}

/** Drift that is only reported, by object. */
function createLeftDrift({ cluster, drifts, log, results, settings }: FoundDriftDeps) {
  const left = new Map<ObjectKey, Compared>();
  return {
    counts(): DriftCounts {
      const counts = { changed: 0, removed: 0 };
      for (const { found } of left.values()) counts[found.drift] += 1;
      return counts;
    },
    has(record: InventoryRecord, observed: ObservedObject | undefined): boolean {
      const before = left.get(record.key);
      return before !== undefined && before.observed === observed && before.record === record;
    },
    note(now: Compared): void {
      const { record, observed, found } = now;
      const { key } = record;
      const before = left.get(key);
      left.set(key, now);
      if (before !== undefined && (before.observed === observed || isSameDrift(before, now))) return;
      drifts.note(key, { ...found, outcome: 'left' });
      tell(cluster, now, 'DriftReported', `${displayDrift(found)}: it is left, since drift is only reported`);
      log.info('drift is reported, and left', { object: displayKey(key), ...found });
    },
    /** The object is as declared again. */
    end(key: ObjectKey): void {
      if (!left.delete(key)) return;
      drifts.end(key);
      const last = results.get(key);
      if (last?.drift === undefined) return;
      const { drift: _, ...rest } = last;
      results.note(rest);
    },
    /** The object is not owned any more. */
    forget(key: ObjectKey): void {
      if (left.delete(key)) drifts.end(key);
    },
    /** Takes the drift that is to be put back under the settings and the inventory of now. */
    takeReturned(records: { get(key: ObjectKey): InventoryRecord | undefined }): readonly Compared[] {
      const returned: Compared[] = [];
      for (const [key, compared] of left) {
        const record = records.get(key);
        if (record?.digest !== compared.record.digest || leavesBy(compared.declared, record, settings())) continue;
        left.delete(key);
        returned.push(compared);
      }
      return returned;
    },
  };
}

/** Drift that is being put back, by object: it is told when the object was written, and not before. */
function createPutBackDrift({ cluster, drifts, log }: FoundDriftDeps) {
  const found = new Map<ObjectKey, Compared & { readonly wasLeft?: true }>();
  const counts = { changed: 0, removed: 0 };
  return {
    counts: (): DriftCounts => ({ ...counts }),
    found(now: Compared): void {
      const wasLeft = found.get(now.record.key)?.wasLeft;
      found.set(now.record.key, wasLeft === undefined ? now : { ...now, wasLeft });
    },
    /** Drift that was left before. */
    returned(before: Compared): void {
      found.set(before.record.key, { ...before, wasLeft: true });
    },
    /**
     * The object is as declared. Drift is put back if the object was written for that, and with the content that it was
     * compared with.
     */
    applied({ key, digest }: InventoryRecord, isWritten: boolean): void {
      const before = found.get(key);
      found.delete(key);
      if (before === undefined) return;
      if (!isWritten || before.record.digest !== digest) {
        drifts.end(key);
        return;
      }
      counts[before.found.drift] += 1;
      if (before.wasLeft === true) drifts.putBack(key, before.found);
      else drifts.note(key, { ...before.found, outcome: 'putBack' });
      tell(cluster, before, 'DriftCorrected', `${displayDrift(before.found)}: it was put back`);
      log.info('drift is corrected', { object: displayKey(key), ...before.found });
    },
    /** The object is as declared without a write, or its drift is left. */
    end(key: ObjectKey): void {
      if (found.delete(key)) drifts.end(key);
    },
    forget: (key: ObjectKey): boolean => found.delete(key),
  };
}

/** How the live object differs; undefined: it is gone. `last`: the result of its apply. */
interface SeenDrift {
  readonly last: ObjectResult;
  readonly observed: ObservedObject | undefined;
  readonly differences: Differences;
}

/** Drift of applied objects, which is left or put back. */
export function createFoundDrift(deps: FoundDriftDeps) {
  const { results, settings } = deps;
  const left = createLeftDrift(deps);
  const putBack = createPutBackDrift(deps);
  return {
    left,
    putBack,
    /**
     * Takes drift of an applied object. True: it is only reported, by the declared value; it is told now. Else it is told when it was put
     * back. Not left is a live object that differs in no declared field: an apply finds out whether the stamp is old, or the object is
     * being deleted.
     */
    take(value: JsonObject, record: InventoryRecord, { last, observed, differences }: SeenDrift): boolean {
      const declared = declaredMode(value);
      const found = toldDrift(record.key, observed === undefined ? 'removed' : 'changed', differences);
      const compared: Compared = { observed, record, declared, found };
      if (!leavesBy(declared, record, settings())) {
        putBack.found(compared);
        return false;
      }
      if (observed !== undefined && differences.fields.length === 0) {
        end(record.key);
        return false;
      }
      putBack.forget(record.key);
      left.note(compared);
      const { health, ...rest } = last;
      // An object that was removed has no health.
      results.note({ ...rest, drift: found, ...(health === undefined || observed === undefined ? {} : { health }) });
      return true;
    },
    /** An apply has found drift that is left. */
    noteLeft(value: JsonObject, record: InventoryRecord, observed: ObservedObject | undefined, found: Drift): void {
      putBack.forget(record.key);
      left.note({ observed, record, declared: declaredMode(value), found });
    },
    /** The objects whose drift was left, and is put back from now on. */
    returned(records: { get(key: ObjectKey): InventoryRecord | undefined }): readonly ObjectKey[] {
      const returned = left.takeReturned(records);
      for (const compared of returned) putBack.returned(compared);
      return returned.map(({ record: { key } }) => key);
    },
    end,
    /** The object is not owned any more. */
    forget(key: ObjectKey): void {
      left.forget(key);
      putBack.end(key);
    },
  };

  /** The object is as declared without a write. */
  function end(key: ObjectKey): void {
    left.end(key);
    putBack.end(key);
  }
}
