import { type Drift, type DriftOutcome, type DriftRecord, MOST_DRIFTS } from '../../model/fleet/drift.ts';
import { displayKey, type ObjectKey } from '../../model/objects/object-key.ts';
import { rfc3339 } from '../../model/text/time.ts';
import type { Clock } from '../../ports/clock.ts';

/** Drift of one object as it was found. */
export interface FoundDrift extends Drift {
  readonly outcome: Exclude<DriftOutcome, 'over'>;
}

export type DriftBook = ReturnType<typeof createDriftBook>;

/**
 * The newest drift of a cluster, one record for each object, in the memory of the agent. They are handed over
 * once for all that one look at the cluster has found.
 */
export function createDriftBook(
  { clock }: { readonly clock: Clock },
  changed: (records: readonly DriftRecord[]) => void,
) {
  /** The oldest first. */
  const records = new Map<ObjectKey, DriftRecord>();
  let isDue = false;

  return {
    note(key: ObjectKey, found: FoundDrift): void {
      const count = (records.get(key)?.count ?? 0) + 1;
      put(key, { ...facts(key), ...found, count });
    },
    /** Drift that was left is put back now: it is the same drift. */
    putBack(key: ObjectKey, found: Drift): void {
      const count = records.get(key)?.count ?? 1;
      put(key, { ...facts(key), ...found, outcome: 'putBack', count });
    },
    /** The object is as declared again, or is not owned any more. */
    end(key: ObjectKey): void {
      const record = records.get(key);
      if (record?.outcome === 'left') put(key, { ...record, ...facts(key), outcome: 'over' });
    },
  };

  function facts(key: ObjectKey): Pick<DriftRecord, 'time' | 'object'> {
    return { time: rfc3339(clock.now()), object: displayKey(key) };
  }

  function put(key: ObjectKey, record: DriftRecord): void {
    records.delete(key);
    records.set(key, record);
    for (const oldest of records.keys()) if (records.size > MOST_DRIFTS) records.delete(oldest);
    if (isDue) return;
    isDue = true;
    clock.schedule(0, () => {
      isDue = false;
      changed([...records.values()]);
    });
  }
}
