import { countOf, firstOf, membersOf } from './groups.ts';
import { absent, type IndexNode, type Store } from './state.ts';
import { findCell, presentCells, scopeOfCell } from './storage.ts';
import type { Collection, Entry, Failure, Index } from './types.ts';

/** Throws if the graph cannot be used from outside now. */
export type Guard = () => void;

/** The public face of a store: what it holds after the last commit. */
export function createCollection<Value>(store: Store, guard: Guard): Collection<Value> {
  return {
    name: store.name,
    get: (partition, key) => {
      guard();
      const cell = findCell(store, partition, key);
      return cell === undefined || cell.value === absent ? undefined : (cell.value as Value);
    },
    entries: (partition) => {
      guard();
      return entriesOf<Value>(store, partition);
    },
    partitions: () => {
      guard();
      return presentPartitions(store);
    },
    size: (partition) => {
      guard();
      return partition === undefined ? store.size : (store.partitions.get(partition)?.present ?? 0);
    },
    scopeOf: (partition, key) => {
      guard();
      const cell = findCell(store, partition, key);
      return cell === undefined || cell.value === absent ? undefined : scopeOfCell(cell).clusters;
    },
  };
}

function* entriesOf<Value>(store: Store, partition: string): Iterable<Entry<Value>> {
  for (const { key, value } of presentCells(store, partition)) yield { partition, key, value: value as Value };
}

function* presentPartitions(store: Store): Iterable<string> {
  for (const { name, present } of store.partitions.values()) if (present > 0) yield name;
}

/** The public face of an index. */
export function createIndex<Value>(node: IndexNode, failures: Collection<Failure>, guard: Guard): Index<Value> {
  return {
    name: node.name,
    failures,
    members: (name) => {
      guard();
      const group = node.groups.get(name);
      return group === undefined ? [] : (membersOf(group) as readonly Entry<Value>[]);
    },
    first: (name, count) => {
      guard();
      const group = node.groups.get(name);
      return group === undefined ? [] : (firstOf(group, count) as readonly Entry<Value>[]);
    },
    count: (name) => {
      guard();
      const group = node.groups.get(name);
      return group === undefined ? 0 : countOf(group);
    },
    groups: () => {
      guard();
      return presentGroups(node);
    },
  };
}

function* presentGroups(node: IndexNode): Iterable<string> {
  for (const { name, members } of node.groups.values()) if (members !== undefined) yield name;
}
