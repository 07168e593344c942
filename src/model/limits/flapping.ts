import type { ObjectKey } from '../objects/object-key.ts';

const WINDOW_MS = 600_000;
const ENOUGH = 3;

export type Flapping = ReturnType<typeof createFlapping>;

/**
 * Counts the reversals of each field manager, so that two managers do not revert each other for ever. `monotonic`: the time in
 * milliseconds.
 */
export function createFlapping(monotonic: () => number) {
  const reversals = new Map<ObjectKey, Map<string, readonly number[]>>();

  function recent(key: ObjectKey, manager: string): readonly number[] {
    const since = monotonic() - WINDOW_MS;
    return (reversals.get(key)?.get(manager) ?? []).filter((at) => at > since);
  }

  return {
    /** The managers among these with three reversals of the object within ten minutes. */
    among: (key: ObjectKey, managers: readonly string[]): readonly string[] =>
      managers.filter((manager) => recent(key, manager).length >= ENOUGH),
    /** Counts one reversal of the object for each of these managers. */
    reversed(key: ObjectKey, managers: readonly string[]): void {
      const byManager = reversals.get(key) ?? new Map<string, readonly number[]>();
      for (const manager of managers) byManager.set(manager, [...recent(key, manager), monotonic()]);
      reversals.set(key, byManager);
    },
    /** Forgets an object that is gone. */
    forget: (key: ObjectKey): void => void reversals.delete(key),
  };
}
