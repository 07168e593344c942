import type { Engine } from '../../engine/graph.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Journal } from '../ledger/journal.ts';
import { type ApprovalRecord, type LedgerRecords, recordKey } from '../ledger/records.ts';
import type { Loop } from '../loop.ts';

/** The leave to remove that people have given: for one object of one cluster each, once, and for a time. */
export interface Approvals {
  /** Stages the approval. */
  grant(cluster: string, key: string, record: ApprovalRecord): void;
  /** Stages its end: it was used, its object is wanted again, or its cluster is another one now. */
  end(cluster: string, key: string): void;
  /** Stages the end of all approvals of a cluster. */
  endAll(cluster: string): void;
  isApproved(cluster: string, key: string): boolean;
}

export function createApprovals(deps: {
  readonly engine: Engine;
  readonly loop: Loop;
  readonly journal: Journal;
  readonly records: LedgerRecords;
  readonly clock: Clock;
}): Approvals {
  const { engine, loop, journal, records, clock } = deps;
  const timers = new Map<string, () => void>();
  const input = engine.inputs.approvals;
  const addressOf = (cluster: string, key: string): string => `${cluster}\u0000${key}`;

  const end = (cluster: string, key: string): void => {
    const address = addressOf(cluster, key);
    timers.get(address)?.();
    timers.delete(address);
    input.delete(cluster, key);
    journal.put(recordKey.approval(cluster, key), null);
  };
  const grant = (cluster: string, key: string, record: ApprovalRecord): void => {
    const address = addressOf(cluster, key);
    timers.get(address)?.();
    input.set(cluster, key, true);
    journal.put(recordKey.approval(cluster, key), record);
    const expire = (): void => loop.transact(() => end(cluster, key));
    timers.set(address, clock.schedule(Math.max(0, record.expiresAt - clock.now()), expire));
  };

  for (const [cluster, approvals] of records.approvals) {
    for (const [key, record] of approvals) {
      if (record.expiresAt > clock.now()) grant(cluster, key, record);
      else end(cluster, key);
    }
  }
  return {
    grant,
    end,
    endAll: (cluster) => {
      for (const { key } of [...input.entries(cluster)]) end(cluster, key);
    },
    isApproved: (cluster, key) => input.get(cluster, key) === true,
  };
}
