import type { ObjectResult } from '../model/agent.ts';
import type { ObjectKey } from '../model/object-key.ts';

/** The last word about each object; only changes are told. */
export interface ResultBook {
  note(result: ObjectResult): void;
  /** The next word about each of these is told, though it may be the same as before: the server has forgotten that one. */
  renew(keys: readonly ObjectKey[]): void;
  get(key: ObjectKey): ObjectResult | undefined;
  /** Tells the last word about these once more. */
  tellAgain(keys: readonly ObjectKey[]): void;
  /** Tells everything once more: a server that was restarted knows none of it. */
  tellAll(): void;
  counts(): Readonly<Record<ObjectResult['state'], number>>;
}

/** `tell` gets what changed. */
export function createResultBook(tell: (results: readonly ObjectResult[]) => void): ResultBook {
  const book = new Map<ObjectKey, ObjectResult>();
  const due = new Set<ObjectKey>();
  return {
    note(result) {
      const before = book.get(result.key);
      const isDue = due.delete(result.key);
      if (before !== undefined && sameResult(before, result) && !isDue) return;
      // After `removed` there is nothing more to say about it.
      if (result.state === 'removed') book.delete(result.key);
      else book.set(result.key, result);
      tell([result]);
    },
    renew(keys) {
      for (const key of keys) due.add(key);
    },
    get: (key) => book.get(key),
    tellAgain(keys) {
      const known = keys.flatMap((key) => book.get(key) ?? []);
      if (known.length > 0) tell(known);
    },
    tellAll() {
      if (book.size > 0) tell([...book.values()]);
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
