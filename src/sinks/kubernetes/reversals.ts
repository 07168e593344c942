import { backOffMs } from '../../model/limits/back-off.ts';
import type { ObjectKey } from '../../model/objects/object-key.ts';
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../../model/text/json.ts';

interface Written {
  readonly uid: string;
  readonly text: string;
  /** When the same status was written again; monotonic milliseconds. */
  readonly again: readonly number[];
}

/** Reversals by a person or by a controller with outdated data, which end by themselves. */
const ALLOWED = 3;
const WITHIN_MS = 10 * 60_000;
const FIRST_WAIT_MS = 15_000;
const LONGEST_WAIT_MS = 5 * 60_000;

export type Reversals = ReturnType<typeof createReversals>;

/**
 * Notices another writer that keeps reversing our status.
 *
 * @param now monotonic milliseconds
 */
export function createReversals(now: () => number) {
  const last = new Map<ObjectKey, Written>();
  /** The times at which this status was written again lately; undefined: it is not the status written last. */
  function againOf(key: ObjectKey, uid: string, text: string): readonly number[] | undefined {
    const before = last.get(key);
    return before?.uid === uid && before.text === text
      ? before.again.filter((at) => now() - at < WITHIN_MS)
      : undefined;
  }
  return {
    /** Takes a status that was written because the object had another one. */
    written(key: ObjectKey, uid: string, status: JsonObject): void {
      const text = textWithoutTimes(status);
      const before = againOf(key, uid, text);
      last.set(key, { uid, text, again: before === undefined ? [] : [...before, now()] });
    },
    /** Milliseconds to wait before this status is written; 0 unless it was written and reversed several times lately. */
    waitFor(key: ObjectKey, uid: string, status: JsonObject): number {
      const excess = (againOf(key, uid, textWithoutTimes(status))?.length ?? 0) - ALLOWED;
      return excess < 0 ? 0 : backOffMs(excess, FIRST_WAIT_MS, LONGEST_WAIT_MS);
    },
    forget: (key: ObjectKey): void => void last.delete(key),
  };
}

/** Each write gives conditions new times, in every list of conditions. */
function textWithoutTimes(status: JsonObject): string {
  return canonicalJson(
    Object.fromEntries(Object.entries(status).map(([field, value]) => [field, withoutTimes(value)])),
  );
}

function withoutTimes(value: JsonValue | undefined): JsonValue | undefined {
  if (!Array.isArray(value)) return value;
  return value.map((item) => {
    if (!isJsonObject(item)) return item;
    const { lastTransitionTime: _since, lastUpdateTime: _updated, ...condition } = item;
    return condition;
  });
}
