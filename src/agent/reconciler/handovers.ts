import { REMOVED_AFTER, UPDATED_AFTER } from '../../model/objects/apply-order.ts';
import { annotationOf, displayKey, type ObjectKey, objectKey, objectRefOf } from '../../model/objects/object-key.ts';
import type { JsonObject } from '../../model/text/json.ts';
import type { ApplyRequest, ClusterApi, InventoryRecord, LiveState, ObservedObject } from '../../ports/cluster-api.ts';
import type { ResultBook } from '../result-book.ts';
import type { Inventory } from './inventory.ts';

/** Reason of a result: another object must be applied first. */
export const WAITS_FOR_OTHER = 'WaitsForOther';

/** Whether an object waits for another one. `untold`: the other one has no result yet, and its result wakes this one. */
export type Wait = 'none' | 'untold' | Why;

/** Why the other one is not applied, and the reason of its result; absent: no result says it. */
interface Why {
  readonly message: string;
  readonly reason?: string;
}

interface HandoverDeps {
  readonly cluster: Pick<ClusterApi, 'matches'>;
  readonly results: Pick<ResultBook, 'get'>;
  readonly inventory: () => Inventory;
  /** Undefined: the cluster was not read yet. */
  readonly live: () => LiveState | undefined;
}

export type Handovers = ReturnType<typeof createHandovers>;

/**
 * Objects that give a part of their content to other objects. Each stays as it is until the others have the part, so that nothing is
 * lost if another object is refused. An object that does not exist has nothing to lose.
 */
export function createHandovers({ cluster, results, inventory, live }: HandoverDeps) {
  const waitsFor = new Map<ObjectKey, ObjectKey>();
  const waiters = new Map<ObjectKey, Set<ObjectKey>>();
  return { waitToApply, waitToRemove, waitFor, takeWaiters, forget };

  /** Notes what the object waits for before it is applied. */
  function waitToApply(request: ApplyRequest): Wait {
    const { key, value } = request;
    forget(key);
    const names = namesIn(value, UPDATED_AFTER);
    if (names.length === 0) return 'none';
    const others = othersOf(key, names).filter((each) => !isApplied(each));
    const observed = live()?.objects.get(key);
    if (others.length === 0 || observed === undefined) return 'none';
    const given = givenBy(observed);
    const other = others.find((each) => !given.includes(each) && !hasItsPart(live()?.objects.get(each), key));
    return other === undefined || cluster.matches(request, observed) ? 'none' : waitFor(key, other);
  }

  /**
   * Notes what the object waits for before it is removed: the live object says what it still has, also if it was declared without it
   * since, or its declared content is lost.
   */
  function waitToRemove(key: ObjectKey, declared: JsonObject | undefined): Wait {
    forget(key);
    const observed = live()?.objects.get(key);
    if (observed === undefined) return 'none';
    const names = [observed.value, declared ?? {}].flatMap((value) => namesIn(value, REMOVED_AFTER));
    // What is not to be there any more gets nothing back.
    const other = othersOf(key, names).find(
      (each) => inventory().records.get(each)?.phase === 'held' && !isApplied(each),
    );
    return other === undefined ? 'none' : waitFor(key, other);
  }

  /** Whether its content is live. */
  function isApplied(key: ObjectKey): boolean {
    const record = inventory().records.get(key);
    const result = results.get(key);
    return record?.phase === 'held' && result?.state === 'applied' && result.digest === record.digest;
  }

  /** Notes that the object waits for the other one. */
  function waitFor(key: ObjectKey, other: ObjectKey): Wait {
    waitsFor.set(key, other);
    waiters.set(other, (waiters.get(other) ?? new Set()).add(key));
    const why = whyNotApplied(other, inventory().records.get(other));
    if (why === undefined) return 'untold';
    const message = `it stays as it is until ${displayKey(other)} is applied, which gets a part of it: ${why.message}`;
    return { ...why, message };
  }

  /** Undefined: it has no result for its content yet. */
  function whyNotApplied(key: ObjectKey, record: InventoryRecord | undefined): Why | undefined {
    if (record === undefined) return { message: 'it is not in the inventory' };
    if (record.phase === 'removing') return { message: 'it is being removed' };
    // Its own message could name this object in turn.
    if (waitsFor.has(key)) return { message: 'it waits for another object itself' };
    const result = results.get(key);
    return result?.digest === record.digest ? result : undefined;
  }

  /** Ends the wait of all objects that wait for this one, and returns them: it is applied, refused, new in the inventory or gone. */
  function takeWaiters(key: ObjectKey): readonly ObjectKey[] {
    const found = waiters.get(key);
    if (found === undefined) return [];
    const keys = [...found];
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

/**
 * The objects that already have their part of this live object, since it was written with their names after they were applied. It is
 * kept up to date even if they were deleted or are refused now.
 */
function givenBy({ key, value, stale }: ObservedObject): readonly ObjectKey[] {
  return stale === true ? [] : othersOf(key, namesIn(value, UPDATED_AFTER));
}

/** Whether the other live object has got its part: it names this one to give it back to. This one may not name it yet. */
function hasItsPart(other: ObservedObject | undefined, key: ObjectKey): boolean {
  if (other === undefined || other.stale === true) return false;
  return namesIn(other.value, REMOVED_AFTER).includes(objectRefOf(key).name);
}

/** The objects of these names, of its kind and in its namespace. */
function othersOf(key: ObjectKey, names: readonly string[]): readonly ObjectKey[] {
  return names.map((name) => objectKey({ ...objectRefOf(key), name }));
}

function namesIn(value: JsonObject, annotation: string): readonly string[] {
  const text = annotationOf(value, annotation);
  return text === '' ? [] : text.split(',');
}
