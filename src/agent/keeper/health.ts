import type { ObjectHealth } from '../../model/object-health.ts';
import type { ObjectKey } from '../../model/object-key.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ObservedObject } from '../../ports/cluster-api.ts';
import type { ResultBook } from '../result-book.ts';

/** Tells the health of applied objects, gathered: a result is told again when it changes. */
export interface HealthTeller {
  /** Takes what a look has seen of an object. */
  look(key: ObjectKey, observed: ObservedObject | undefined): void;
  /** We have written it: how it was before says nothing any more. */
  wrote(key: ObjectKey, before: ObservedObject | undefined): void;
  forget(key: ObjectKey): void;
  stop(): void;
}

/** A change of state, and what comes within this time. */
const STATE_MS = 1_000;
/** While only the words change ("3 of 100 are updated"). */
const WORDS_MS = 30_000;
/** After a write that changed nothing that a look would show. */
const WRITTEN_MS = 5_000;

export function createHealthTeller(deps: { readonly clock: Clock; readonly results: ResultBook }): HealthTeller {
  const { clock, results } = deps;
  /** What is to be told, and when (monotonic). */
  const due = new Map<ObjectKey, { readonly health: ObjectHealth | undefined; readonly at: number }>();
  const writtenOver = new Map<ObjectKey, ObservedObject>();
  let timer: { readonly at: number; readonly cancel: () => void } | undefined;

  return {
    look,
    wrote(key, before) {
      forget(key);
      if (before?.health === undefined) return;
      writtenOver.set(key, before);
      tellIn(key, before.health, WRITTEN_MS);
    },
    forget,
    stop: () => timer?.cancel(),
  };

  function look(key: ObjectKey, observed: ObservedObject | undefined): void {
    const last = results.get(key);
    if (last?.state !== 'applied' || observed === undefined || observed.stale === true) return;
    if (writtenOver.get(key) === observed) return;
    writtenOver.delete(key);
    const { health } = observed;
    const isSameState = last.health?.state === health?.state;
    if (isSameState && last.health?.message === health?.message) due.delete(key);
    else tellIn(key, health, isSameState ? WORDS_MS : STATE_MS);
  }

  function forget(key: ObjectKey): void {
    due.delete(key);
    writtenOver.delete(key);
  }

  function tellIn(key: ObjectKey, health: ObjectHealth | undefined, milliseconds: number): void {
    // What goes on changing is told all the same.
    const at = Math.min(clock.monotonic() + milliseconds, due.get(key)?.at ?? Number.POSITIVE_INFINITY);
    due.set(key, { health, at });
    wakeAt(at);
  }

  function wakeAt(at: number): void {
    if (timer !== undefined && timer.at <= at) return;
    timer?.cancel();
    timer = { at, cancel: clock.schedule(Math.max(0, at - clock.monotonic()), tell) };
  }

  function tell(): void {
    timer = undefined;
    const now = clock.monotonic();
    for (const [key, { health, at }] of due) {
      if (at > now) {
        wakeAt(at);
        continue;
      }
      forget(key);
      const last = results.get(key);
      if (last?.state !== 'applied') continue;
      const { health: _before, ...rest } = last;
      results.note(health === undefined ? rest : { ...rest, health });
    }
  }
}
