import type {
  Collection,
  Derived,
  Emit,
  Entry,
  EntryAddress,
  Graph,
  Index,
  Input,
  Reader,
} from '../../../src/engine/collections/types.ts';
import { frozen, numberOf, textOf } from './digest.ts';
import { clusters, type GraphSpec, type History, keys, type NodeSpec, partitions, type Write } from './spec.ts';

/** The part of a graph that declaring and committing takes; the oracle has it too. */
export type Buildable = Pick<Graph, 'input' | 'derive' | 'gather' | 'join' | 'index' | 'counts' | 'commit'>;

/** A random graph that was declared. */
export interface Built {
  readonly inputs: readonly { readonly input: Input<unknown>; readonly live: boolean }[];
  /** Everything that holds entries, failures too; in order of declaration. */
  readonly collections: readonly Collection<unknown>[];
  readonly indexes: readonly Index<unknown>[];
  /** By position in the specification: the collection, or nothing for an index. */
  readonly nodes: readonly BuiltNode[];
}

/** One node that was declared. */
export interface BuiltNode {
  readonly spec: NodeSpec;
  readonly name: string;
  readonly collection: Collection<unknown> | undefined;
  readonly failures: Collection<unknown> | undefined;
  readonly index: Index<unknown> | undefined;
  /** Comes from live state. */
  readonly scoped: boolean;
  /** Comes from live state, whether its entries have a scope or not. */
  readonly fromLive: boolean;
  /** What an outsider can change in it is told by its scope: see the law of scopes. */
  readonly closed: boolean;
  /** Reading one entry of it shows nothing that an outsider could change. */
  readonly readable: boolean;
}

/** A value of an input. With `poison` the function of that name throws, or gives nothing if it is to be silent. */
export interface InputValue {
  readonly n: number;
  readonly poison?: string;
}

/** How to build. `silent`: a poisoned function gives nothing instead of throwing. */
export interface BuildOptions {
  readonly silent?: boolean;
}

/** Declares the graph of a specification. */
export function buildGraph(graph: Buildable, spec: GraphSpec, options: BuildOptions = {}): Built {
  const nodes: BuiltNode[] = [];
  const inputs: { input: Input<unknown>; live: boolean }[] = [];
  spec.forEach((node, at) => {
    const name = `n${at}`;
    switch (node.kind) {
      case 'input': {
        const input = graph.input<unknown>(name, { live: node.live });
        inputs.push({ input, live: node.live });
        nodes.push({
          ...plainNode(node, name),
          collection: input,
          scoped: node.live,
          fromLive: node.live,
          closed: true,
          readable: true,
        });
        return;
      }
      case 'index':
        nodes.push(declareIndex(graph, node, name, nodes));
        return;
      case 'counts':
        nodes.push(declareCounts(graph, node, name, nodes));
        return;
      default:
        nodes.push(declareDerived(graph, node, name, nodes, options));
    }
  });
  return {
    inputs,
    collections: nodes.flatMap(({ collection, failures }) => [collection, failures]).filter((one) => one !== undefined),
    indexes: nodes.flatMap(({ index }) => (index === undefined ? [] : [index])),
    nodes,
  };
}

function plainNode(spec: NodeSpec, name: string) {
  return { spec, name, collection: undefined, failures: undefined, index: undefined };
}

type IndexSpec = Extract<NodeSpec, { kind: 'index' | 'counts' }>;
type DerivedSpec = Exclude<NodeSpec, { kind: 'index' | 'counts' | 'input' }>;

function pickCollection(nodes: readonly BuiltNode[], at: number): BuiltNode & { collection: Collection<unknown> } {
  const candidates = nodes.filter((node) => node.collection !== undefined);
  return candidates[at % candidates.length] as BuiltNode & { collection: Collection<unknown> };
}

function declareIndex(graph: Buildable, spec: IndexSpec, name: string, nodes: readonly BuiltNode[]): BuiltNode {
  const from = pickCollection(nodes, spec.from);
  const index = graph.index(name, from.collection, ({ key, value }) => {
    const number = numberOf(spec.salt, value);
    if (spec.throwsOneIn > 0 && number % spec.throwsOneIn === 0) throw new Error(`no groups for ${key}`);
    return [`g${number % 3}`, ...(number % 5 === 0 ? [`g${(number + 1) % 3}`, 'all'] : [])];
  });
  const closed = !from.scoped || from.closed;
  return {
    ...plainNode(spec, name),
    index,
    failures: index.failures,
    scoped: from.scoped,
    fromLive: from.fromLive,
    closed,
    readable: closed,
  };
}

/** Like a node that sees everything, it counts what an outsider can change. */
function declareCounts(graph: Buildable, spec: IndexSpec, name: string, nodes: readonly BuiltNode[]): BuiltNode {
  const { index, fromLive } = declareIndex(graph, spec, `${name}Index`, nodes);
  const collection = graph.counts(name, index as Index<unknown>);
  const isOpen = fromLive;
  return { ...plainNode(spec, name), collection, scoped: false, fromLive, closed: !isOpen, readable: !isOpen };
}

interface BuiltRead {
  readonly target: Collection<unknown> | Index<unknown>;
  readonly index: Index<unknown> | undefined;
  readonly collection: Collection<unknown> | undefined;
  readonly scoped: boolean;
  /** Comes from live state, whether its entries have a scope or not. */
  readonly fromLive: boolean;
  readonly readable: boolean;
  readonly address: 'own' | 'fixed' | 'computed';
  readonly count: boolean;
}

function builtReads(spec: DerivedSpec, nodes: readonly BuiltNode[]): BuiltRead[] {
  return spec.reads.map(({ node: at, failures, address, count }) => {
    const node = nodes[at % nodes.length] as BuiltNode;
    const collection = failures ? (node.failures ?? node.collection) : node.collection;
    const target = collection ?? (node.index as Index<unknown>);
    const isFailures = collection !== undefined && collection === node.failures;
    // Who loses a contested key is told by what others give, inside the reader's scope or not.
    const readable = node.readable && (!isFailures || !node.scoped || node.closed);
    const index = collection === undefined ? node.index : undefined;
    return { target, index, collection, scoped: node.scoped, fromLive: node.fromLive, readable, address, count };
  });
}

function declareDerived(
  graph: Buildable,
  spec: DerivedSpec,
  name: string,
  nodes: readonly BuiltNode[],
  { silent = false }: BuildOptions,
): BuiltNode {
  const fromNode = pickCollection(nodes, spec.from);
  const from = spec.fromFailures ? (fromNode.failures ?? fromNode.collection) : fromNode.collection;
  const rightNode = pickCollection(nodes, spec.right);
  const isPair = rightNode.collection !== from;
  const joins = spec.kind === 'join' && isPair;
  const unites = (spec.kind === 'gather' || (spec.kind === 'derive' && spec.right % 3 === 0)) && isPair;
  const isRightPrimary = joins || unites;
  const reads = builtReads(spec, nodes);
  const scopedPrimary = fromNode.scoped || (isRightPrimary && rightNode.scoped);
  const declaresScope = !spec.seesAll && (spec.scoped || (!scopedPrimary && reads.some((read) => read.scoped)));
  const livePrimary = fromNode.fromLive || (isRightPrimary && rightNode.fromLive);
  const fromLive = livePrimary || reads.some((read) => read.fromLive);
  const declaration = {
    name,
    reads: reads.map(({ target }) => target),
    ...(declaresScope ? { scope: scopeFunction(spec, reads, livePrimary) } : {}),
    ...(spec.seesAll ? { seesAll: true as const } : {}),
    compute: computeFunction(spec, name, reads, silent),
    ...(spec.equals === 'default' ? {} : { equals: spec.equals === 'text' ? sameText : throwing }),
  };
  const partition = spec.onlyPartition === undefined ? undefined : partitions[spec.onlyPartition];
  const primaries = {
    from: unites ? [from, rekeyed(graph, name, rightNode.collection)] : from,
    ...(partition === undefined ? {} : { partition }),
    ...(spec.withoutKey === undefined ? {} : { keys: (key: string) => key !== keys[spec.withoutKey ?? 0] }),
  };
  const collection: Derived<unknown> = joins
    ? graph.join<unknown, unknown, unknown>({ ...declaration, left: from, right: rightNode.collection })
    : spec.kind === 'gather'
      ? graph.gather<unknown, unknown>({ ...declaration, ...primaries })
      : graph.derive<unknown, unknown>({ ...declaration, ...primaries });
  const closedPrimary =
    fromNode.closed &&
    (from !== fromNode.failures || fromNode.closed) &&
    (!isRightPrimary || rightNode.closed) &&
    (!joins || (isOwnScope(fromNode) && isOwnScope(rightNode)));
  const pure = closedPrimary && reads.every((read) => read.readable);
  const alone = spec.emission === 'own' || spec.emission === 'seldom' || spec.emission === 'spread';
  return {
    ...plainNode(spec, name),
    collection,
    failures: collection.failures,
    scoped: !spec.seesAll && (scopedPrimary || declaresScope),
    fromLive,
    // The output of a collection that sees everything changes with everything, and so do its readers.
    closed: pure && alone && spec.kind !== 'gather' && !(spec.seesAll && fromLive),
    readable: pure && !(spec.seesAll && fromLive),
  };
}

/** The entries of a collection under other keys: collections that are gathered together must have disjoint addresses. */
function rekeyed(graph: Buildable, name: string, from: Collection<unknown>): Collection<unknown> {
  return graph.derive<unknown, unknown>({
    name: `${name}Rekeyed`,
    from,
    compute: ({ partition, key, value }, _read, emit) => emit(partition, `${name} ${key}`, value),
  });
}

/** The address alone tells the scope of an entry, there or not: a live input's, and what never has one. */
function isOwnScope(node: BuiltNode): boolean {
  return !node.scoped || node.spec.kind === 'input';
}

function scopeFunction(spec: DerivedSpec, reads: readonly BuiltRead[], livePrimary: boolean) {
  return (entry: EntryAddress & { value?: unknown }, read: Reader): string[] => {
    const { partition, key } = entry;
    let number = numberOf(spec.salt, partition, key, livePrimary ? undefined : entry);
    for (const { collection, scoped, fromLive } of reads) {
      if (collection !== undefined && !scoped && !fromLive)
        number = numberOf(number, read.get(collection, partition, key));
    }
    if (spec.throwsOneIn > 0 && number % (4 * spec.throwsOneIn) === 0) throw new Error('no scope');
    return clusters.filter((_cluster, at) => ((number >> at) & 1) === 1).reverse();
  };
}

function computeFunction(spec: DerivedSpec, name: string, reads: readonly BuiltRead[], silent: boolean) {
  return (entry: EntryAddress, read: Reader, emit: Emit<unknown>): void => {
    if (isPoisoned(entry, name)) {
      if (silent) return;
      emit('', 'half', 'this must never be seen');
      throw new Error('poisoned');
    }
    let number = numberOf(spec.salt, entry);
    for (const one of reads) number = numberOf(number, readOne(one, entry, number, read));
    if (spec.emission !== 'seldom' || number % 2 === 0) emitAll(spec, entry, number, emit);
    if (spec.throwsOneIn > 0 && number % spec.throwsOneIn === 0) throw new Error(`thrown by ${name} at ${number % 3}`);
  };
}

function isPoisoned(entry: EntryAddress, name: string): boolean {
  const { value, left } = entry as { value?: InputValue; left?: InputValue };
  return value?.poison === name || left?.poison === name;
}

function readOne({ collection, index, address, count }: BuiltRead, entry: EntryAddress, number: number, read: Reader) {
  if (index !== undefined) {
    const group = address === 'fixed' ? 'all' : `g${(address === 'own' ? numberOf(entry.key) : number) % 3}`;
    if (count) return read.count(index, group);
    return number % 2 === 0 ? read.members(index, group) : read.first(index, group, 2);
  }
  if (collection === undefined) return undefined;
  const partition = address === 'computed' ? [...partitions, ...clusters][number % 6] : entry.partition;
  const key = address === 'own' ? entry.key : keys[address === 'fixed' ? 0 : (number >>> 3) % 4];
  const value = read.get(collection, partition as string, key as string);
  return count ? [value, read.scopeOf(collection, partition as string, key as string)] : value;
}

function emitAll(spec: DerivedSpec, { partition, key }: EntryAddress, number: number, emit: Emit<unknown>): void {
  const value = frozen(spec.coarse ? { n: number % 2 } : { n: number, of: [partition, key] });
  switch (spec.emission) {
    case 'own':
    case 'seldom':
      emit(partition, key, value);
      break;
    case 'spread':
      for (const cluster of clusters.filter((_one, at) => ((number >> (at + 4)) & 1) === 1)) {
        emit(cluster, `${partition}.${key}`, value);
      }
      break;
    case 'collide':
      emit(clusters[number % 2] as string, keys[(number >>> 5) % 3] as string, value);
      emit('', 'k1', value);
      break;
    case 'twice':
      emit(partition, key, value);
      emit(partition, number % 3 === 0 ? key : 'other', value);
      break;
    default:
      spec.emission satisfies never;
  }
}

function sameText(a: unknown, b: unknown): boolean {
  return textOf(a) === textOf(b);
}

function throwing(): boolean {
  throw new Error('an equality that throws');
}

/** Stages one write of a history. */
export function stage(
  { inputs }: Built,
  write: Write,
  revised: (value: InputValue) => InputValue = (value) => value,
): void {
  const { input, live } = inputs[write.input % inputs.length] as Built['inputs'][number];
  const partition = (live ? clusters : partitions)[write.partition] as string;
  if (write.op === 'drop') {
    input.drop(partition);
    return;
  }
  const key = keys[write.key] as string;
  if (write.op === 'delete') input.delete(partition, key);
  else input.set(partition, key, frozen(revised({ n: write.value })), { staged: write.value });
}

/** Plays a history: all writes of a batch, then a commit. */
export function play(graph: Buildable, built: Built, history: History, afterCommit: () => void = () => {}): void {
  for (const batch of history) {
    for (const write of batch) stage(built, write);
    graph.commit();
    afterCommit();
  }
}

/** All entries of a collection with their scopes, sorted. */
export function entriesOf(collection: Collection<unknown>): (Entry<unknown> & { readonly scope: readonly string[] })[] {
  return [...collection.partitions()]
    .sort()
    .flatMap((partition) =>
      [...collection.entries(partition)]
        .map(({ key, value }) => ({ partition, key, value, scope: collection.scopeOf(partition, key) ?? [] }))
        .sort((a, b) => (a.key < b.key ? -1 : 1)),
    );
}

/**
 * The bytes of everything that a graph holds: collections with values and scopes, indexes with members in their order.
 * Without the entry at `except` (collection, partition, key).
 */
export function bytesOf({ collections, indexes }: Built, except?: readonly [string, string, string]): string {
  return textOf({
    collections: collections.map((one) => {
      const entries = entriesOf(one).filter(
        ({ partition, key }) => except === undefined || textOf([one.name, partition, key]) !== textOf(except),
      );
      return [one.name, entries];
    }),
    sizes: collections.map((one) => (one.name === except?.[0] ? 0 : one.size() - entriesOf(one).length)),
    indexes: indexes.map((one) => [
      one.name,
      [...one.groups()]
        .sort()
        .map((group) => [
          group,
          one.count(group),
          one.members(group).map(({ partition, key, value }) => [partition, key, value]),
          one.first(group, 2).map(({ partition, key, value }) => [partition, key, value]),
        ]),
    ]),
  });
}
