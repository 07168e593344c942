import { objectOf } from '../../model/json.ts';
import type { Clock } from '../../ports/clock.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';
import type { ServerCore } from '../core.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { recordKey } from '../ledger/records.ts';
import { jsonWrite, readJson } from './records.ts';
import { createSingleFlight, type SingleFlight } from './single-flight.ts';

/** Writes an epoch if the store has none; of several replicas that start at once one succeeds. Rejects if the store does not answer. */
export async function ensureEpoch(store: SnapshotStore, clock: Clock): Promise<void> {
  for (;;) {
    const { epoch, version } = await readEpoch(store);
    if (epoch !== undefined) return;
    await writeEpoch(store, clock.now(), version);
  }
}

/**
 * Makes several replicas agree on the highest epoch: after the loss of a store, a replica that starts may begin a new epoch
 * before the others have written theirs again. `raised`: this replica has adopted a higher epoch.
 */
export function createEpochRecorder(
  deps: Pick<ServerCore, 'store' | 'clock' | 'log'> & { readonly ledger: Ledger },
  raised: (epoch: number) => void,
): SingleFlight {
  const { store, ledger, log } = deps;
  return createSingleFlight(deps, 'agreeing on the epoch', async () => {
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

async function readEpoch(store: SnapshotStore) {
  const { value, version } = await readJson(store, recordKey.epoch);
  const { epoch } = objectOf(value);
  return { epoch: typeof epoch === 'number' ? epoch : undefined, version };
}

async function writeEpoch(store: SnapshotStore, epoch: number, version: string | null): Promise<void> {
  await store.write([jsonWrite(recordKey.epoch, { epoch }, version)]);
}
