import { type JsonValue, jsonEquals } from '../../model/json.ts';
import type { LedgerEntry } from '../../model/ledger.ts';
import type { ObjectMeta } from '../../model/output.ts';
import type { Collection, Derived, Graph } from '../collections/types.ts';
import type { ObjectDecision } from './decision.ts';
import type { Output } from './outputs.ts';
import { sameMeta } from './same-meta.ts';

/**
 * What is still to be sent: the difference between the output snapshot and the ledger. Partition: the cluster; an empty
 * partition means in sync. The next delta of a cluster is exactly its partition.
 */
export type PendingChange =
  | { readonly type: 'upsert'; readonly object: ObjectDecision }
  | (ObjectMeta & { readonly type: 'touch' })
  | { readonly type: 'remove' };

/** Compares the output snapshot with the ledger, key by key. */
export function derivePending(
  graph: Graph,
  outputs: Collection<Output>,
  ledger: Collection<LedgerEntry>,
): Derived<PendingChange> {
  return graph.join<Output, LedgerEntry, PendingChange>({
    name: 'pending',
    left: outputs,
    right: ledger,
    equals: (a, b) =>
      a.type === 'upsert' && b.type === 'upsert'
        ? a.object === b.object
        : jsonEquals(a as unknown as JsonValue, b as unknown as JsonValue),
    compute: ({ partition, key, left: output, right: entry }, _read, emit) => {
      if (output === undefined) return;
      if (output.type === 'remove') emit(partition, key, { type: 'remove' });
      if (output.type !== 'object') return;
      if (entry === undefined || entry.phase === 'removing' || entry.digest !== output.digest) {
        emit(partition, key, { type: 'upsert', object: output });
      } else if (!sameMeta(entry, output)) {
        emit(partition, key, { type: 'touch', origins: output.origins, scope: output.scope });
      }
    },
  });
}
