import type { Engine } from '../engine/graph.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { SnapshotStore } from '../ports/snapshot-store.ts';
import type { LedgerRecords } from './ledger/records.ts';
import type { Loop } from './loop.ts';
import type { ReceiptingWriter } from './stored/group.ts';
import type { Journal } from './stored/journal.ts';

/** What the other parts of a management server are made from. */
export interface ServerCore {
  readonly engine: Engine;
  readonly loop: Loop;
  readonly store: SnapshotStore;
  readonly journal: Journal;
  /** Writes records that belong to the fleet and not to one cluster; of several replicas only the leader's reach the store. */
  readonly fleet: ReceiptingWriter;
  /** The records of the store when this process started. */
  readonly records: LedgerRecords;
  readonly clock: Clock;
  readonly log: Log;
}
