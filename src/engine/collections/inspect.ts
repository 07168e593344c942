import { bagSize, itemsOf, unpacked } from './bag.ts';
import { type InputNode, stagedWrites } from './input.ts';
import { sourcesOf } from './reads.ts';
import { isWithin } from './scopes.ts';
import {
  absent,
  type Cell,
  type Computation,
  type DerivedNode,
  type DerivedOrigin,
  type IndexNode,
  type Kernel,
  type ReadList,
  type Store,
} from './state.ts';
import { compareCells, findCell, scopeOfCell } from './storage.ts';
import type { NodeSizes, Why } from './types.ts';
import { compareAddresses, compareText } from './values.ts';

/** One collection or index, in order of declaration. */
export type GraphNode = InputNode | DerivedNode | IndexNode;

/** Counts everything that the graph stores by iterating over it: slow, but independent of the counters. */
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
      return { name, kind, maps: { ...indexSizes(node), ...failureSizes(node.failures), ...countSizes(node) } };
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
  const { computations, lost, unsettled, queue, touched, lists } = node;
  const pending = queue.size + touched.length + unsettled.size;
  return { ...storeSizes(node.store), computations, lost: lost.size, pending, lists: lists.size };
}

function failureSizes(store: Store): Record<string, number> {
  return Object.fromEntries(Object.entries(storeSizes(store)).map(([name, size]) => [`failures/${name}`, size]));
}

function countSizes({ counts }: IndexNode): Record<string, number> {
  const sizes = counts.map(storeSizes);
  return {
    counts: sizes.reduce((sum, { entries }) => sum + entries, 0),
    countsWaitedFor: sizes.reduce((sum, { waitedFor }) => sum + waitedFor, 0),
  };
}

function indexSizes({ groups, sorted, memberships, queue }: IndexNode): Record<string, number> {
  const sizes = { groups: groups.size, members: 0, memberships, readers: 0, counters: 0 };
  for (const group of groups.values()) {
    sizes.members += bagSize(group.members);
    sizes.readers += bagSize(group.dependents) + bagSize(group.counter?.dependents);
    sizes.counters += group.counter === undefined ? 0 : 1;
  }
  return { ...sizes, sorted: sorted.size, pending: queue.length };
}

/** The tree from an entry to the inputs that it depends on. A part with several parents is one shared object. */
export function explainCell(cell: Cell): Why {
  return explain(cell, new Map());
}

function explain(cell: Cell, known: Map<Cell, Why>): Why {
  const seen = known.get(cell);
  if (seen !== undefined) return seen;
  const { partition, key, value, origin } = cell;
  const { store } = partition;
  const address = { collection: store.name, partition: partition.name, key };
  const because = [...causesOf(cell)].sort(compareAcrossCollections).map((cause) => explain(cause, known));
  const why: Why = {
    ...address,
    ...(value === absent ? { absent: true as const } : {}),
    ...(store.kind === 'input' && value !== absent && origin !== undefined ? { provenance: origin } : {}),
    because,
  };
  known.set(cell, why);
  return why;
}

/** The cells that a cell's value was computed from, absent ones included. */
function causesOf(cell: Cell): ReadonlySet<Cell> {
  const causes = new Set<Cell>();
  if (cell.value === absent || cell.partition.store.kind === 'input') return causes;
  const origin = cell.origin as DerivedOrigin;
  switch (origin?.kind) {
    case 'computation':
      addCauses(origin, causes);
      break;
    case 'emissions':
      for (const { by } of origin.list) addCauses(by, causes);
      break;
    case 'blame':
      for (const one of origin.of) {
        if ('kind' in one) addCauses(one, causes);
        else causes.add(one);
      }
      break;
    case 'counted':
      for (const member of itemsOf(origin.group.members)) causes.add(member);
      break;
    case 'touch':
    case undefined:
      break;
    default:
      origin satisfies never;
  }
  return causes;
}

function addCauses(computation: Computation, causes: Set<Cell>): void {
  causes.add(computation.primary);
  if (computation.right !== undefined) causes.add(computation.right);
  for (const source of sourcesOf(computation)) {
    if ('partition' in source) {
      causes.add(source);
      continue;
    }
    const group = source.kind === 'counter' ? source.group : source;
    for (const member of itemsOf(group.members)) {
      if (isWithin(scopeOfCell(member), computation.scope)) causes.add(member);
    }
  }
}

/** Orders cells of any stores by (collection, partition, key). */
export function compareAcrossCollections(a: Cell, b: Cell): number {
  return a.partition.store === b.partition.store
    ? compareCells(a, b)
    : compareText(a.partition.store.name, b.partition.store.name) ||
        compareAddresses({ partition: a.partition.name, key: a.key }, { partition: b.partition.name, key: b.key });
}

/** The entries that depend on a cell, directly or indirectly, in canonical order. */
export function impactOf(start: Cell): readonly { collection: string; partition: string; key: string }[] {
  const reached = new Set<Cell>();
  const pending = [start];
  for (let cell = pending.pop(); cell !== undefined; cell = pending.pop()) {
    for (const output of affectedBy(cell)) {
      if (reached.has(output)) continue;
      reached.add(output);
      pending.push(output);
    }
  }
  reached.delete(start);
  return [...reached]
    .sort(compareAcrossCollections)
    .map(({ partition, key }) => ({ collection: partition.store.name, partition: partition.name, key }));
}

/** The entries that the cell is a direct cause of. */
function* affectedBy(cell: Cell): Iterable<Cell> {
  for (const computation of wokenBy(cell)) yield* outputsOf(computation);
  for (const dependent of itemsOf(cell.dependents)) {
    if (dependent.kind !== 'group') continue;
    for (const counts of dependent.index.counts) {
      const size = findCell(counts, '', dependent.name);
      if (size !== undefined) yield size;
    }
  }
}

/** Computations that read the cell: directly, or through a group of an index. */
function* wokenBy(cell: Cell): Iterable<Computation> {
  for (const dependent of itemsOf(cell.dependents)) {
    if (dependent.kind !== 'group') yield* readersOf(dependent);
    else {
      for (const reader of itemsOf(dependent.dependents)) yield* readersOf(reader);
      for (const reader of itemsOf(dependent.counter?.dependents)) yield* readersOf(reader);
    }
  }
}

function readersOf(dependent: Computation | ReadList): Iterable<Computation> {
  return dependent.kind === 'computation' ? [dependent] : itemsOf(dependent.readers);
}

function* outputsOf(computation: Computation): Iterable<Cell> {
  for (const output of unpacked(computation.outputs)) if (output.value !== absent) yield output;
  const { partition, key } = computation.primary;
  const failure = findCell(computation.node.failures, partition.name, key);
  if (failure !== undefined && failure.value !== absent) yield failure;
}
