import type { ObjectKey } from '../../../model/object-key.ts';
import type { Clock } from '../../../ports/clock.ts';

/** Counts how often an object was reverted against each field manager, so that two managers do not revert each other for ever. */
export interface Flapping {
  /** The managers among these that have reverted the object too often within ten minutes. */
  among(key: ObjectKey, managers: readonly string[]): readonly string[];
  /** Counts one reversal of the object against each of these managers. */
  reversed(key: ObjectKey, managers: readonly string[]): void;
  /** Forgets the object: its declaration has changed, or it is gone. */
  forget(key: ObjectKey): void;
}

const WINDOW_MS = 600_000;
const ENOUGH = 3;

export function createFlapping(clock: Clock): Flapping {
  const reversals = new Map<ObjectKey, Map<string, readonly number[]>>();

  return { among, reversed, forget: (key) => void reversals.delete(key) };

  function among(key: ObjectKey, managers: readonly string[]): readonly string[] {
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
