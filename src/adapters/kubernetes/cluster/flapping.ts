import type { ObjectKey } from '../../../model/object-key.ts';
import type { Clock } from '../../../ports/clock.ts';

const WINDOW_MS = 600_000;
const ENOUGH = 3;

export type Flapping = ReturnType<typeof createFlapping>;

/** Counts how often fields were taken back from each manager, so that two managers do not revert each other for ever. */
export function createFlapping(clock: Clock) {
  const reversals = new Map<ObjectKey, Map<string, readonly number[]>>();

  function recent(key: ObjectKey, manager: string): readonly number[] {
    const since = clock.monotonic() - WINDOW_MS;
    return (reversals.get(key)?.get(manager) ?? []).filter((at) => at > since);
  }

  return {
    /** The managers among these from which the object was taken back three times within ten minutes. */
    among: (key: ObjectKey, managers: readonly string[]): readonly string[] =>
      managers.filter((manager) => recent(key, manager).length >= ENOUGH),
    /** Counts one reversal of the object for each of these managers. */
    reversed(key: ObjectKey, managers: readonly string[]): void {
      const byManager = reversals.get(key) ?? new Map<string, readonly number[]>();
      for (const manager of managers) byManager.set(manager, [...recent(key, manager), clock.monotonic()]);
      reversals.set(key, byManager);
    },
    /** Forgets an object that is gone. */
    forget: (key: ObjectKey): void => void reversals.delete(key),
  };
}
