import { bagSize, itemsOf, withItem, withoutItem } from './bag.ts';
import { changed, wakeAll } from './computation.ts';
import { messageOf, writeFailure } from './emissions.ts';
import { emptyScope } from './scopes.ts';
import {
  absent,
  type Cell,
  type Counted,
  type Group,
  type IndexNode,
  type Kernel,
  type Slices,
  type Store,
} from './state.ts';
import {
  createStore,
  findCell,
  obtainCell,
  obtainGroup,
  releaseCell,
  releaseGroup,
  scopeOfCell,
  writeValue,
} from './storage.ts';
import type { Entry } from './types.ts';

/** Creates the index of a store, with all cells of the store in its queue. */
export function createIndexNode(
  name: string,
  from: Store,
  groupsOf: (entry: Entry<unknown>) => Iterable<string>,
  among: Store | undefined,
): IndexNode {
  const { scoped, fromLive, scopes, past } = from;
  const failures = createStore({
    name: `${name}/failures`,
    kind: 'derived',
    live: false,
    gathers: false,
    scoped,
    fromLive,
    scopes,
    past,
    equals: Object.is,
  });
  const queue = [...from.partitions.values()].flatMap((partition) => [...partition.cells.values()]);
  const groups = new Map<string, Group>();
  const sorted: IndexNode['sorted'] = new Map();
  const sizes = { memberships: 0, counts: [] };
  const node: IndexNode = { kind: 'index', name, from, among, groupsOf, groups, sorted, failures, ...sizes, queue };
  from.indexes.push(node);
  among?.indexes.push(node);
  return node;
}

/**
 * Updates the groups of the queued cells, and notifies the readers of groups that have gained or lost a member. Readers are
 * notified of new values of members when these are written. Yields where a slice of the commit ends.
 */
export function* refreshIndex(index: IndexNode, kernel: Kernel): Slices {
  const { queue } = index;
  index.queue = [];
  const sizesBefore = new Map<Group, number>();
  for (const cell of queue) {
    for (const member of cell.partition.store === index.among ? cellsOf(index.from, cell.key) : [cell]) {
      regroup(index, member, sizesBefore);
      if (kernel.isUp()) yield;
    }
  }
  for (const [group, before] of sizesBefore) {
    if (before !== bagSize(group.members)) for (const counts of index.counts) writeCount(counts, group);
    // With scopes, a reader may see fewer members than before although the number is the same.
    if (index.from.scoped || before !== bagSize(group.members)) {
      wakeAll(group.counter?.dependents);
    }
    releaseGroup(group);
    if (kernel.isUp()) yield;
  }
}

/** A copy, because cells that are in no group and have no value are deleted. */
function cellsOf(store: Store, partition: string): readonly Cell[] {
  return [...(store.partitions.get(partition)?.cells.values() ?? [])];
}

function isAmong({ among }: IndexNode, { partition }: Cell): boolean {
  return among === undefined || (findCell(among, '', partition.name)?.value ?? absent) !== absent;
}

/** Creates the collection of the sizes of the groups. */
export function createCounts(name: string, index: IndexNode): Store {
  const { fromLive, scopes, past } = index.from;
  const settings = { kind: 'derived', live: false, gathers: false, scoped: false } as const;
  const counts = createStore({ ...settings, name, fromLive, scopes, past, equals: Object.is });
  for (const group of index.groups.values()) writeCount(counts, group);
  index.counts.push(counts);
  return counts;
}

function writeCount(counts: Store, group: Group): void {
  const cell = obtainCell(counts, '', group.name);
  const before = cell.value;
  const size = bagSize(group.members);
  cell.origin = size === 0 ? undefined : ({ kind: 'counted', group, scope: emptyScope } satisfies Counted);
  writeValue(cell, size === 0 ? absent : size);
  if (cell.value !== before) changed(cell, before, emptyScope, false);
  releaseCell(cell);
}

function regroup(index: IndexNode, cell: Cell, sizesBefore: Map<Group, number>): void {
  const wanted = wantedGroups(index, cell);
  // Most cells are in no group of the index, or are new: no list is created for them.
  let left: Group[] | undefined;
  let stayed: Set<string> | undefined;
  for (const dependent of itemsOf(cell.dependents)) {
    if (dependent.kind !== 'group' || dependent.index !== index) continue;
    if (has(wanted, dependent.name)) {
      stayed ??= new Set();
      stayed.add(dependent.name);
    } else {
      left ??= [];
      left.push(dependent);
    }
  }
  for (const group of left ?? []) {
    noteMembership(group, sizesBefore);
    group.members = withoutItem(group.members, cell);
    cell.dependents = withoutItem(cell.dependents, group);
    index.from.past.noteMember(cell, group, -1);
    index.memberships -= 1;
  }
  for (const name of wanted) {
    if (stayed?.has(name) === true) continue;
    const group = obtainGroup(index, name);
    noteMembership(group, sizesBefore);
    group.members = withItem(group.members, cell);
    cell.dependents = withItem(cell.dependents, group);
    index.from.past.noteMember(cell, group, 1);
    index.memberships += 1;
  }
  releaseCell(cell);
}

function noteMembership(group: Group, sizesBefore: Map<Group, number>): void {
  if (sizesBefore.has(group)) return;
  sizesBefore.set(group, bagSize(group.members));
  group.index.sorted.delete(group);
  wakeAll(group.dependents);
}

/** Different names. A list if they are few, which is the common case. */
type Names = readonly string[] | ReadonlySet<string>;

const noGroups: Names = [];
const longestSearchedList = 8;

function namesOf(names: Iterable<string>): Names {
  if (!Array.isArray(names) || names.length > longestSearchedList) return new Set(names);
  return names.every((name, place) => names.indexOf(name) === place) ? names : new Set(names);
}

function has(names: Names, name: string): boolean {
  return 'has' in names ? names.has(name) : names.includes(name);
}

function wantedGroups(index: IndexNode, cell: Cell): Names {
  const { partition, key, value } = cell;
  let groups = noGroups;
  let message: string | undefined;
  if (value !== absent && isAmong(index, cell)) {
    try {
      groups = namesOf(index.groupsOf({ partition: partition.name, key, value }));
    } catch (error) {
      message = messageOf(error);
    }
  }
  const failed = findCell(index.failures, partition.name, key)?.value ?? absent;
  if (message !== undefined || failed !== absent) {
    const scope = message === undefined ? emptyScope : index.from.scopes.retain(scopeOfCell(cell));
    writeFailure(index.failures, cell, message, [cell], scope);
  }
  return groups;
}
