import { objectOf } from '../../model/text/json.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';
import type { ServerCore } from '../core.ts';
import type { ServerBus } from '../events.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { recordKey } from '../ledger/records.ts';
import { createSingleFlight, type SingleFlight } from '../single-flight.ts';
import { jsonWrite, readJson } from '../stored/json-record.ts';

/**
 * Resolves with the epoch in the store. Writes `ours` if there is none, or, with `raises`, if there is a lower one; of several
 * replicas that write at once one succeeds. Rejects if the store does not answer.
 */
export async function agreeOnEpoch(store: SnapshotStore, ours: number, raises = false): Promise<number> {
  for (;;) {
    const { value, version } = await readJson(store, recordKey.epoch);
    const { epoch } = objectOf(value);
    if (typeof epoch === 'number' && (epoch >= ours || !raises)) return epoch;
    await store.write([jsonWrite(recordKey.epoch, { epoch: ours }, version)]);
  }
}

/**
 * Makes several replicas agree on the highest epoch. After the loss of a store, a replica that starts may begin a new epoch
 * before other replicas have written their epoch again.
 */
export function createEpochRecorder(
  deps: Pick<ServerCore, 'store' | 'clock' | 'log'> & {
    readonly ledger: Ledger;
    readonly events: Pick<ServerBus, 'emit'>;
  },
): SingleFlight {
  const { store, ledger, events, log } = deps;
  return createSingleFlight(deps, 'agreeing on the epoch', async () => {
    const epoch = await agreeOnEpoch(store, ledger.epoch(), true);
    if (epoch <= ledger.epoch()) return false;
    log.info('another replica has begun a new epoch', { epoch });
    ledger.raiseEpoch(epoch);
    events.emit('epochRaised', epoch);
    return false;
  });
}
