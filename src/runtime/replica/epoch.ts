import { objectOf } from '../../model/json.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { recordKey } from '../ledger/records.ts';
import { jsonWrite, readJson } from './records.ts';
import { createSingleFlight, type SingleFlight } from './single-flight.ts';

/** Of several replicas that find an empty store at once, one begins the epoch. Rejects if the store cannot be asked. */
export async function ensureEpoch(store: SnapshotStore, clock: Clock): Promise<void> {
  for (;;) {
    const { epoch, version } = await readEpoch(store);
    if (epoch !== undefined) return;
    await writeEpoch(store, clock.now(), version);
  }
}

/**
 * Keeps the epoch of several replicas one: when a store was lost, one that starts may begin a new epoch before the others
 * have written theirs again. The highest holds, and all go over to it; `raised`: this one has.
 */
export function createEpochRecorder(
  deps: { readonly store: SnapshotStore; readonly ledger: Ledger; readonly clock: Clock; readonly log: Log },
  raised: (epoch: number) => void,
): SingleFlight {
  const { store, ledger, log } = deps;
  return createSingleFlight(deps, 'keeping the epoch', async () => {
    for (;;) {
      const { epoch = 0, version } = await readEpoch(store);
      if (epoch === ledger.epoch()) return false;
      if (epoch > ledger.epoch()) {
        log.info('another replica has begun a new epoch', { epoch });
        ledger.raiseEpoch(epoch);
        raised(epoch);
        return false;
      }
      await writeEpoch(store, ledger.epoch(), version);
    }
  });
}

async function readEpoch(
  store: SnapshotStore,
): Promise<{ readonly epoch: number | undefined; readonly version: string | null }> {
  const { value, version } = await readJson(store, recordKey.epoch);
  const { epoch } = objectOf(value);
  return { epoch: typeof epoch === 'number' ? epoch : undefined, version };
}

async function writeEpoch(store: SnapshotStore, epoch: number, version: string | null): Promise<void> {
  await store.write([jsonWrite(recordKey.epoch, { epoch }, version)]);
}
