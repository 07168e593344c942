import type { Engine } from '../../engine/graph.ts';
import type { AgentHolding } from '../../model/agent.ts';
import type { Log } from '../../ports/log.ts';
import type { Loop } from '../loop.ts';
import type { RecordWriter } from '../stored/write-group.ts';
import { type Ledger, unseenAgent } from './ledger.ts';
import { type LedgerRecords, type RecoveryRecord, recordKey } from './records.ts';

/**
 * After the loss of a store: clusters that are declared and not registered were probably warm, and what their agents own
 * could have read them. An agent that owns something from before the loss is the evidence that there was a fleet; a fresh
 * installation has none, and holds nothing up.
 */
export interface AssumedWarmRecovery {
  /** As committed. */
  isAssumedWarm(cluster: string): boolean;
  /** An agent has said what it holds; told before its cluster is registered. */
  consider(cluster: string, holding: AgentHolding): void;
  /** It is known now, or not meant any more; true if it was assumed warm. The caller stages the change. */
  end(cluster: string): boolean;
  /** While what is declared is not known in full, the others are assumed warm as they are read; true if something was staged. */
  extend(): boolean;
}

export function createAssumedWarmRecovery(deps: {
  readonly engine: Engine;
  readonly loop: Loop;
  readonly ledger: Ledger;
  readonly journal: RecordWriter;
  readonly records: LedgerRecords;
  /** Every configured source has been read and is whole. */
  readonly knowsAll: () => boolean;
  readonly log: Log;
}): AssumedWarmRecovery {
  const { engine, loop, ledger, journal, records, log } = deps;
  /** Those whose records this process would write again after a loss. */
  const kept = new Set([...records.assumedWarm.keys(), ...records.unregistered]);
  let marker: RecoveryRecord | undefined = records.recovery;
  for (const cluster of kept) {
    if (records.assumedWarm.has(cluster)) journal.noted(recordKey.assumedWarm(cluster), {});
    else journal.put(recordKey.assumedWarm(cluster), {});
  }
  if (records.unregistered.size > 0) {
    log.warn('the store has lost registrations; these clusters are assumed to have been warm', {
      clusters: [...records.unregistered],
    });
  }
  if (marker !== undefined) journal.noted(recordKey.recovery, marker);
  stage(kept);

  function stage(clusters: Iterable<string>): void {
    for (const cluster of clusters) {
      const agent = engine.inputs.agents.get('', cluster) ?? unseenAgent;
      engine.inputs.agents.set('', cluster, { ...agent, assumedWarm: true });
    }
  }
  const isAssumedWarm = (cluster: string): boolean => engine.inputs.agents.get('', cluster)?.assumedWarm === true;
  const mark = (state: RecoveryRecord['state']): void => {
    marker = { epoch: ledger.epoch(), state };
    journal.put(recordKey.recovery, marker);
  };
  const assumeUnregistered = (): boolean => {
    const clusters = [...engine.clusters.entries('')]
      .map(({ key }) => key)
      .filter((cluster) => !isAssumedWarm(cluster) && ledger.registration(cluster) === undefined);
    for (const cluster of clusters) {
      kept.add(cluster);
      journal.put(recordKey.assumedWarm(cluster), {});
    }
    stage(clusters);
    if (clusters.length > 0) log.warn('clusters are assumed to have been warm before the store was lost', { clusters });
    return clusters.length > 0;
  };

  return {
    isAssumedWarm,
    consider: (cluster, { position, entries }) => {
      const isEvidence =
        entries.length > 0 &&
        position.epoch > 0 &&
        position.epoch !== ledger.epoch() &&
        ledger.registration(cluster) === undefined;
      if (!isEvidence || marker?.epoch === ledger.epoch()) return;
      log.warn('an agent owns objects from before this store: the store was lost', { cluster, epoch: position.epoch });
      mark(deps.knowsAll() ? 'closed' : 'open');
      loop.transact(assumeUnregistered);
      loop.settle();
    },
    end: (cluster) => {
      if (!isAssumedWarm(cluster)) return false;
      kept.delete(cluster);
      // Other replicas read both: were it over before the rest is on record, they would take the cluster for a new one.
      if (ledger.endAssumedWarm(cluster)) journal.noted(recordKey.assumedWarm(cluster), null);
      else journal.put(recordKey.assumedWarm(cluster), null);
      return true;
    },
    extend: () => {
      for (const cluster of kept) {
        if (isAssumedWarm(cluster)) continue;
        // Another process knows it by now, and has taken the record away.
        kept.delete(cluster);
        journal.noted(recordKey.assumedWarm(cluster), null);
      }
      if (marker?.state !== 'open' || marker.epoch !== ledger.epoch()) return false;
      if (deps.knowsAll()) mark('closed');
      return assumeUnregistered();
    },
  };
}
