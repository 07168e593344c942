import { createCall } from './computation.ts';
import type { GraphNode } from './inspect.ts';
import { createPast, earlierAt, pastEntries, pastPartitions, pastSize } from './past.ts';
import { createScopeTable } from './scopes.ts';
import { absent, type IndexNode, type Kernel, type Store } from './state.ts';
import { countOf, findCell, firstOf, membersOf, presentCells, scopeOfCell } from './storage.ts';
import type { Collection, Entry, Failure, Index } from './types.ts';

/** The declared nodes of a graph, and what its public handles stand for. */
export type Registry = ReturnType<typeof createRegistry>;

/** Creates the registry of a graph without collections. */
export function createRegistry() {
  const kernel: Kernel = {
    scopes: createScopeTable(),
    past: createPast(),
    isUp: () => false,
    call: createCall(),
    computed: 0,
  };
  return {
    kernel,
    /** In order of declaration, which is the rank order: a collection can only read what was declared before it. */
    nodes: [] as GraphNode[],
    stores: new WeakMap<object, Store>(),
    indexes: new WeakMap<object, IndexNode>(),
    takenNames: new Set<string>(),
    /** `between`: a commit is under way, and waits between two slices. */
    state: 'idle' as 'idle' | 'committing' | 'between' | 'broken',
  };
}

/** Throws if a commit is under way: what walks the complete graph would see a part of it. */
export function checkIdle(registry: Registry): void {
  checkReadable(registry);
  if (registry.state === 'between' || registry.kernel.past.isShown())
    throw new Error('a commit of this graph is under way: it must end first');
}

/** Throws if the graph cannot be used from outside now. While a commit waits, readers see the state before it. */
export function checkReadable({ state }: Registry): void {
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

/** The public interface of a store: its entries at the last barrier. */
function createCollection<Value>(registry: Registry, store: Store): Collection<Value> {
  const pastOf = () => {
    checkReadable(registry);
    return store.past.ofStore(store);
  };
  return {
    name: store.name,
    get: (partition, key) => {
      const value = (earlierAt(pastOf(), partition, key) ?? findCell(store, partition, key))?.value;
      return value === absent ? undefined : (value as Value | undefined);
    },
    entries: (partition) => {
      const past = pastOf();
      const entries = past === undefined ? entriesOf(store, partition) : pastEntries(store, past, partition);
      return entries as Iterable<Entry<Value>>;
    },
    partitions: () => {
      const past = pastOf();
      return past === undefined ? presentPartitions(store) : pastPartitions(store, past);
    },
    size: (partition) => {
      const past = pastOf();
      if (past !== undefined) return pastSize(store, past, partition);
      return partition === undefined ? store.size : (store.partitions.get(partition)?.present ?? 0);
    },
    scopeOf: (partition, key) => {
      const earlier = earlierAt(pastOf(), partition, key);
      if (earlier !== undefined) return earlier.value === absent ? undefined : earlier.clusters;
      const cell = findCell(store, partition, key);
      return cell === undefined || cell.value === absent ? undefined : scopeOfCell(cell).clusters;
    },
  };
}

function* entriesOf(store: Store, partition: string): Iterable<Entry<unknown>> {
  for (const { key, value } of presentCells(store, partition)) yield { partition, key, value };
}

function* presentPartitions(store: Store): Iterable<string> {
  for (const { name, present } of store.partitions.values()) if (present > 0) yield name;
}

/** The public interface of an index. */
export function createIndex<Value>(registry: Registry, node: IndexNode, failures: Collection<Failure>): Index<Value> {
  const { past } = registry.kernel;
  const isPresent = (): boolean => {
    checkReadable(registry);
    return past.isPresent(node);
  };
  const membersNow = (name: string): readonly Entry<unknown>[] => {
    const group = node.groups.get(name);
    return group === undefined ? [] : membersOf(group);
  };
  const firstNow = (name: string, count: number): readonly Entry<unknown>[] => {
    const group = node.groups.get(name);
    return group === undefined ? [] : firstOf(group, count);
  };
  const countNow = (name: string): number => {
    const group = node.groups.get(name);
    return group === undefined ? 0 : countOf(group);
  };
  return {
    name: node.name,
    failures,
    members: (name) => (isPresent() ? membersNow(name) : past.members(node, name)) as readonly Entry<Value>[],
    first: (name, count) =>
      (isPresent() ? firstNow(name, count) : past.first(node, name, count)) as readonly Entry<Value>[],
    count: (name) => (isPresent() ? countNow(name) : past.count(node, name)),
    groups: () => (isPresent() ? presentGroups(node) : past.groups(node)),
  };
}

function* presentGroups(node: IndexNode): Iterable<string> {
  for (const { name, members } of node.groups.values()) if (members !== undefined) yield name;
}
