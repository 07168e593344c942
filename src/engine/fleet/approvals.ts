import type { RemovalApproval } from '../../model/desired.ts';
import type { Origin } from '../../model/output.ts';
import type { Collection, Contribution, Derived, Graph } from '../collections/types.ts';
import { type DocumentValue, originOf } from './sources.ts';

/** A RemovalApproval and where it stands. */
export interface ApprovalValue {
  readonly approval: RemovalApproval;
  readonly origin: Origin;
}

/** What people approve by a file, by name (empty partition). Of several of one name the first counts. */
export function deriveRemovalApprovals(
  graph: Graph,
  documents: Collection<DocumentValue>,
): Derived<readonly Contribution<ApprovalValue>[]> {
  return graph.gather<DocumentValue, ApprovalValue>({
    name: 'removalApprovals',
    from: documents,
    compute: ({ partition, key, value: { content } }, _read, emit) => {
      if (content.type !== 'approval') return;
      emit('', content.approval.name, { approval: content.approval, origin: originOf({ partition, key }) });
    },
  });
}
