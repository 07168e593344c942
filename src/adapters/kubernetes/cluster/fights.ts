import type { ObjectKey } from '../../../model/object-key.ts';
import type { Clock } from '../../../ports/clock.ts';

/** Remembers whose changes were put back, so that two that want different things do not go on for ever. */
export interface Fights {
  /** Managers that have had enough reversals of this object in a short time. */
  fighting(key: ObjectKey, managers: readonly string[]): readonly string[];
  /** Something of the object was taken back from these. */
  reversed(key: ObjectKey, managers: readonly string[]): void;
  /** The object is to be something else, or is gone. */
  forget(key: ObjectKey): void;
}

const WINDOW_MS = 600_000;
const ENOUGH = 3;

export function createFights(clock: Clock): Fights {
  const reversals = new Map<ObjectKey, Map<string, readonly number[]>>();

  return { fighting, reversed, forget: (key) => void reversals.delete(key) };

  function fighting(key: ObjectKey, managers: readonly string[]): readonly string[] {
    return managers.filter((manager) => recent(key, manager).length >= ENOUGH);
  }

  function reversed(key: ObjectKey, managers: readonly string[]): void {
    const byManager = reversals.get(key) ?? new Map<string, readonly number[]>();
    for (const manager of managers) byManager.set(manager, [...recent(key, manager), clock.monotonic()]);
    reversals.set(key, byManager);
  }

  function recent(key: ObjectKey, manager: string): readonly number[] {
    const since = clock.monotonic() - WINDOW_MS;
    return (reversals.get(key)?.get(manager) ?? []).filter((at) => at > since);
  }
}
