import { bagSize } from './bag.ts';
import { type InputNode, stagedWrites } from './input.ts';
import type { DerivedNode, IndexNode, Kernel, Store } from './state.ts';
import type { NodeSizes } from './types.ts';

/** One collection or index, in order of declaration. */
export type GraphNode = InputNode | DerivedNode | IndexNode;

/** Counts everything that is held by walking it: slow, and right even where a counter is wrong. */
export function sizesOf(nodes: readonly GraphNode[], kernel: Kernel): readonly NodeSizes[] {
  const shared: NodeSizes = { name: 'graph', kind: 'graph', maps: { scopes: kernel.scopes.size() } };
  return [...nodes.map(nodeSizes), shared];
}

function nodeSizes(node: GraphNode): NodeSizes {
  const { name, kind } = node;
  switch (node.kind) {
    case 'input':
      return { name, kind, maps: { ...storeSizes(node.store), staged: stagedWrites(node) } };
    case 'index':
      return { name, kind, maps: { ...indexSizes(node), ...failureSizes(node.failures) } };
    case 'derived':
    case 'gathered':
    case 'joined':
      return { name, kind, maps: { ...derivedSizes(node), ...failureSizes(node.failures) } };
  }
}

function storeSizes(store: Store): Record<'partitions' | 'entries' | 'waitedFor' | 'dependents', number> {
  const sizes = { partitions: store.partitions.size, entries: 0, waitedFor: 0, dependents: 0 };
  for (const partition of store.partitions.values()) {
    sizes.entries += partition.present;
    sizes.waitedFor += partition.cells.size - partition.present;
    for (const cell of partition.cells.values()) sizes.dependents += bagSize(cell.dependents);
  }
  return sizes;
}

function derivedSizes(node: DerivedNode): Record<string, number> {
  const { computations, lost, unsettled, queue, touched } = node;
  const pending = queue.size + touched.length + unsettled.size;
  return { ...storeSizes(node.store), computations, lost: lost.size, pending };
}

function failureSizes(store: Store): Record<string, number> {
  const { partitions, entries, waitedFor, dependents } = storeSizes(store);
  return {
    failurePartitions: partitions,
    failures: entries,
    failuresWaitedFor: waitedFor,
    failureDependents: dependents,
  };
}

function indexSizes({ groups, sorted, memberships, queue }: IndexNode): Record<string, number> {
  const sizes = {
    groups: groups.size,
    members: 0,
    memberships,
    readers: 0,
    counters: 0,
    sorted: sorted.size,
    pending: queue.length,
  };
  for (const group of groups.values()) {
    sizes.members += bagSize(group.members);
    sizes.readers += bagSize(group.dependents) + bagSize(group.counter?.dependents);
    sizes.counters += group.counter === undefined ? 0 : 1;
  }
  return sizes;
}
