import { createCall } from './call.ts';
import type { GraphNode } from './dump.ts';
import { createCollection } from './handles.ts';
import { createScopeTable } from './scopes.ts';
import type { IndexNode, Kernel, Store } from './state.ts';
import type { Collection } from './types.ts';

/** What a graph has declared so far, and how its public handles lead to what is behind them. */
export interface Registry {
  readonly kernel: Kernel;
  /** In order of declaration, which is the rank order: a collection can only read what was declared before it. */
  readonly nodes: GraphNode[];
  readonly stores: WeakMap<object, Store>;
  readonly indexes: WeakMap<object, IndexNode>;
  readonly takenNames: Set<string>;
  state: 'idle' | 'committing' | 'broken';
}

/** Creates the registry of a graph without collections. */
export function createRegistry(): Registry {
  return {
    kernel: { scopes: createScopeTable(), call: createCall(), computed: 0 },
    nodes: [],
    stores: new WeakMap(),
    indexes: new WeakMap(),
    takenNames: new Set(),
    state: 'idle',
  };
}

/** Throws if the graph cannot be used from outside now. */
export function checkIdle({ state }: Registry): void {
  if (state === 'committing') throw new Error('the graph was used inside a computation: read through the reader');
  if (state === 'broken') throw new Error('an earlier commit of this graph broke off: its state is not to be trusted');
}

/** Takes a name, once. */
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

/** The handle of a store, with more members if need be. */
export function publish<Value, More extends object>(
  registry: Registry,
  store: Store,
  more: More,
): Collection<Value> & More {
  const handle = { ...createCollection<Value>(store, () => checkIdle(registry)), ...more };
  registry.stores.set(handle, store);
  return handle;
}
