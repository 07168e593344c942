import { errorText } from '../../model/text/messages.ts';
import type { Clock } from '../../ports/clock.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';

/**
 * Wraps a store and counts its writes, and its errors by reason, since the start. `wrote` receives the duration of each batch in
 * seconds, also of failed ones.
 */
export function meterStore(inner: SnapshotStore, clock: Clock, wrote: (seconds: number) => void) {
  let up = true;
  let writes = 0;
  const errors = new Map<string, number>();
  const failed = (reason: string): void => void errors.set(reason, (errors.get(reason) ?? 0) + 1);
  inner.watch(({ type }) => {
    if (type === 'down') up = false;
    if (type === 'up') up = true;
  });
  const store: SnapshotStore = {
    ...inner,
    write: async (batch) => {
      const begun = clock.monotonic();
      try {
        const outcome = await inner.write(batch);
        if (outcome === 'written') writes += 1;
        else failed('Conflict');
        up = true;
        return outcome;
      } catch (error) {
        const reason = reasonOf(errorText(error));
        failed(reason);
        // A store of one process emits no events; an error of a shared one does not always mean that it is unreachable.
        if (!inner.shared || reason === 'Unreachable') up = false;
        throw error;
      } finally {
        wrote((clock.monotonic() - begun) / 1000);
      }
    },
  };
  return { store, figures: () => ({ up, writes, errors }) };
}

/** A constant reason, so that error texts do not become labels. */
function reasonOf(message: string): string {
  for (const [pattern, reason] of REASONS) if (pattern.test(message)) return reason;
  return 'Other';
}

const REASONS: readonly (readonly [RegExp, string])[] = [
  [/\bOOM\b|memory of Redis is full/, 'MemoryFull'],
  [/SQLITE_FULL|ENOSPC|disk is full/i, 'DiskFull'],
  [/READONLY|MISCONF|NOREPLICAS|LOADING|readonly database/i, 'NotWritable'],
  [/NOAUTH|NOPERM|WRONGPASS|lacks a right/, 'NotAllowed'],
  [/does not answer|no answer within|is closed|ECONN|ETIMEDOUT|EPIPE/, 'Unreachable'],
  [/ is too large: /, 'TooLarge'],
];
