import { itemsOf } from './bag.ts';
import { noteEmit, openComputation } from './computation.ts';
import { createCounts, createIndexNode } from './indexing.ts';
import { createInputNode, latestEntries, latestOf, stageDrop, stageRemoval, stageValue } from './input.ts';
import { createReader, type Readable } from './reader.ts';
import { checkReadable, createIndex, publish, type Registry, storeOf, takeName } from './registry.ts';
import { absent, type Cell, type DerivedNode, type IndexNode, type NodeFunctions, type Store } from './state.ts';
import { createStore, findCell, obtainCell } from './storage.ts';
import type {
  Collection,
  Contribution,
  Derivation,
  Derived,
  Entry,
  Failure,
  Index,
  Input,
  JoinDerivation,
} from './types.ts';
import { structurallyEqual } from './values.ts';

/** Declares an input. */
export function declareInput<Value>(
  registry: Registry,
  name: string,
  live: boolean,
  equals: ((a: Value, b: Value) => boolean) | undefined,
): Input<Value> {
  takeName(registry, name);
  const store = createStore({
    name,
    kind: 'input',
    live,
    scoped: live,
    fromLive: live,
    gathers: false,
    scopes: registry.kernel.scopes,
    past: registry.kernel.past,
    equals: (equals as Store['equals'] | undefined) ?? structurallyEqual,
  });
  const node = createInputNode(store);
  registry.nodes.push(node);
  return publish<Value, Pick<Input<Value>, 'latest' | 'latestEntries' | 'provenance' | 'set' | 'delete' | 'drop'>>(
    registry,
    store,
    {
      latest: (partition, key) => {
        checkReadable(registry);
        return latestOf(node, partition, key) as Value | undefined;
      },
      latestEntries: (partition) => {
        checkReadable(registry);
        return latestEntries(node, partition) as Iterable<Entry<Value>>;
      },
      provenance: (partition, key) => {
        checkReadable(registry);
        return findCell(store, partition, key)?.origin;
      },
      set: (partition, key, value, provenance) => {
        checkReadable(registry);
        stageValue(node, partition, key, value, provenance);
      },
      delete: (partition, key) => {
        checkReadable(registry);
        stageRemoval(node, partition, key);
      },
      drop: (partition) => {
        checkReadable(registry);
        stageDrop(node, partition);
      },
    },
  );
}

/** Declares an index. */
export function declareIndex<Value>(
  registry: Registry,
  name: string,
  from: Collection<Value>,
  groups: Parameters<typeof createIndexNode>[2],
  partitions: Collection<unknown> | undefined,
): Index<Value> {
  const among = partitions === undefined ? undefined : storeOf(registry, partitions);
  if (among?.scoped === true) throw new Error(`"${name}" is limited by "${among.name}", whose entries have scopes`);
  takeName(registry, name);
  const node = createIndexNode(name, storeOf(registry, from), groups, among);
  registry.nodes.push(node);
  const failures = publish<Failure, object>(registry, node.failures, {});
  const index = createIndex<Value>(registry, node, failures);
  registry.indexes.set(index, node);
  return index;
}

/** Declares the sizes of the groups of an index. */
export function declareCounts(registry: Registry, name: string, index: Index<unknown>): Collection<number> {
  const node = registry.indexes.get(index);
  if (node === undefined) throw new Error(`"${index.name}" is not an index of this graph`);
  takeName(registry, name);
  const counts = createCounts(name, node);
  // What a declaration writes is there at once, and no change of a commit.
  registry.kernel.past.forget();
  return publish<number, object>(registry, counts, {});
}

/** Declares a derived or gathered collection. */
export function declareDerived<Source, Result, Value>(
  registry: Registry,
  kind: 'derived' | 'gathered',
  { from, reads = [], ...derivation }: Derivation<Source, Result>,
): Derived<Value> {
  const visited: readonly Collection<Source>[] = 'name' in from ? [from] : from;
  return declareNode<Value>(registry, {
    ...(derivation as unknown as Erased),
    kind,
    primaries: visited.map((collection) => storeOf(registry, collection)),
    reads: [...visited, ...reads],
  });
}

/** Declares a join. */
export function declareJoin<Left, Right, Result>(
  registry: Registry,
  { left, right, reads = [], ...derivation }: JoinDerivation<Left, Right, Result>,
): Derived<Result> {
  const primaries = [storeOf(registry, left), storeOf(registry, right)];
  if (primaries[0] === primaries[1]) throw new Error(`"${derivation.name}" joins "${left.name}" with itself`);
  const erased = derivation as unknown as Erased;
  return declareNode<Result>(registry, { ...erased, kind: 'joined', primaries, reads: [left, right, ...reads] });
}

/** The parts of a derivation that all kinds of nodes have, with the types of values erased. */
interface Erased extends Pick<Derivation<unknown, unknown>, 'name' | 'partition' | 'keys' | 'seesAll' | 'equals'> {
  readonly scope?: NodeFunctions['scope'];
  readonly compute: NodeFunctions['compute'];
}

/** The declaration of any kind of node. */
interface Declaration extends Erased {
  readonly kind: DerivedNode['kind'];
  /** Of a join: its two sides. */
  readonly primaries: readonly Store[];
  readonly reads: readonly object[];
}

function declareNode<Value>(registry: Registry, declaration: Declaration): Derived<Value> {
  const { name, primaries } = declaration;
  takeName(registry, name);
  const node = createNode(registry, declaration);
  registry.nodes.push(node);
  const [left, right] = primaries;
  if (declaration.kind === 'joined' && left !== undefined && right !== undefined) followAddresses(node, left, right);
  else for (const from of primaries) followPrimaries(node, from, declaration);
  const failures = publish<Failure, object>(registry, node.failures, {});
  return publish<Value, Pick<Derived<Value>, 'failures'>>(registry, node.store, { failures });
}

function createNode(registry: Registry, declaration: Declaration): DerivedNode {
  const { kernel } = registry;
  const { name, kind, scope, compute, equals = structurallyEqual } = declaration;
  const readable = readableOf(registry, declaration);
  const gathers = kind === 'gathered';
  const scoped = isScoped(declaration, readable);
  const fromLive = [...declaration.primaries, ...readable.values()].some((each) => storeBehind(each).fromLive);
  const settings = {
    kind: 'derived',
    live: false,
    scoped,
    fromLive,
    scopes: kernel.scopes,
    past: kernel.past,
  } as const;
  const store = createStore({ ...settings, name, gathers, equals: gathers ? equalLists(equals) : equals });
  const failures = createStore({ ...settings, name: `${name}/failures`, gathers: false, equals: structurallyEqual });
  const functions: NodeFunctions = {
    scope,
    compute,
    read: createReader(store, kernel.call, readable),
    emit: (partition, key, value) => noteEmit(kernel.call, store, partition, key, value),
  };
  return {
    kind,
    name,
    kernel,
    store,
    failures,
    functions,
    seesAll: declaration.seesAll === true,
    queue: new Set(),
    touched: [],
    lost: new Map(),
    unsettled: new Map(),
    computations: 0,
    lists: new Map(),
    recent: undefined,
  };
}

function readableOf({ stores, indexes }: Registry, { name, reads }: Declaration): Readable {
  const readable = new Map<object, Store | IndexNode>();
  for (const handle of reads) {
    const node = stores.get(handle) ?? indexes.get(handle);
    if (node === undefined) throw new Error(`"${name}" declares to read something that is not of this graph`);
    readable.set(handle, node);
  }
  return readable;
}

/**
 * Whether entries can have a scope. Throws for a node that reads live state without declaring a scope, because it would see
 * none of it.
 */
function isScoped({ name, primaries, scope, seesAll }: Declaration, readable: Readable): boolean {
  if (seesAll && scope !== undefined) throw new Error(`"${name}" sees everything, and declares a scope`);
  if (seesAll) return false;
  if (scope !== undefined || primaries.some((store) => store.scoped)) return true;
  for (const node of readable.values()) {
    if (storeBehind(node).scoped)
      throw new Error(`"${name}" reads "${node.name}", which comes from live state: it must declare a scope`);
  }
  return false;
}

function storeBehind(node: Store | IndexNode): Store {
  return 'groups' in node ? node.from : node;
}

function equalLists(equals: Store['equals']): Store['equals'] {
  return (a, b) => {
    const left = a as readonly Contribution<unknown>[];
    const right = b as readonly Contribution<unknown>[];
    return (
      left.length === right.length &&
      left.every((one, place) => {
        const other = right[place] as Contribution<unknown>;
        if (one === other) return true;
        const sameFrom = one.from.partition === other.from.partition && one.from.key === other.from.key;
        return sameFrom && equals(one.value, other.value);
      })
    );
  };
}

/** Opens a computation of the node for every present and future entry of a store, or of one partition or such keys of it. */
export function followPrimaries(node: DerivedNode, from: Store, { partition, keys }: Erased): void {
  follow(from, (cell) => {
    if (partition !== undefined && cell.partition.name !== partition) return;
    if (keys?.(cell.key) !== false) openComputation(node, cell, undefined);
  });
}

/**
 * Opens a computation of the node for every address that at least one of two stores has. The computation depends on the
 * cells of both sides, one of which may be absent.
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
