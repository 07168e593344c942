import { type Bag, itemsOf, unpacked } from './bag.ts';
import { link } from './reads.ts';
import { emptyScope, type Scope } from './scopes.ts';
import {
  absent,
  type Call,
  type Cell,
  type Computation,
  type DerivedNode,
  type ReadList,
  type Source,
  type Store,
} from './state.ts';
import { compareCells, obtainCell, releaseCell } from './storage.ts';

/** Creates the computation of a primary entry and adds it to the node's queue. */
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

/** Adds a computation to its node's queue. Each visit of the node runs it once. */
export function enqueue(computation: Computation): void {
  computation.node.queue.add(computation);
}

function wake(reader: Computation | ReadList): void {
  if (reader.kind === 'computation') enqueue(reader);
  else for (const computation of itemsOf(reader.readers)) enqueue(computation);
}

/** Adds all computations that have read a source to the queues of their nodes. */
export function wakeAll(readers: Bag<Computation | ReadList>): void {
  for (const reader of itemsOf(readers)) wake(reader);
}

/** Whether the primary entry is absent; of a join, both sides. */
export function isOrphan({ primary, right }: Computation): boolean {
  return primary.value === absent && (right === undefined || right.value === absent);
}

/** Orders computations of one node by the addresses of their primaries. */
export function compareComputations(a: Computation, b: Computation): number {
  return compareCells(a.primary, b.primary);
}

/** Longer lists are searched through a Set. */
const longestSearchedList = 16;

/** Creates an empty record of the running computation. */
export function createCall(): Call {
  return {
    computation: undefined,
    scope: undefined,
    reads: [],
    seen: undefined,
    cells: [],
    values: [],
    aligned: true,
  };
}

/** Records a read. Reading twice is one dependency. */
export function noteRead(call: Call, source: Source): void {
  const { computation, reads } = call;
  if (source === computation?.primary || source === computation?.right) return;
  if (call.seen !== undefined) {
    if (call.seen.has(source)) return;
    call.seen.add(source);
  } else {
    if (reads.includes(source)) return;
    if (reads.length === longestSearchedList) call.seen = new Set(reads).add(source);
  }
  reads.push(source);
}

/** Records an emitted value. Values are written after the computation has ended. */
export function noteEmit(call: Call, store: Store, partition: string, key: string, value: unknown): void {
  const { computation, cells } = call;
  if (computation?.node.store !== store || call.scope === undefined) {
    throw new Error(`an emitter of "${store.name}" was used outside its computation`);
  }
  if (value === undefined) throw new TypeError(`${JSON.stringify(key)} was emitted without a value`);
  const last = call.aligned ? unpacked(computation.outputs)[cells.length] : undefined;
  if (last !== undefined && last.key === key && last.partition.name === partition) cells.push(last);
  else {
    call.aligned = false;
    cells.push(obtainCell(store, partition, key));
  }
  call.values.push(value);
}

/** Clears the record for the next computation, and deletes cells that got no value. */
export function endCall(call: Call): void {
  if (!call.aligned) for (const cell of call.cells) releaseCell(cell);
  call.computation = undefined;
  call.scope = undefined;
  call.reads.length = 0;
  call.seen = undefined;
  call.cells.length = 0;
  call.values.length = 0;
  call.aligned = true;
}

/** A cell that is in the list twice; undefined if there is none. */
export function duplicateOf(cells: readonly Cell[]): Cell | undefined {
  if (cells.length <= longestSearchedList) {
    return cells.find((cell, place) => cells.indexOf(cell) !== place);
  }
  const seen = new Set<Cell>();
  for (const cell of cells) {
    if (seen.has(cell)) return cell;
    seen.add(cell);
  }
  return undefined;
}

/**
 * Notifies the dependents of a cell after its value or (`rescoped`) its scope has changed. Notifying a dependent twice does
 * no harm.
 */
export function changed(cell: Cell, before: unknown, scopeBefore: Scope, rescoped: boolean): void {
  const { store } = cell.partition;
  for (const dependent of itemsOf(cell.dependents)) {
    if (dependent.kind !== 'group') {
      wake(dependent);
      continue;
    }
    dependent.index.sorted.delete(dependent);
    wakeAll(dependent.dependents);
    if (rescoped) wakeAll(dependent.counter?.dependents);
  }
  if (before === absent) for (const appeared of store.consumers) appeared(cell);
  for (const index of store.indexes) index.queue.push(cell);
  store.past.note(cell, before, scopeBefore);
  for (const watcher of store.watchers) watcher.note(cell, before, scopeBefore);
}
