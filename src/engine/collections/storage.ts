import { emptyScope, type Scope } from './scopes.ts';
import { absent, type Cell, type DerivedOrigin, type Store } from './state.ts';

/** Creates an empty store. */
export function createStore(
  settings: Pick<Store, 'name' | 'kind' | 'live' | 'scoped' | 'fromLive' | 'gathers' | 'scopes' | 'equals'>,
): Store {
  return { ...settings, partitions: new Map(), size: 0, consumers: [], indexes: [], watchers: [] };
}

/** The cell of an address, absent or not; undefined if there is none. */
export function findCell(store: Store, partition: string, key: string): Cell | undefined {
  return store.partitions.get(partition)?.cells.get(key);
}

/** The cell of an address; made, absent, if there is none. Who makes one links it or calls {@link releaseCell}. */
export function obtainCell(store: Store, partitionName: string, key: string): Cell {
  let partition = store.partitions.get(partitionName);
  if (partition === undefined) {
    const scope = store.live ? store.scopes.hold([partitionName]) : emptyScope;
    partition = { store, name: partitionName, cells: new Map(), present: 0, scope };
    store.partitions.set(partitionName, partition);
  }
  let cell = partition.cells.get(key);
  if (cell === undefined) {
    cell = { partition, key, value: absent, origin: undefined, dependents: undefined };
    partition.cells.set(key, cell);
  }
  return cell;
}

/** Forgets a cell that is absent and that nothing depends on; does nothing to any other. */
export function releaseCell(cell: Cell): void {
  if (cell.value !== absent || cell.dependents !== undefined || cell.origin !== undefined) return;
  const { partition } = cell;
  if (partition.cells.get(cell.key) !== cell) return;
  partition.cells.delete(cell.key);
  if (partition.cells.size > 0) return;
  partition.store.partitions.delete(partition.name);
  partition.store.scopes.release(partition.scope);
}

/** Writes a value (or `absent`) and keeps the counts. Notifies no dependents. */
export function writeValue(cell: Cell, value: unknown): void {
  const step = Number(value !== absent) - Number(cell.value !== absent);
  cell.value = value;
  if (step === 0) return;
  cell.partition.present += step;
  cell.partition.store.size += step;
}

/** Whether a store takes two values for equal. An `equals` that throws says no: the change goes on. */
export function sameValue(store: Store, a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (a === absent || b === absent) return false;
  try {
    return store.equals(a, b);
  } catch {
    return false;
  }
}

/** The clusters that a cell's value could have been computed from. */
export function scopeOfCell(cell: Cell): Scope {
  const { store } = cell.partition;
  if (!store.scoped || cell.value === absent) return emptyScope;
  return store.kind === 'input' ? cell.partition.scope : ((cell.origin as DerivedOrigin)?.scope ?? emptyScope);
}

/** Cells that are not absent, in no particular order. */
export function* presentCells(store: Store, partitionName: string): Iterable<Cell> {
  const partition = store.partitions.get(partitionName);
  if (partition === undefined) return;
  for (const cell of partition.cells.values()) if (cell.value !== absent) yield cell;
}

/** Orders cells by (partition, key). Cells of several stores may share the name of a partition. */
export function compareCells(a: Cell, b: Cell): number {
  if (a.partition !== b.partition) {
    const left = a.partition.name;
    const right = b.partition.name;
    if (left !== right) return left < right ? -1 : 1;
  }
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
}
