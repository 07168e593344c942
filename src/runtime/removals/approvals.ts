import type { Engine } from '../../engine/graph.ts';
import type { Clock } from '../../ports/clock.ts';
import { type ApprovalRecord, type LedgerRecords, recordKey } from '../ledger/records.ts';
import type { Loop } from '../loop.ts';
import type { RecordWriter } from '../stored/write-group.ts';

/** The leave to remove that people have given: for one object of one cluster each, once, and for a time. */
export interface Approvals {
  /** Stages the approval. */
  grant(cluster: string, key: string, record: ApprovalRecord): void;
  /** Stages its end: it was used, its object is wanted again, or its cluster is another one now. */
  end(cluster: string, key: string): void;
  /** Stages its end, and counts it: what was approved has happened. */
  used(cluster: string, key: string): void;
  /** Since the start: what was approved, and what of it has happened. */
  counts(): { readonly granted: number; readonly used: number };
  /** Stages the end of all approvals of a cluster. */
  endAll(cluster: string): void;
  isApproved(cluster: string, key: string): boolean;
  /** Stages what is on record. */
  load(records: LedgerRecords['approvals']): void;
  /** Stages that nothing is known: another process judges now, and has the records. */
  unload(): void;
}

export function createApprovals(deps: {
  readonly engine: Engine;
  readonly loop: Loop;
  readonly journal: RecordWriter;
  readonly records: LedgerRecords;
  readonly clock: Clock;
}): Approvals {
  const { engine, loop, journal, records, clock } = deps;
  const timers = new Map<string, () => void>();
  const counts = { granted: 0, used: 0 };
  const input = engine.inputs.approvals;
  const addressOf = (cluster: string, key: string): string => `${cluster}\u0000${key}`;

  const end = (cluster: string, key: string): void => {
    const address = addressOf(cluster, key);
    timers.get(address)?.();
    timers.delete(address);
    input.delete(cluster, key);
    journal.put(recordKey.approval(cluster, key), null);
  };
  const stage = (cluster: string, key: string, record: ApprovalRecord): void => {
    const address = addressOf(cluster, key);
    timers.get(address)?.();
    input.set(cluster, key, true);
    const expire = (): void => loop.transact(() => end(cluster, key));
    timers.set(address, clock.schedule(Math.max(0, record.expiresAt - clock.now()), expire));
  };

  const grant = (cluster: string, key: string, record: ApprovalRecord): void => {
    counts.granted += 1;
    stage(cluster, key, record);
    journal.put(recordKey.approval(cluster, key), record);
  };

  const load = (known: LedgerRecords['approvals']): void => {
    for (const [cluster, approvals] of known) {
      for (const [key, record] of approvals) {
        journal.noted(recordKey.approval(cluster, key), record);
        if (record.expiresAt > clock.now()) stage(cluster, key, record);
        else end(cluster, key);
      }
    }
  };
  load(records.approvals);
  return {
    grant,
    load,
    unload: () => {
      for (const cancel of timers.values()) cancel();
      timers.clear();
      for (const cluster of [...input.partitions()]) input.drop(cluster);
    },
    end,
    used: (cluster, key) => {
      counts.used += 1;
      end(cluster, key);
    },
    counts: () => ({ ...counts }),
    endAll: (cluster) => {
      for (const { key } of [...input.entries(cluster)]) end(cluster, key);
    },
    isApproved: (cluster, key) => input.get(cluster, key) === true,
  };
}
