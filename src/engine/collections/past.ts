import { itemsOf } from './bag.ts';
import { emptyScope, type Scope } from './scopes.ts';
import {
  absent,
  type Cell,
  type Earlier,
  type Group,
  type IndexNode,
  type Past,
  type PastPartition,
  type PastStore,
  type Store,
} from './state.ts';
import { compareCells } from './storage.ts';
import type { Entry } from './types.ts';

interface Known extends Earlier {
  isThereNow: boolean;
}

/** What a cell was before. */
interface Changed {
  readonly cell: Cell;
  readonly before: unknown;
  readonly scope: Scope;
}

/** By the name of a group: the cells that have joined (positive) or left (negative) since the barrier. */
type PastIndex = Map<string, Map<Cell, number>>;

/**
 * Knows what has changed since the last barrier, so that readers outside can be shown the state of the barrier while a commit
 * is under way. A change costs a line in a list; only a pause makes look-ups of the lines, and most commits have no pause.
 */
export function createPast(): Past {
  /** Cells alone were absent: in the first commit almost all are. */
  const changes: (Cell | Changed)[] = [];
  const moved: Cell[] = [];
  /** Of each moved cell the group that it has joined; in a list, the group that it has left. */
  const groups: (Group | readonly [Group])[] = [];
  const stores = new Map<Store, PastStore>();
  const indexes = new Map<IndexNode, PastIndex>();
  let isShown = false;

  const fold = (): void => {
    for (const change of changes) {
      if ('cell' in change) noteEarlier(stores, change.cell, change.before, change.scope.clusters);
      else noteEarlier(stores, change, absent, emptyScope.clusters);
    }
    for (let at = 0; at < moved.length; at += 1) {
      const of = groups[at] as Group | readonly [Group];
      const [{ index, name }, step] = 'kind' in of ? [of, 1] : [of[0], -1];
      const changed = obtain(indexes, index, () => new Map<string, Map<Cell, number>>());
      const members = obtain(changed, name, () => new Map<Cell, number>());
      members.set(moved[at] as Cell, (members.get(moved[at] as Cell) ?? 0) + step);
    }
    clearLists();
  };
  const clearLists = (): void => {
    for (const list of [changes, moved, groups]) if (list.length > 0) list.length = 0;
  };
  const earlierOf = (cell: Cell): Known | undefined =>
    stores.get(cell.partition.store)?.partitions.get(cell.partition.name)?.entries.get(cell.key);

  return {
    note: (cell, before, scopeBefore) => {
      changes.push(before === absent && scopeBefore === emptyScope ? cell : { cell, before, scope: scopeBefore });
    },
    noteMember: (cell, group, step) => {
      moved.push(cell);
      groups.push(step === 1 ? group : [group]);
    },
    isShown: () => isShown,
    show: () => {
      fold();
      isShown = true;
    },
    hide: () => {
      isShown = false;
    },
    forget: () => {
      isShown = false;
      clearLists();
      stores.clear();
      indexes.clear();
    },
    ofStore: (store) => (isShown ? stores.get(store) : undefined),
    isPresent: (index) => !isShown || (!stores.has(index.from) && !indexes.has(index)),
    members: (index, name) => {
      const changes = indexes.get(index)?.get(name);
      const members = membersBefore(index.groups.get(name), changes);
      return members
        .sort(compareCells)
        .map((cell) => ({ partition: cell.partition.name, key: cell.key, value: (earlierOf(cell) ?? cell).value }));
    },
    count: (index, name) => membersBefore(index.groups.get(name), indexes.get(index)?.get(name)).length,
    groups: (index) => {
      const changed = indexes.get(index) ?? new Map<string, Map<Cell, number>>();
      return [...new Set([...index.groups.keys(), ...changed.keys()])].filter(
        (name) => membersBefore(index.groups.get(name), changed.get(name)).length > 0,
      );
    },
  };
}

function noteEarlier(stores: Map<Store, PastStore>, cell: Cell, value: unknown, clusters: readonly string[]): void {
  const { store, name } = cell.partition;
  const past = obtain(stores, store, () => ({ partitions: new Map<string, PastPartition>(), difference: 0 }));
  const partition = obtain(past.partitions, name, () => ({ entries: new Map<string, Known>(), difference: 0 }));
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
  const present = [...itemsOf(group?.members)];
  if (changes === undefined) return present;
  const before = present.filter((cell) => (changes.get(cell) ?? 0) <= 0);
  for (const [cell, step] of changes) if (step < 0) before.push(cell);
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
  return past?.partitions.get(partition)?.entries.get(key);
}

/** The names of the partitions that had entries at the last barrier. */
export function* pastPartitions(store: Store, past: PastStore): Iterable<string> {
  for (const { name, present } of store.partitions.values()) {
    if (present + (past.partitions.get(name)?.difference ?? 0) > 0) yield name;
  }
  for (const [name, { difference }] of past.partitions) {
    if (!store.partitions.has(name) && difference > 0) yield name;
  }
}

/** The entries of a partition at the last barrier. */
export function* pastEntries(store: Store, past: PastStore, partition: string): Iterable<Entry<unknown>> {
  const changed = past.partitions.get(partition)?.entries;
  for (const { key, value } of store.partitions.get(partition)?.cells.values() ?? []) {
    if (value !== absent && changed?.has(key) !== true) yield { partition, key, value };
  }
  for (const [key, { value }] of changed ?? []) if (value !== absent) yield { partition, key, value };
}
