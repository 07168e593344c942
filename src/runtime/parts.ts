import type { ServerCore } from './core.ts';
import type { Ledger } from './ledger/ledger.ts';
import type { Approvals } from './removals/approvals.ts';
import type { Windows } from './removals/windows.ts';
import type { Replica } from './replica/replica.ts';
import type { Sessions } from './sessions.ts';
import type { SourceTable } from './source-table.ts';
import type { Suspensions } from './suspensions.ts';

/** The parts of a management server that its API, its sources and its sinks work on. */
export interface ServerParts extends ServerCore {
  readonly ledger: Ledger;
  readonly approvals: Approvals;
  readonly windows: Windows;
  readonly sources: SourceTable;
  readonly sessions: Sessions;
  readonly suspensions: Suspensions;
  readonly replica: Replica;
}
