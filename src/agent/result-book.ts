import type { ObjectResult } from '../model/agent.ts';
import type { ObjectKey } from '../model/object-key.ts';

/** The last result of each object; only changes are reported. */
export interface ResultBook {
  note(result: ObjectResult): void;
  /** Makes the next result of each key be reported even if it has not changed: the server has dropped the last one. */
  renew(keys: readonly ObjectKey[]): void;
  get(key: ObjectKey): ObjectResult | undefined;
  /** Reports the last results of these keys once more. */
  reportAgain(keys: readonly ObjectKey[]): void;
  /** Reports all results once more: a restarted server has none. */
  reportAll(): void;
  counts(): Readonly<Record<ObjectResult['state'], number>>;
}

export function createResultBook(report: (results: readonly ObjectResult[]) => void): ResultBook {
  const book = new Map<ObjectKey, ObjectResult>();
  const due = new Set<ObjectKey>();
  return {
    note(result) {
      const before = book.get(result.key);
      const isDue = due.delete(result.key);
      if (before !== undefined && sameResult(before, result) && !isDue) return;
      // `removed` is the last result of an object.
      if (result.state === 'removed') book.delete(result.key);
      else book.set(result.key, result);
      report([result]);
    },
    renew(keys) {
      for (const key of keys) due.add(key);
    },
    get: (key) => book.get(key),
    reportAgain(keys) {
      const known = keys.flatMap((key) => book.get(key) ?? []);
      if (known.length > 0) report(known);
    },
    reportAll() {
      if (book.size > 0) report([...book.values()]);
    },
    counts() {
      const counts = { applied: 0, failed: 0, conflict: 0, paused: 0, removing: 0, removed: 0 };
      for (const { state } of book.values()) counts[state] += 1;
      return counts;
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
    a.health?.message === b.health?.message
  );
}
