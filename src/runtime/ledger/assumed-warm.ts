import type { ReportedHolding } from '../../relay/session.ts';
import type { ServerCore } from '../core.ts';
import { type Ledger, unseenAgent } from './ledger.ts';
import { type RecoveryRecord, recordKey } from './records.ts';

export type AssumedWarmRecovery = ReturnType<typeof createAssumedWarmRecovery>;

/**
 * Recovery after the loss of a store. Declared clusters that have not sent a complete input snapshot since were probably warm, and
 * objects that agents own may have been computed from them, so these clusters are assumed warm. The evidence for a loss is an agent that owns objects
 * of an earlier epoch, with a tag that proves it; a fresh installation has no such agent. `knowsAll`: every configured source was read completely.
 */
export function createAssumedWarmRecovery(
  { engine, loop, journal, records, log }: ServerCore,
  ledger: Ledger,
  knowsAll: () => boolean,
) {
  const { agents } = engine.inputs;
  /** Clusters whose records this process writes again after a loss. */
  const kept = new Set([...records.assumedWarm.keys(), ...records.unregistered]);
  let marker: RecoveryRecord | undefined = records.recovery;
  for (const cluster of kept) {
    if (records.assumedWarm.has(cluster)) journal.noted(recordKey.assumedWarm(cluster), {});
    else journal.put(recordKey.assumedWarm(cluster), {});
  }
  if (records.unregistered.size > 0) {
    const clusters = [...records.unregistered];
    log.warn('the store has lost registrations; these clusters are assumed warm', { clusters });
  }
  if (marker !== undefined) journal.noted(recordKey.recovery, marker);
  stage(kept);

  function stage(clusters: Iterable<string>): void {
    for (const cluster of clusters) {
      agents.set('', cluster, { ...(agents.latest('', cluster) ?? unseenAgent), assumedWarm: true });
    }
  }
  const isAssumedWarm = (cluster: string): boolean => agents.latest('', cluster)?.assumedWarm === true;
  const mark = (state: RecoveryRecord['state']): void => {
    marker = { epoch: ledger.epoch(), state };
    journal.put(recordKey.recovery, marker);
  };
  /** A cluster that was registered since the loss can have been warm before, too, until it has sent a complete snapshot. */
  const mayHaveBeenWarm = (cluster: string): boolean =>
    ledger.registration(cluster)?.warm !== true && engine.inputs.snapshots.latest('', cluster) === undefined;
  const assumeNotWarm = (): boolean => {
    const clusters = [...engine.clusters.entries('')]
      .map(({ key }) => key)
      .filter((cluster) => !isAssumedWarm(cluster) && mayHaveBeenWarm(cluster));
    for (const cluster of clusters) {
      kept.add(cluster);
      journal.put(recordKey.assumedWarm(cluster), {});
    }
    stage(clusters);
    if (clusters.length > 0) log.warn('declared clusters are assumed warm, since the store was lost', { clusters });
    return clusters.length > 0;
  };

  return {
    /** Staged changes count. */
    isAssumedWarm,
    /** Checks the inventory of an agent for evidence; must be called before the cluster is registered. */
    consider: (cluster: string, { position, entries, proof }: ReportedHolding): void => {
      const isEvidence =
        proof.type !== 'nothing' &&
        entries.length > 0 &&
        position.epoch > 0 &&
        position.epoch !== ledger.epoch() &&
        ledger.registration(cluster) === undefined;
      if (!isEvidence || marker?.epoch === ledger.epoch()) return;
      log.warn('an agent owns objects from before this store: the store was lost', { cluster, epoch: position.epoch });
      mark(knowsAll() ? 'closed' : 'open');
      loop.transact(assumeNotWarm);
    },
    /** Ends the assumption: the cluster is known or no longer declared. Returns true if it was assumed warm; the caller stages the change. */
    end: (cluster: string): boolean => {
      if (!isAssumedWarm(cluster)) return false;
      kept.delete(cluster);
      // Deleted in the same batch as the registration is written: otherwise other replicas would take the cluster for a new one.
      if (ledger.endAssumedWarm(cluster)) journal.noted(recordKey.assumedWarm(cluster), null);
      else journal.put(recordKey.assumedWarm(cluster), null);
      return true;
    },
    /** Assumes clusters warm whose declarations are read later, until every source was read. Returns true if it has staged a change. */
    extend: (): boolean => {
      for (const cluster of kept) {
        if (isAssumedWarm(cluster)) continue;
        // Another replica has ended it and deleted the record.
        kept.delete(cluster);
        journal.noted(recordKey.assumedWarm(cluster), null);
      }
      if (marker?.state !== 'open' || marker.epoch !== ledger.epoch()) return false;
      if (knowsAll()) mark('closed');
      return assumeNotWarm();
    },
  };
}
