import type { ServerCore } from '../core.ts';
import type { Deadlines } from '../deadlines.ts';
import { loadHolds } from '../ledger/ledger.ts';
import { joinContenders } from '../ledger/recorders.ts';
import { readDeclarations, readLeaderRecords, recordedInputs } from '../ledger/records.ts';
import type { Approvals } from '../removals/approvals.ts';
import type { Windows } from '../removals/windows.ts';
import type { ObservedStatuses } from '../status/observed-statuses.ts';
import { readRemovalPermits } from './removal-permits.ts';

interface JudgementDeps extends ServerCore {
  readonly approvals: Approvals;
  readonly windows: Windows;
  readonly deadlines: Deadlines;
  readonly observed: ObservedStatuses;
}

const FLUSH_MS = 2_000;

export type Judgement = ReturnType<typeof createJudgement>;

/** The records that only the judge of removals knows. `changed`: this replica judges now, or does not any more. */
export function createJudgement(
  { engine, store, journal, fleet, approvals, windows, deadlines, observed, log }: JudgementDeps,
  changed: (judges: boolean) => void,
) {
  const { heldRemovals, approvalOutcomes, ledger } = engine.inputs;
  const recorded = recordedInputs(engine, fleet);
  return {
    changed,
    mayLeave: windows.mayLeave,
    /** A turn begins: reads from the status branch what the store may lack. Takes some seconds at most, and never rejects. */
    prepare: observed.readBranch,
    /** Reads what was held and approved; the result stages it. Rejects if the store does not answer. */
    load: async (): Promise<() => void> => {
      // The store may have been lost since the last turn, and lack what this replica has judged in it.
      if (!(await journal.flush(FLUSH_MS))) throw new Error('the store cannot be written');
      const records = await readLeaderRecords(store, log);
      const permitted = await readRemovalPermits(store);
      return () => {
        approvals.load(records.approvals);
        windows.load(records.windows);
        deadlines.load(records.elapsed);
        observed.load(records.observed);
        // Removals that an earlier leader has permitted and may not have counted: a counted one is not in the record.
        for (const [cluster, keys] of permitted) windows.mayLeave(cluster, keys);
        joinContenders(engine, fleet, records.contenders);
        recorded.approvalOutcomes.load(records.approvalOutcomes);
        loadHolds({ engine, fleet }, records.held, (cluster, key) => ledger.get(cluster, key) !== undefined);
      };
    },
    /** Stages that nothing is held or approved. */
    unload: (): void => {
      approvals.unload();
      windows.unload();
      approvalOutcomes.drop('');
      for (const cluster of [...heldRemovals.partitions()]) heldRemovals.drop(cluster);
    },
    /** Reads the declarations as last known good; the result stages them. */
    declarations: async (): Promise<() => void> => {
      const declared = await readDeclarations(store, log);
      // If a record is older than what this replica had noted, the recorder writes it again.
      return () => recorded.lastKnownGood.load(declared);
    },
  };
}
