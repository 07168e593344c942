import type { Change } from '../../engine/collections/types.ts';
import type { Engine } from '../../engine/graph.ts';
import { EMPTIED } from '../../engine/output/emptied.ts';
import type { Output } from '../../engine/output/outputs.ts';
import type { Approvals } from '../removals/approvals.ts';
import type { RecordWriter } from '../stored/write-group.ts';
import { recordKey } from './records.ts';

/**
 * Records held removals, so that they stay held. A hold ends when its object is wanted again, is removed, or is being removed;
 * an approval ends when its object is wanted again or is removed. A source that cannot be read ends neither. The returned
 * function runs after each commit; it returns true if it has staged a change.
 */
export function createHoldRecorder(engine: Engine, journal: RecordWriter, approvals: Approvals): () => boolean {
  const outputs = engine.graph.watch(engine.outputs);
  const held = engine.inputs.heldRemovals;
  const note = ({ partition: cluster, key, after }: Change<Output>): boolean => {
    const isHeld = held.get(cluster, key) !== undefined;
    const isOver = after === undefined || (after.type === 'object' && after.empties !== true);
    let staged = false;
    const noted = held.get(cluster, key)?.reason;
    if (after?.type === 'held' && (noted === undefined || (noted === EMPTIED && after.reason !== EMPTIED))) {
      const { reason, message } = after;
      held.set(cluster, key, { reason, message });
      journal.put(recordKey.held(cluster, key), { reason, message });
      staged = true;
    }
    if (isHeld && (isOver || after.type === 'removing' || (after.type === 'object' && after.empties === true))) {
      held.delete(cluster, key);
      journal.put(recordKey.held(cluster, key), null);
      staged = true;
    }
    // The approval lasts until the object is removed, so a removal that was lost needs no second approval.
    if (isOver && approvals.isApproved(cluster, key)) {
      if (after === undefined) approvals.used(cluster, key);
      else approvals.end(cluster, key);
      staged = true;
    }
    return staged;
  };
  return () => {
    let staged = false;
    for (const change of outputs.take()) staged = note(change) || staged;
    return staged;
  };
}
