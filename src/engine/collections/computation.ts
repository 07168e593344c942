import { withItem, withoutItem } from './bag.ts';
import { releaseGroup } from './groups.ts';
import { emptyScope } from './scopes.ts';
import { absent, type Cell, type Computation, type DerivedNode, type Source } from './state.ts';
import { compareCells, releaseCell } from './storage.ts';

/** Creates the computation of a primary and puts it in the node's queue. */
export function openComputation(node: DerivedNode, primary: Cell, right: Cell | undefined): void {
  const computation: Computation = {
    kind: 'computation',
    node,
    primary,
    right,
    reads: undefined,
    outputs: undefined,
    scope: emptyScope,
  };
  node.computations += 1;
  link(primary, computation);
  if (right !== undefined) link(right, computation);
  enqueue(computation);
}

/** Marks a computation to be done when its node is visited; once, however often it is asked for. */
export function enqueue(computation: Computation): void {
  computation.node.queue.add(computation);
}

/** Whether no side of the primary is there any more. */
export function isOrphan({ primary, right }: Computation): boolean {
  return primary.value === absent && (right === undefined || right.value === absent);
}

/** Makes a source wake a computation. They must not be linked yet. */
export function link(source: Source, computation: Computation): void {
  // Every kind of source has this field; that a cell's bag also holds groups is of no concern here.
  const holder = source as Pick<Cell, 'dependents'>;
  holder.dependents = withItem(holder.dependents, computation);
}

/** Undoes {@link link}, and forgets a source that only existed for its dependents. */
export function unlink(source: Source, computation: Computation): void {
  const holder = source as Pick<Cell, 'dependents'>;
  holder.dependents = withoutItem(holder.dependents, computation);
  releaseSource(source);
}

function releaseSource(source: Source): void {
  if (source.dependents !== undefined) return;
  if ('partition' in source) releaseCell(source);
  else if (source.kind === 'group') releaseGroup(source);
  else {
    source.group.counter = undefined;
    releaseGroup(source.group);
  }
}

/** Orders computations of one node by the address of their primaries. */
export function compareComputations(a: Computation, b: Computation): number {
  return compareCells(a.primary, b.primary);
}
