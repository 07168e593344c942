import { createCall } from './computation.ts';
import type { GraphNode } from './inspect.ts';
import { createScopeTable } from './scopes.ts';
import { absent, type Cell, type Group, type IndexNode, type Kernel, type Store } from './state.ts';
import { countOf, findCell, firstOf, membersOf, presentCells, scopeOfCell } from './storage.ts';
import type { Collection, Entry, Failure, Index } from './types.ts';

/** The declared nodes of a graph, and what its public handles stand for. */
export type Registry = ReturnType<typeof createRegistry>;

/** Creates the registry of a graph without collections. */
export function createRegistry() {
  const kernel: Kernel = { scopes: createScopeTable(), call: createCall(), computed: 0 };
  return {
    kernel,
    /** In order of declaration, which is the rank order: a collection can only read what was declared before it. */
    nodes: [] as GraphNode[],
    stores: new WeakMap<object, Store>(),
    indexes: new WeakMap<object, IndexNode>(),
    takenNames: new Set<string>(),
    state: 'idle' as 'idle' | 'committing' | 'broken',
  };
}

/** Throws if the graph cannot be used from outside now. */
export function checkIdle({ state }: Registry): void {
  if (state === 'committing') throw new Error('the graph was used inside a computation: read through the reader');
  if (state === 'broken') throw new Error('an earlier commit of this graph failed: its state is inconsistent');
}

/** Reserves a name. Throws if it is taken. */
export function takeName(registry: Registry, name: string): void {
  checkIdle(registry);
  if (registry.takenNames.has(name)) throw new Error(`there already is a collection or index "${name}"`);
  registry.takenNames.add(name);
}

/** The store behind a handle of this graph. */
export function storeOf(registry: Registry, collection: { readonly name: string }): Store {
  const store = registry.stores.get(collection);
  if (store === undefined) throw new Error(`"${collection.name}" is not a collection of this graph`);
  return store;
}

/** Creates the handle of a store, with further members. */
export function publish<Value, More extends object>(
  registry: Registry,
  store: Store,
  more: More,
): Collection<Value> & More {
  const handle = { ...createCollection<Value>(registry, store), ...more };
  registry.stores.set(handle, store);
  return handle;
}

/** The public interface of a store: its entries after the last commit. */
function createCollection<Value>(registry: Registry, store: Store): Collection<Value> {
  const presentCell = (partition: string, key: string): Cell | undefined => {
    checkIdle(registry);
    const cell = findCell(store, partition, key);
    return cell?.value === absent ? undefined : cell;
  };
  return {
    name: store.name,
    get: (partition, key) => presentCell(partition, key)?.value as Value | undefined,
    entries: (partition) => {
      checkIdle(registry);
      return entriesOf<Value>(store, partition);
    },
    partitions: () => {
      checkIdle(registry);
      return presentPartitions(store);
    },
    size: (partition) => {
      checkIdle(registry);
      return partition === undefined ? store.size : (store.partitions.get(partition)?.present ?? 0);
    },
    scopeOf: (partition, key) => {
      const cell = presentCell(partition, key);
      return cell === undefined ? undefined : scopeOfCell(cell).clusters;
    },
  };
}

function* entriesOf<Value>(store: Store, partition: string): Iterable<Entry<Value>> {
  for (const { key, value } of presentCells(store, partition)) yield { partition, key, value: value as Value };
}

function* presentPartitions(store: Store): Iterable<string> {
  for (const { name, present } of store.partitions.values()) if (present > 0) yield name;
}

/** The public interface of an index. */
export function createIndex<Value>(registry: Registry, node: IndexNode, failures: Collection<Failure>): Index<Value> {
  const groupOf = (name: string): Group | undefined => {
    checkIdle(registry);
    return node.groups.get(name);
  };
  return {
    name: node.name,
    failures,
    members: (name) => {
      const group = groupOf(name);
      return group === undefined ? [] : (membersOf(group) as readonly Entry<Value>[]);
    },
    first: (name, count) => {
      const group = groupOf(name);
      return group === undefined ? [] : (firstOf(group, count) as readonly Entry<Value>[]);
    },
    count: (name) => {
      const group = groupOf(name);
      return group === undefined ? 0 : countOf(group);
    },
    groups: () => {
      checkIdle(registry);
      return presentGroups(node);
    },
  };
}

function* presentGroups(node: IndexNode): Iterable<string> {
  for (const { name, members } of node.groups.values()) if (members !== undefined) yield name;
}
