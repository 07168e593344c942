import type { Digest } from '../../model/ids.ts';
import type { ObjectKey } from '../../model/object-key.ts';
import type { ObjectMeta } from '../../model/output.ts';
import type { Collection, Derived, Graph, Reader } from '../collections/types.ts';
import { contentsOf, indexContents, stillHolding } from './containers.ts';
import type { Decision, Hold, KeepDecision, ObjectDecision } from './decisions.ts';
import { type Guards, guardedKind } from './guards.ts';

/**
 * The output snapshot: what each cluster should hold, after the guards. Partition: the cluster. Key: the object's.
 * `held`: a removal that waits for a person; the object stays as it is meanwhile.
 */
export type Output =
  | ObjectDecision
  | KeepDecision
  | Extract<Decision, { readonly type: 'absent' | 'remove' | 'removing' | 'left' }>
  | (ObjectMeta & Hold & { readonly type: 'held'; readonly digest: Digest });

interface OutputInputs {
  readonly decisions: Collection<Decision>;
  readonly guards: Guards;
  readonly approvals: Collection<true>;
  readonly heldRemovals: Collection<string>;
}

/** Applies the guards to the decisions. They hold removals and nothing else. */
export function deriveOutputs(graph: Graph, inputs: OutputInputs): Derived<Output> {
  const { decisions, guards, approvals, heldRemovals } = inputs;
  const contents = indexContents(graph, decisions);
  return graph.derive<Decision, Output>({
    name: 'outputs',
    from: decisions,
    reads: [contents, guards.perCluster, guards.perFleet, approvals, heldRemovals],
    equals: (a, b) => a === b || (a.type !== 'object' && JSON.stringify(a) === JSON.stringify(b)),
    compute: ({ partition: cluster, key, value }, read, emit) => {
      if (value.type !== 'remove') return emit(cluster, key, value);
      const container = contentsOf(cluster, key as ObjectKey);
      if (container !== undefined && read.count(contents, container) > 0) {
        return emit(cluster, key, { ...value, type: 'keep', ...stillHolding(key as ObjectKey) });
      }
      const hold = holdOf(cluster, key as ObjectKey, read, inputs);
      emit(cluster, key, hold === undefined ? value : { ...value, type: 'held', ...hold });
    },
  });
}

function holdOf(cluster: string, key: ObjectKey, read: Reader, inputs: OutputInputs): Hold | undefined {
  if (read.get(inputs.approvals, cluster, key) === true) return undefined;
  const verdict =
    read.get(inputs.guards.perFleet, '', '') ?? read.get(inputs.guards.perCluster, '', cluster) ?? guardedKind(key);
  if (verdict !== undefined) return verdict;
  // What was held stays held until a person approves it or it is undone, also when the guards have been loosened since.
  const before = read.get(inputs.heldRemovals, cluster, key);
  return before === undefined ? undefined : { reason: 'TooManyRemovals', message: before };
}
