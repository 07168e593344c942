import { backOffMs } from '../../model/back-off.ts';
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../../model/json.ts';
import type { ObjectKey } from '../../model/object-key.ts';

/** Notices that somebody goes on undoing what is written. */
export interface Reversals {
  written(key: ObjectKey, uid: string, status: JsonObject): void;
  /** Milliseconds to wait before this status is written; 0 unless the same was written and undone several times of late. */
  waitFor(key: ObjectKey, uid: string, status: JsonObject): number;
  forget(key: ObjectKey): void;
}

interface Written {
  readonly uid: string;
  readonly said: string;
  /** When the same was written again; monotonic milliseconds. */
  again: readonly number[];
}

/** A person, or a controller that catches up, may undo so many in this time. */
const ALLOWED = 3;
const WITHIN_MS = 10 * 60_000;
const FIRST_WAIT_MS = 15_000;
const LONGEST_WAIT_MS = 5 * 60_000;

/** Creates the watch; `now` in monotonic milliseconds. */
export function createReversals(now: () => number): Reversals {
  const written = new Map<ObjectKey, Written>();
  const same = (key: ObjectKey, uid: string, status: JsonObject): Written | undefined => {
    const last = written.get(key);
    return last?.uid === uid && last.said === saidIn(status) ? last : undefined;
  };
  const lately = ({ again }: Written): readonly number[] => again.filter((time) => now() - time < WITHIN_MS);
  return {
    written: (key, uid, status) => {
      const before = same(key, uid, status);
      const again = before === undefined ? [] : [...lately(before), now()];
      written.set(key, { uid, said: saidIn(status), again });
    },
    waitFor: (key, uid, status) => {
      const before = same(key, uid, status);
      const excess = before === undefined ? 0 : lately(before).length - ALLOWED;
      return excess < 0 || before === undefined ? 0 : backOffMs(excess, FIRST_WAIT_MS, LONGEST_WAIT_MS);
    },
    forget: (key) => void written.delete(key),
  };
}

/** The status without the times of its conditions, in every list of conditions: each write gives them anew. */
function saidIn(status: JsonObject): string {
  return canonicalJson(
    Object.fromEntries(Object.entries(status).map(([field, value]) => [field, withoutTimes(value)])),
  );
}

function withoutTimes(value: JsonValue | undefined): JsonValue | undefined {
  if (!Array.isArray(value)) return value;
  return value.map((item) => {
    if (!isJsonObject(item)) return item;
    const { lastTransitionTime: _since, lastUpdateTime: _updated, ...said } = item;
    return said;
  });
}
