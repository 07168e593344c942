import { backOffMs } from '../../../../model/limits/back-off.ts';
import type { ObjectKey } from '../../../../model/objects/object-key.ts';

interface Due {
  /** Monotonic milliseconds. */
  readonly at: number;
  /** In a row. */
  readonly failures: number;
}

const FIRST_RETRY_MS = 5_000;
const FIRST_PAUSE_MS = 60_000;
const LONGEST_MS = 10 * 60_000;

/** The configurations that are to be judged, and when. `monotonic`: the time in milliseconds. */
export function createDue(monotonic: () => number) {
  const due = new Map<ObjectKey, Due>();
  let pausedUntil = 0;
  let pauses = 0;
  return {
    /** It is judged as soon as possible. */
    add: (key: ObjectKey): void => void due.set(key, { at: 0, failures: due.get(key)?.failures ?? 0 }),
    drop: (key: ObjectKey): void => void due.delete(key),
    clear: (): void => due.clear(),
    /** Nothing is due for a while: longer each time, until `resume`. */
    pause(): void {
      pausedUntil = monotonic() + backOffMs(pauses, FIRST_PAUSE_MS, LONGEST_MS);
      pauses += 1;
    },
    resume(): void {
      pauses = 0;
    },
    isPaused: (): boolean => monotonic() < pausedUntil,
    /** Takes one that is due now; undefined: there is none. */
    take(): { readonly key: ObjectKey; readonly failures: number } | undefined {
      const now = monotonic();
      if (now < pausedUntil) return undefined;
      for (const [key, { at, failures }] of due) {
        if (at > now) continue;
        due.delete(key);
        return { key, failures };
      }
      return undefined;
    },
    /** It is judged again after a pause, or at once if it was added since it was taken. */
    retry(key: ObjectKey, failures: number): void {
      const at = monotonic() + backOffMs(failures, FIRST_RETRY_MS, LONGEST_MS);
      if (!due.has(key)) due.set(key, { at, failures: failures + 1 });
    },
  };
}
