import type { Engine } from '../../engine/graph.ts';
import type { RemovalApproval } from '../../model/desired.ts';
import type { ApprovalOutcome } from '../../model/ledger.ts';
import type { Origin } from '../../model/output.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import { recordKey } from '../ledger/records.ts';
import type { RecordWriter } from '../stored/write-group.ts';
import type { HeldSets } from './held-sets.ts';

/**
 * Judges RemovalApprovals when they are first read, each once. A bookkeeper that must run before it is noted what is held
 * now: an approval counts for what was held before it came, so that no push brings its own. Returns true if it has staged
 * something.
 */
export function createApprovalFiles(deps: {
  readonly engine: Engine;
  readonly journal: RecordWriter;
  readonly heldSets: HeldSets;
  readonly clock: Clock;
  readonly log: Log;
}): () => boolean {
  const { engine, journal, heldSets, clock, log } = deps;
  const { approvalOutcomes, fleet } = engine.inputs;

  const note = (name: string, verdict: ApprovalOutcome | null): void => {
    if (verdict === null) approvalOutcomes.delete('', name);
    else approvalOutcomes.set('', name, verdict);
    journal.put(recordKey.approvalOutcome(name), verdict);
  };
  const judge = ({ digest, expiresAt = Number.POSITIVE_INFINITY, name }: RemovalApproval, at: Origin) => {
    if (expiresAt <= clock.now()) return 'expired';
    const by = `${at.source}:${at.path} (RemovalApproval ${name})`;
    const released = heldSets.release(digest, by, expiresAt);
    if (released > 0) log.info('removals are approved', { digest, by, released });
    return released > 0 ? 'used' : 'stale';
  };

  return () => {
    if (fleet.get('', '')?.role !== 'leader') return false;
    let staged = false;
    for (const { key: name, value } of [...engine.declarations.entries('RemovalApproval')]) {
      const { value: approval, origin } = value;
      if (approvalOutcomes.get('', name)?.digest === approval.digest) continue;
      note(name, { digest: approval.digest, outcome: judge(approval, origin) });
      staged = true;
    }
    for (const { key: name } of [...approvalOutcomes.entries('')]) {
      // A file that cannot be read just now would come back as a new one.
      if (engine.declarations.get('RemovalApproval', name) !== undefined || !allAreWhole(engine)) continue;
      note(name, null);
      staged = true;
    }
    return staged;
  };
}

function allAreWhole(engine: Engine): boolean {
  return [...engine.sourceProofs.entries('')].every(({ value }) => value === 'whole');
}
