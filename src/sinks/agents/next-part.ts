import type { PendingChange } from '../../engine/output/outputs.ts';
import { DELTA_BYTES, type ObjectMeta } from '../../model/fleet/output.ts';
import { creationRank, LAST_RANK } from '../../model/objects/apply-order.ts';
import type { ObjectKey } from '../../model/objects/object-key.ts';
import { type ObjectSize, sizeOf } from '../../model/objects/object-size.ts';
import { compareText, type JsonObject } from '../../model/text/json.ts';
import { DEFAULT_LIMITS, TRANSFER_ELEMENTS } from '../../relay/limits.ts';

/** A change that a cluster waits for. */
export interface Pending {
  readonly key: ObjectKey;
  readonly change: PendingChange;
}

/** What the next delta sends of all that is pending, in key order. */
interface Part {
  readonly changes: readonly Pending[];
  /** The changes that wait for the deltas after it. */
  readonly rest: readonly Pending[];
}

/** What one delta takes at most. Any agent accepts that, with its keeps. */
interface PartLimits extends Pick<ObjectSize, 'bytes' | 'elements'> {
  readonly records: number;
  readonly items: number;
}

/** Bytes of a record beside the texts in it: digests, tags, lengths. */
const RECORD_BYTES = 100;
/** The number of bytes that are measured between two turns of the event loop. */
const TURN_BYTES = 1024 * 1024;

/**
 * Cuts what is pending into deltas of at most `bytes`. An object above that has a delta of its own. Namespaces and CRDs are in
 * the first ones, webhooks in the last ones. All removals are in the last one: so the guards judge and count them together, and
 * what replaces an object is there before the object goes.
 */
export function createCutter(bytes = DELTA_BYTES) {
  const limits: PartLimits = {
    bytes,
    elements: TRANSFER_ELEMENTS / 2,
    records: DEFAULT_LIMITS.transferRecords / 4,
    items: DEFAULT_LIMITS.transferItems / 2,
  };
  /** Clusters share values. */
  const sizes = new WeakMap<JsonObject, ObjectSize>();
  const contentSize = (value: JsonObject): ObjectSize => {
    const known = sizes.get(value);
    if (known !== undefined) return known;
    const size = sizeOf(value);
    sizes.set(value, size);
    return size;
  };
  const changeSize = ({ key, change }: Pending): PartLimits => {
    if (change.type === 'remove') return { bytes: 0, elements: 0, records: 0, items: 0 };
    const meta: ObjectMeta = change.type === 'upsert' ? change.object : change;
    const content = change.type === 'upsert' ? contentSize(change.object.value) : { bytes: 0, elements: 0 };
    const paths = meta.origins.reduce((sum, { source, path }) => sum + source.length + 3 * path.length, 0);
    return {
      bytes: content.bytes + paths + key.length + RECORD_BYTES,
      elements: content.elements,
      records: 1,
      items: meta.origins.length + meta.scope.length,
    };
  };

  return {
    /** Chooses the changes of the next delta; `pending` is in key order. Yields where the event loop may turn. */
    *next(pending: readonly Pending[]): Generator<undefined, Part> {
      if (pending.length <= 1) return { changes: pending, rest: [] };
      const ordered = inSendingOrder(pending);
      let sum: PartLimits = { bytes: 0, elements: 0, records: 0, items: 0 };
      let measured = 0;
      for (const [place, each] of ordered.entries()) {
        const size = changeSize(each);
        sum = plus(sum, size);
        if (place > 0 && isAbove(sum, limits)) {
          const changes = ordered.slice(0, place).sort((a, b) => compareText(a.key, b.key));
          return { changes, rest: ordered.slice(place) };
        }
        measured += size.bytes;
        if (measured < TURN_BYTES) continue;
        measured = 0;
        yield;
      }
      return { changes: pending, rest: [] };
    },
  };
}

/** By rank, and within a rank as before. Removals are after everything else. */
function inSendingOrder(pending: readonly Pending[]): Pending[] {
  const ranks: Pending[][] = [];
  for (const each of pending) {
    const rank = each.change.type === 'remove' ? LAST_RANK + 1 : creationRank(each.key);
    ranks[rank] ??= [];
    ranks[rank].push(each);
  }
  return ranks.flat();
}

function plus(a: PartLimits, b: PartLimits): PartLimits {
  return {
    bytes: a.bytes + b.bytes,
    elements: a.elements + b.elements,
    records: a.records + b.records,
    items: a.items + b.items,
  };
}

function isAbove(size: PartLimits, limits: PartLimits): boolean {
  return (
    size.bytes > limits.bytes ||
    size.elements > limits.elements ||
    size.records > limits.records ||
    size.items > limits.items
  );
}
