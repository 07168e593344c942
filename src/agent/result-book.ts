import type { ObjectResult } from '../model/agent/agent.ts';
import type { StatusCounts } from '../model/fleet/conditions.ts';
import { isStatusKey, type ObjectKey } from '../model/objects/object-key.ts';
import { type JsonValue, jsonEquals } from '../model/text/json.ts';

export type ResultBook = ReturnType<typeof createResultBook>;

/** The last result of each object; only changes are reported. */
export function createResultBook(report: (results: readonly ObjectResult[]) => void) {
  const book = new Map<ObjectKey, ObjectResult>();
  const due = new Set<ObjectKey>();
  return {
    note(result: ObjectResult): void {
      const before = book.get(result.key);
      const isDue = due.delete(result.key);
      if (before !== undefined && sameResult(before, result) && !isDue) return;
      // `removed` is the last result of an object.
      if (result.state === 'removed') book.delete(result.key);
      else book.set(result.key, result);
      report([result]);
    },
    /** Makes the next result of each key be reported even if it has not changed: the server has dropped the last one. */
    renew(keys: readonly ObjectKey[]): void {
      for (const key of keys) due.add(key);
    },
    get: (key: ObjectKey): ObjectResult | undefined => book.get(key),
    /** Reports the last results of `keys` once more. Default: all, since a restarted server has none. */
    reportAgain(keys: Iterable<ObjectKey> = book.keys()): void {
      const known = [...keys].flatMap((key) => book.get(key) ?? []);
      if (known.length > 0) report(known);
    },
    /** Of objects. */
    counts(): Record<ObjectResult['state'], number> {
      const counts = { applied: 0, failed: 0, conflict: 0, paused: 0, removing: 0, removed: 0 };
      for (const { key, state } of book.values()) if (!isStatusKey(key)) counts[state] += 1;
      return counts;
    },
    /** Of statuses, which are no objects. */
    statuses(): StatusCounts {
      const states = [...book.values()].filter(({ key }) => isStatusKey(key)).map(({ state }) => state);
      const applied = states.filter((state) => state === 'applied').length;
      const failed = states.filter((state) => state === 'failed' || state === 'conflict').length;
      return { total: states.length, applied, failed };
    },
  };
}

function sameResult(a: ObjectResult, b: ObjectResult): boolean {
  return (
    a.state === b.state &&
    a.digest === b.digest &&
    a.reason === b.reason &&
    a.message === b.message &&
    a.health?.state === b.health?.state &&
    a.health?.message === b.health?.message &&
    (a.drift === b.drift || jsonEquals(a.drift as unknown as JsonValue, b.drift as unknown as JsonValue))
  );
}
