import { bagSize, itemsOf } from './bag.ts';
import { emptyScope, isWithin, type Scope, wholeScope } from './scopes.ts';
import {
  absent,
  type Cell,
  type Counter,
  type DerivedOrigin,
  type Group,
  type IndexNode,
  type Store,
} from './state.ts';
import type { Entry } from './types.ts';

/** Creates an empty store. */
export function createStore(
  settings: Pick<Store, 'name' | 'kind' | 'live' | 'scoped' | 'fromLive' | 'gathers' | 'scopes' | 'past' | 'equals'>,
): Store {
  return { ...settings, partitions: new Map(), size: 0, consumers: [], indexes: [], watchers: [] };
}

/** The cell of an address, absent or not; undefined if there is none. */
export function findCell(store: Store, partition: string, key: string): Cell | undefined {
  return store.partitions.get(partition)?.cells.get(key);
}

/** The cell of an address; creates an absent one if there is none. The caller must link it or call {@link releaseCell}. */
export function obtainCell(store: Store, partitionName: string, key: string): Cell {
  let partition = store.partitions.get(partitionName);
  if (partition === undefined) {
    const scope = store.live ? store.scopes.hold([partitionName]) : emptyScope;
    partition = { store, name: partitionName, cells: new Map(), present: 0, scope, past: 'unchanged' };
    store.partitions.set(partitionName, partition);
  }
  let cell = partition.cells.get(key);
  if (cell === undefined) {
    cell = { partition, key, value: absent, origin: undefined, dependents: undefined };
    partition.cells.set(key, cell);
  }
  return cell;
}

/** Deletes a cell that is absent and has no dependents; does nothing to other cells. */
export function releaseCell(cell: Cell): void {
  if (cell.value !== absent || cell.dependents !== undefined || cell.origin !== undefined) return;
  const { partition } = cell;
  if (partition.cells.get(cell.key) !== cell) return;
  partition.cells.delete(cell.key);
  if (partition.cells.size > 0) return;
  partition.store.partitions.delete(partition.name);
  partition.store.past.noteDeleted(partition);
  partition.store.scopes.release(partition.scope);
}

/** Writes a value (or `absent`) and updates the counts. Notifies no dependents. */
export function writeValue(cell: Cell, value: unknown): void {
  const step = Number(value !== absent) - Number(cell.value !== absent);
  cell.value = value;
  if (step === 0) return;
  cell.partition.present += step;
  cell.partition.store.size += step;
}

/** Whether the partition of a cell had no entry before this cell changed. */
export function wasEmpty({ partition, value }: Cell, before: unknown): boolean {
  return partition.present - Number(value !== absent) + Number(before !== absent) === 0;
}

/** Whether two values are equal for a store. If its `equals` throws, they are not. */
export function sameValue(store: Store, a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (a === absent || b === absent) return false;
  try {
    return store.equals(a, b);
  } catch {
    return false;
  }
}

/** The scope of a cell's value. */
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

/** The sorted members of larger groups are stored. */
const cheapToSort = 8;

/** The group of a name; creates an empty one if there is none. The caller must link it or call {@link releaseGroup}. */
export function obtainGroup(index: IndexNode, name: string): Group {
  let group = index.groups.get(name);
  if (group === undefined) {
    group = { kind: 'group', index, name, members: undefined, appeared: 0, dependents: undefined, counter: undefined };
    index.groups.set(name, group);
  }
  return group;
}

/** The counter of a group; creates it if there is none. The caller must link it. */
export function obtainCounter(group: Group): Counter {
  group.counter ??= { kind: 'counter', group, dependents: undefined };
  return group.counter;
}

/** Deletes a group without members and dependents; does nothing to other groups. */
export function releaseGroup(group: Group): void {
  if (group.members !== undefined || group.dependents !== undefined || group.counter !== undefined) return;
  if (group.index.groups.get(group.name) === group) group.index.groups.delete(group.name);
}

/** Whether a scope can leave out members of the group. */
function isLimited({ index }: Group, scope: Scope | undefined): scope is Scope {
  return scope !== undefined && scope !== wholeScope && index.from.scoped;
}

/** The members in canonical order; with a scope, only those whose scope is inside it. */
export function membersOf(group: Group, scope?: Scope): readonly Entry<unknown>[] {
  if (isLimited(group, scope)) {
    return sortedEntries([...itemsOf(group.members)].filter((cell) => isWithin(scopeOfCell(cell), scope)));
  }
  const { sorted } = group.index;
  const known = sorted.get(group);
  if (known !== undefined) return known;
  const entries = sortedEntries([...itemsOf(group.members)]);
  if (entries.length > cheapToSort) sorted.set(group, Object.freeze(entries));
  return entries;
}

/** The first members of {@link membersOf}, without sorting the others. */
export function firstOf(group: Group, count: number, scope?: Scope): readonly Entry<unknown>[] {
  const limit = isLimited(group, scope) ? scope : undefined;
  const isSeen = (cell: Cell): boolean => limit === undefined || isWithin(scopeOfCell(cell), limit);
  return firstCells(itemsOf(group.members), count, isSeen).map(entryOf);
}

/** The first of these cells in canonical order, without sorting the others. */
export function firstCells(cells: Iterable<Cell>, count: number, isSeen: (cell: Cell) => boolean): readonly Cell[] {
  const first: Cell[] = [];
  for (const cell of cells) {
    if (!isSeen(cell)) continue;
    const last = first[count - 1];
    if (last !== undefined && compareCells(cell, last) > 0) continue;
    let [from, to] = [0, first.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (compareCells(cell, first[middle] as Cell) < 0) to = middle;
      else from = middle + 1;
    }
    first.splice(from, 0, cell);
    first.length = Math.min(first.length, count);
  }
  return first;
}

function sortedEntries(cells: Cell[]): Entry<unknown>[] {
  return cells.sort(compareCells).map(entryOf);
}

function entryOf({ partition, key, value }: Cell): Entry<unknown> {
  return { partition: partition.name, key, value };
}

/** The number of {@link membersOf}. */
export function countOf(group: Group, scope?: Scope): number {
  if (!isLimited(group, scope)) return bagSize(group.members);
  let count = 0;
  for (const cell of itemsOf(group.members)) if (isWithin(scopeOfCell(cell), scope)) count += 1;
  return count;
}
