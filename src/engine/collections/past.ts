import { bagSize, itemsOf } from './bag.ts';
import { emptyScope, type Scope } from './scopes.ts';
import {
  absent,
  type Cell,
  type ChangedPartition,
  type Earlier,
  type Group,
  type IndexNode,
  type Partition,
  type Past,
  type PastStore,
  type Store,
} from './state.ts';
import { compareCells, firstCells, wasEmpty } from './storage.ts';
import type { Entry } from './types.ts';

/** What a cell was before. */
interface Changed {
  readonly cell: Cell;
  readonly before: unknown;
  readonly scope: Scope;
}

/** The cells that have joined (positive) or left (negative) a group since the barrier, and the sum of these numbers. */
interface PastGroup {
  readonly cells: Map<Cell, number>;
  sum: number;
}

/** By the name of a group. */
type PastIndex = Map<string, PastGroup>;

/** Any address of a partition that was empty. */
const noEntry: Earlier = { value: absent, clusters: emptyScope.clusters };

/**
 * Knows what has changed since the last barrier, so that readers outside can be shown the state of the barrier while a commit
 * is under way. A change costs a line in a list; only a pause makes look-ups of the lines, and most commits have no pause. A
 * partition that was empty has no lines: a server that starts fills almost all of them in one commit.
 */
export function createPast(): Past {
  const changes = createChanges();
  const stores = new Map<Store, PastStore>();
  const indexes = new Map<IndexNode, PastIndex>();
  let isShown = false;
  return {
    note: changes.note,
    noteMember: changes.noteMember,
    noteDeleted: changes.noteDeleted,
    isShown: () => isShown,
    show: () => {
      changes.fold(stores, indexes);
      isShown = true;
    },
    hide: () => {
      isShown = false;
    },
    forget: () => {
      isShown = false;
      changes.forget();
      stores.clear();
      indexes.clear();
    },
    ofStore: (store) => (isShown ? stores.get(store) : undefined),
    isPresent: (index) => !isShown || (!stores.has(index.from) && !indexes.has(index)),
    ...lookUps(stores, indexes),
  };
}

/** Collects the changes since the barrier. */
function createChanges() {
  /** Cells alone were absent. */
  const changes: (Cell | Changed)[] = [];
  const moved: Cell[] = [];
  /** For each moved cell: the group that it has joined, or in a list the group that it has left. */
  const groups: (Group | readonly [Group])[] = [];
  /** Partitions that have changed; `placed`: how many of them were folded. */
  const partitions: Partition[] = [];
  let placed = 0;
  /** Groups with members from partitions that were empty. */
  const appeared: Group[] = [];
  /** Names of deleted partitions that had entries. */
  const deleted = new Map<Store, Set<string>>();

  const clearLists = (): void => {
    for (const list of [changes, moved, groups]) if (list.length > 0) list.length = 0;
  };
  return {
    note: (cell: Cell, before: unknown, scope: Scope): void => {
      const { partition } = cell;
      if (partition.past === 'unchanged') {
        const hadEntries = !wasEmpty(cell, before) || deleted.get(partition.store)?.has(partition.name) === true;
        partition.past = hadEntries ? 'changed' : 'empty';
        partitions.push(partition);
      }
      if (partition.past === 'changed')
        changes.push(before === absent && scope === emptyScope ? cell : { cell, before, scope });
    },
    noteMember: (cell: Cell, group: Group, step: 1 | -1): void => {
      if (cell.partition.past === 'empty') {
        if (group.appeared === 0) appeared.push(group);
        group.appeared += step;
        return;
      }
      moved.push(cell);
      groups.push(step === 1 ? group : [group]);
    },
    noteDeleted: ({ store, name, past }: Partition): void => {
      if (past === 'changed') obtain(deleted, store, () => new Set()).add(name);
    },
    /** Makes look-ups of the lists. */
    fold: (stores: Map<Store, PastStore>, indexes: Map<IndexNode, PastIndex>): void => {
      for (; placed < partitions.length; placed += 1) place(stores, partitions[placed] as Partition);
      for (const change of changes) {
        if ('cell' in change) noteEarlier(stores, change.cell, change.before, change.scope.clusters);
        else noteEarlier(stores, change, absent, emptyScope.clusters);
      }
      for (let at = 0; at < moved.length; at += 1) {
        noteMoved(indexes, moved[at] as Cell, groups[at] as Group | readonly [Group]);
      }
      clearLists();
    },
    forget: (): void => {
      for (const partition of partitions) partition.past = 'unchanged';
      for (const group of appeared) group.appeared = 0;
      partitions.length = 0;
      appeared.length = 0;
      placed = 0;
      deleted.clear();
      clearLists();
    },
  };
}

/** The members of groups at the barrier. */
function lookUps(
  stores: ReadonlyMap<Store, PastStore>,
  indexes: ReadonlyMap<IndexNode, PastIndex>,
): Pick<Past, 'members' | 'first' | 'count' | 'groups'> {
  const entryOf = (cell: Cell): Entry<unknown> => {
    const { partition, key } = cell;
    const { value } = earlierAt(stores.get(partition.store), partition.name, key) ?? cell;
    return { partition: partition.name, key, value };
  };
  const cellsOf = (index: IndexNode, name: string): Cell[] =>
    membersBefore(index.groups.get(name), indexes.get(index)?.get(name)?.cells);
  const count = (index: IndexNode, name: string): number => {
    const group = index.groups.get(name);
    return bagSize(group?.members) - (group?.appeared ?? 0) - (indexes.get(index)?.get(name)?.sum ?? 0);
  };
  return {
    members: (index, name) => cellsOf(index, name).sort(compareCells).map(entryOf),
    first: (index, name, number) =>
      count(index, name) === 0 ? [] : firstCells(cellsOf(index, name), number, () => true).map(entryOf),
    count,
    groups: (index) => {
      const names = new Set([...index.groups.keys(), ...(indexes.get(index)?.keys() ?? [])]);
      return [...names].filter((name) => count(index, name) > 0);
    },
  };
}

function place(stores: Map<Store, PastStore>, partition: Partition): void {
  const of = obtain(stores, partition.store, () => ({ partitions: new Map(), filled: [], difference: 0 }));
  if (partition.past !== 'empty') return;
  of.partitions.set(partition.name, 'empty');
  of.filled.push(partition);
}

function noteMoved(indexes: Map<IndexNode, PastIndex>, cell: Cell, of: Group | readonly [Group]): void {
  const [{ index, name }, step] = 'kind' in of ? [of, 1] : [of[0], -1];
  const changed = obtain(indexes, index, (): PastIndex => new Map());
  const group = obtain(changed, name, (): PastGroup => ({ cells: new Map(), sum: 0 }));
  group.cells.set(cell, (group.cells.get(cell) ?? 0) + step);
  group.sum += step;
}

function noteEarlier(stores: Map<Store, PastStore>, cell: Cell, value: unknown, clusters: readonly string[]): void {
  const { store, name } = cell.partition;
  const past = stores.get(store) as PastStore;
  const partition = obtain(past.partitions, name, () => ({ entries: new Map(), difference: 0 })) as ChangedPartition;
  const isThereNow = cell.value !== absent;
  let known = partition.entries.get(cell.key);
  if (known === undefined) {
    const isThere = value !== absent;
    known = { value, clusters, isThereNow: isThere };
    partition.entries.set(cell.key, known);
  }
  const step = Number(known.isThereNow) - Number(isThereNow);
  known.isThereNow = isThereNow;
  partition.difference += step;
  past.difference += step;
}

function membersBefore(group: Group | undefined, changes: ReadonlyMap<Cell, number> | undefined): Cell[] {
  const before: Cell[] = [];
  for (const cell of itemsOf(group?.members)) {
    if (cell.partition.past !== 'empty' && (changes?.get(cell) ?? 0) <= 0) before.push(cell);
  }
  for (const [cell, step] of changes ?? []) if (step < 0) before.push(cell);
  return before;
}

function obtain<Key, Value>(map: Map<Key, Value>, key: Key, create: () => Value): Value {
  let value = map.get(key);
  if (value === undefined) {
    value = create();
    map.set(key, value);
  }
  return value;
}

/** The entry of an address at the last barrier, if it has changed since. */
export function earlierAt(past: PastStore | undefined, partition: string, key: string): Earlier | undefined {
  const of = past?.partitions.get(partition);
  return of === 'empty' ? noEntry : of?.entries.get(key);
}

/** The number of entries at the last barrier, of the store or of one partition. */
export function pastSize(store: Store, past: PastStore, partition: string | undefined): number {
  if (partition === undefined) {
    return store.size + past.difference - past.filled.reduce((sum, { present }) => sum + present, 0);
  }
  const of = past.partitions.get(partition);
  return of === 'empty' ? 0 : (store.partitions.get(partition)?.present ?? 0) + (of?.difference ?? 0);
}

/** The names of the partitions that had entries at the last barrier. */
export function* pastPartitions(store: Store, past: PastStore): Iterable<string> {
  for (const name of store.partitions.keys()) if (pastSize(store, past, name) > 0) yield name;
  for (const name of past.partitions.keys()) {
    if (!store.partitions.has(name) && pastSize(store, past, name) > 0) yield name;
  }
}

/** The entries of a partition at the last barrier. */
export function* pastEntries(store: Store, past: PastStore, partition: string): Iterable<Entry<unknown>> {
  const of = past.partitions.get(partition);
  if (of === 'empty') return;
  for (const { key, value } of store.partitions.get(partition)?.cells.values() ?? []) {
    if (value !== absent && of?.entries.has(key) !== true) yield { partition, key, value };
  }
  for (const [key, { value }] of of?.entries ?? []) if (value !== absent) yield { partition, key, value };
}
