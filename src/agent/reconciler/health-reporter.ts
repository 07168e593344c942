import type { ObjectHealth } from '../../model/objects/object-health/health.ts';
import type { ObjectKey } from '../../model/objects/object-key.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ObservedObject } from '../../ports/cluster-api.ts';
import type { ResultBook } from '../result-book.ts';

/** Delay of a report after the state has changed. */
const STATE_MS = 1_000;
/** Delay of a report while only the message changes ("3 of 100 are updated"). */
const MESSAGE_MS = 30_000;
/** Delay of a report after a write that leads to no new live object. */
const WRITTEN_MS = 5_000;

/** Reports changes of the health of applied objects, debounced, as new results. */
export function createHealthReporter(deps: { readonly clock: Clock; readonly results: ResultBook }) {
  const { clock, results } = deps;
  /** Health to report, and when (monotonic milliseconds). */
  const due = new Map<ObjectKey, { readonly health: ObjectHealth | undefined; readonly at: number }>();
  const writtenOver = new Map<ObjectKey, ObservedObject>();
  let timer: { readonly at: number; readonly cancel: () => void } | undefined;

  return {
    observe,
    /** The agent has written the object: the health before the write is out of date. */
    wrote(key: ObjectKey, before: ObservedObject | undefined): void {
      forget(key);
      if (before?.health === undefined) return;
      writtenOver.set(key, before);
      reportIn(key, before.health, WRITTEN_MS);
    },
    forget,
    stop: () => timer?.cancel(),
  };

  /** Takes an object of a new live state; undefined: it is gone, and has no health. */
  function observe(key: ObjectKey, observed: ObservedObject | undefined): void {
    if (observed === undefined) {
      forget(key);
      return;
    }
    const last = results.get(key);
    if (last?.state !== 'applied' || observed.stale === true) return;
    if (writtenOver.get(key) === observed) return;
    writtenOver.delete(key);
    const { health } = observed;
    const isSameState = last.health?.state === health?.state;
    if (isSameState && last.health?.message === health?.message) due.delete(key);
    else reportIn(key, health, isSameState ? MESSAGE_MS : STATE_MS);
  }

  function forget(key: ObjectKey): void {
    due.delete(key);
    writtenOver.delete(key);
  }

  function reportIn(key: ObjectKey, health: ObjectHealth | undefined, milliseconds: number): void {
    // Further changes do not delay a report that is due.
    const at = Math.min(clock.monotonic() + milliseconds, due.get(key)?.at ?? Number.POSITIVE_INFINITY);
    due.set(key, { health, at });
    wakeAt(at);
  }

  function wakeAt(at: number): void {
    if (timer !== undefined && timer.at <= at) return;
    timer?.cancel();
    timer = { at, cancel: clock.schedule(Math.max(0, at - clock.monotonic()), reportDue) };
  }

  function reportDue(): void {
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
