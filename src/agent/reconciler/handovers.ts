import type { ObjectResult } from '../../model/agent.ts';
import { REMOVED_AFTER, UPDATED_AFTER } from '../../model/apply-order.ts';
import type { JsonObject } from '../../model/json.ts';
import { annotationOf, displayKey, type ObjectKey, objectKey, objectRefOf } from '../../model/object-key.ts';
import type { ApplyRequest, ClusterApi, InventoryRecord, LiveState, ObservedObject } from '../../ports/cluster-api.ts';
import type { ResultBook } from '../result-book.ts';
import type { Inventory } from './inventory.ts';

type Phase = InventoryRecord['phase'];

/** Reason of a result: another object must be applied first. */
export const WAITS_FOR_OTHER = 'WaitsForOther';

/** Whether an object waits for another one. `untold`: the other one has no result yet, and its result wakes this one. */
export type Wait = 'none' | 'untold' | { readonly message: string };

interface HandoverDeps {
  readonly cluster: Pick<ClusterApi, 'matches'>;
  readonly results: Pick<ResultBook, 'get'>;
}

/**
 * Objects that give a part of their content to others: each stays as it is until those have it, so that a part whose new object is
 * refused is not lost.
 */
export function createHandovers({ cluster, results }: HandoverDeps) {
  const waitsFor = new Map<ObjectKey, ObjectKey>();
  const waiters = new Map<ObjectKey, Set<ObjectKey>>();
  return { waitOf, takeWaiters, forget };

  /** Whether the object of this request waits, to be applied or removed. Notes what it waits for. */
  function waitOf({ records }: Inventory, live: LiveState | undefined, phase: Phase, request: ApplyRequest): Wait {
    const { key } = request;
    forget(key);
    const other = othersOf(phase, request).find(
      (each) =>
        isAwaited(phase, records.get(each), results.get(each)) && !hasItsPart(phase, live?.objects.get(each), key),
    );
    if (other === undefined) return 'none';
    const observed = live?.objects.get(key);
    // An object that does not exist has nothing to lose.
    if (observed === undefined || (phase === 'held' && cluster.matches(request, observed))) return 'none';
    waitsFor.set(key, other);
    waiters.set(other, (waiters.get(other) ?? new Set()).add(key));
    const why = whyNotApplied(other, records.get(other));
    if (why === undefined) return 'untold';
    return { message: `it stays as it is until ${displayKey(other)} is applied, which gets a part of it: ${why}` };
  }

  /** Undefined: it has no result for its content yet. */
  function whyNotApplied(key: ObjectKey, record: InventoryRecord | undefined): string | undefined {
    if (record === undefined) return 'it is not in the inventory';
    if (record.phase === 'removing') return 'it is being removed';
    // Its own message could name this object in turn.
    if (waitsFor.has(key)) return 'it waits for another object itself';
    const result = results.get(key);
    return result?.digest === record.digest ? result.message : undefined;
  }

  /** The objects that wait for this one, which is applied, refused, new in the inventory or gone. They wait no longer. */
  function takeWaiters(key: ObjectKey): readonly ObjectKey[] {
    const keys = [...(waiters.get(key) ?? [])];
    for (const each of keys) forget(each);
    return keys;
  }

  /** This object waits for none. */
  function forget(key: ObjectKey): void {
    const other = waitsFor.get(key);
    if (other === undefined) return;
    waitsFor.delete(key);
    waiters.get(other)?.delete(key);
    if (waiters.get(other)?.size === 0) waiters.delete(other);
  }
}

function isAwaited(phase: Phase, other: InventoryRecord | undefined, result: ObjectResult | undefined): boolean {
  if (other?.phase === 'held') return result?.state !== 'applied' || result.digest !== other.digest;
  // What is not to be there any more gets nothing back.
  return phase === 'held';
}

/**
 * Whether the other live object has its part already: it names this object as the one that the part would go back to. So this one is kept
 * up to date while a later change of the other is refused.
 */
function hasItsPart(phase: Phase, other: ObservedObject | undefined, key: ObjectKey): boolean {
  if (phase === 'removing' || other === undefined || other.stale === true) return false;
  return namesIn(other.value, REMOVED_AFTER).includes(objectRefOf(key).name);
}

/** The objects that its content names, all of its kind and in its namespace. */
function othersOf(phase: Phase, { key, value }: ApplyRequest): readonly ObjectKey[] {
  const names = namesIn(value, phase === 'held' ? UPDATED_AFTER : REMOVED_AFTER);
  return names.map((name) => objectKey({ ...objectRefOf(key), name }));
}

function namesIn(value: JsonObject, annotation: string): readonly string[] {
  const text = annotationOf(value, annotation);
  return text === '' ? [] : text.split(',');
}
