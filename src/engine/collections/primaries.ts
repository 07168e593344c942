import { itemsOf } from './bag.ts';
import { openComputation } from './computation.ts';
import { absent, type Cell, type DerivedNode, type Store } from './state.ts';
import { obtainCell } from './storage.ts';

/** Lets a node compute once for every entry of a store, or of one partition of it, now and later. */
export function followPrimaries(node: DerivedNode, from: Store, partition: string | undefined): void {
  follow(from, (cell) => {
    if (partition === undefined || cell.partition.name === partition) openComputation(node, cell, undefined);
  });
}

/**
 * Lets a node compute once for every address that at least one of two stores has. The computation stands in the
 * dependents of both sides' cells, of which one may be absent: whichever side comes, changes or goes wakes it.
 */
export function followAddresses(node: DerivedNode, left: Store, right: Store): void {
  follow(left, (cell) => {
    if (!isFollowed(node, cell)) openComputation(node, cell, obtainCell(right, cell.partition.name, cell.key));
  });
  follow(right, (cell) => {
    if (!isFollowed(node, cell)) openComputation(node, obtainCell(left, cell.partition.name, cell.key), cell);
  });
}

function follow(store: Store, appeared: (cell: Cell) => void): void {
  store.consumers.push(appeared);
  for (const partition of store.partitions.values()) {
    for (const cell of partition.cells.values()) if (cell.value !== absent) appeared(cell);
  }
}

function isFollowed(node: DerivedNode, cell: Cell): boolean {
  for (const dependent of itemsOf(cell.dependents)) {
    if (
      dependent.kind === 'computation' &&
      dependent.node === node &&
      (dependent.primary === cell || dependent.right === cell)
    ) {
      return true;
    }
  }
  return false;
}
