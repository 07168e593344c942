import type { Bag, Few } from './bag.ts';
import type { Scope, ScopeTable } from './scopes.ts';
import type { Emit, Entry, EntryAddress, Reader } from './types.ts';

/**
 * The types of the kernel's state. There are hundreds of thousands of cells, so a cell has few fields: it refers to its
 * collection through its partition, and one bag has everything that depends on it.
 */

/** The value of a cell without an entry. The cell exists because computations depend on its address. */
export const absent: unique symbol = Symbol('absent');

/** One address of a collection. */
export interface Cell {
  readonly partition: Partition;
  readonly key: string;
  /** `absent`: there is no entry at this address. */
  value: unknown;
  /** Of an input: the staged provenance. Of a derived entry: a {@link DerivedOrigin}. */
  origin: unknown;
  /** Computations to run when it changes, alone or by the list of reads that they share, and the index groups that it is a member of. */
  dependents: Bag<Computation | ReadList | Group>;
}

/** The cells of one partition. */
export interface Partition {
  readonly store: Store;
  readonly name: string;
  readonly cells: Map<string, Cell>;
  /** Cells that are not absent. */
  present: number;
  /** Of a live input: the partition itself. Empty for any other store. */
  readonly scope: Scope;
  /** What was at the last barrier, if an entry has changed since. */
  past: 'unchanged' | 'empty' | 'changed';
}

/** The entries of one collection. */
export interface Store {
  readonly name: string;
  readonly kind: 'input' | 'derived';
  /** A live input. */
  readonly live: boolean;
  /** Entries can have a scope: it is a live input, or depends on one. */
  readonly scoped: boolean;
  /** It depends on live state, also if its entries have no scope: no scope may be computed from it. */
  readonly fromLive: boolean;
  /** Values are lists of contributions, parallel to the emissions of their cell. */
  readonly gathers: boolean;
  readonly scopes: ScopeTable;
  readonly past: Past;
  readonly equals: (a: unknown, b: unknown) => boolean;
  readonly partitions: Map<string, Partition>;
  /** Cells that are not absent. */
  size: number;
  /** Called for new entries. Changed and removed entries are found through their dependents. */
  readonly consumers: ((appeared: Cell) => void)[];
  readonly indexes: IndexNode[];
  readonly watchers: Watcher[];
}

/** Collects the changes of a store for a `watch`. */
export interface Watcher {
  note(cell: Cell, before: unknown, scopeBefore: Scope): void;
}

/** What an address was at the last barrier. */
export interface Earlier {
  /** `absent`: there was no entry. */
  readonly value: unknown;
  readonly clusters: readonly string[];
}

/** The addresses of one partition that have changed since the barrier; `empty`: there was no entry. */
export type PastPartition = 'empty' | ChangedPartition;

export interface ChangedPartition {
  readonly entries: Map<string, Earlier & { isThereNow: boolean }>;
  /** Entries at the barrier minus entries now. */
  difference: number;
}

/** The addresses of one store that have changed since the barrier. */
export interface PastStore {
  readonly partitions: Map<string, PastPartition>;
  /** Partitions that were empty. */
  readonly filled: Partition[];
  /** Entries at the barrier minus entries now, without the partitions in `filled`. */
  difference: number;
}

/** The state at the last barrier. */
export interface Past {
  /** Notes that the value or scope of a cell has changed. */
  note(cell: Cell, before: unknown, scopeBefore: Scope): void;
  /** Notes that a cell has joined (1) or left (-1) a group. */
  noteMember(cell: Cell, group: Group, step: 1 | -1): void;
  /** Notes that a partition without cells was deleted. */
  noteDeleted(partition: Partition): void;
  /** Readers outside see the state of the last barrier. */
  isShown(): boolean;
  /** Shows the state of the last barrier. */
  show(): void;
  /** Shows the present state again. */
  hide(): void;
  /** From now on the present state is the state of the last barrier. */
  forget(): void;
  /** The addresses of a store that readers outside must not see as they are; undefined: all can be seen as they are. */
  ofStore(store: Store): PastStore | undefined;
  /** Whether the members of groups can be seen as they are. */
  isPresent(index: IndexNode): boolean;
  /** The members of a group at the barrier, in canonical order. */
  members(index: IndexNode, name: string): readonly Entry<unknown>[];
  /** The first of {@link members}. */
  first(index: IndexNode, name: string, count: number): readonly Entry<unknown>[];
  /** The number of {@link members}. */
  count(index: IndexNode, name: string): number;
  /** The groups of an index that had members. */
  groups(index: IndexNode): readonly string[];
}

/** What a computation can read: an entry (present or absent), the members of a group, or their number. */
export type Source = Cell | Group | Counter;

/**
 * The stored result of calling a node's function for one primary entry: what it read, and what it emitted. It is a dependent
 * of its primary and of everything that it read.
 */
export interface Computation {
  readonly kind: 'computation';
  readonly node: DerivedNode;
  /** Of a join: the left side's cell, possibly absent. */
  readonly primary: Cell;
  /** Of a join: the right side's cell, possibly absent. */
  readonly right: Cell | undefined;
  /** Sources other than `primary` and `right`. */
  reads: Few<Source> | ReadList;
  outputs: Few<Cell>;
  /** The union of the declared scope and the primary's: the limit of its reads, and the scope of its outputs. */
  scope: Scope;
}

/**
 * Several sources that several computations of one node have read. Each source has it as one dependent: what all objects of a
 * cluster read would otherwise know each of them.
 */
export interface ReadList {
  readonly kind: 'reads';
  readonly sources: readonly Source[];
  readers: Bag<Computation>;
}

/** One computation's value for a cell. */
export interface Emission {
  readonly by: Computation;
  readonly value: unknown;
  /** The computation's scope when it was emitted. */
  readonly scope: Scope;
}

/**
 * The origin of a cell with several emissions. The origin of any other cell is its one emitting computation, without an
 * emission object.
 */
export interface Emissions {
  readonly kind: 'emissions';
  /** In canonical order of the primaries. */
  readonly list: readonly Emission[];
  readonly scope: Scope;
}

/** The origin of a failure: its computation or cell, and the cells that it is about. */
export interface Blame {
  readonly kind: 'blame';
  readonly of: readonly (Computation | Cell)[];
  readonly scope: Scope;
}

/** The origin of the size of a group. */
export interface Counted {
  readonly kind: 'counted';
  readonly group: Group;
  readonly scope: Scope;
}

/** The origin of a cell whose emissions change, while its node is visited; stores the previous origin. */
export interface Touch {
  readonly kind: 'touch';
  readonly cell: Cell;
  readonly origin: Computation | Emissions | undefined;
  readonly scope: Scope;
  withdrawn: Computation[];
  added: Emission[];
}

/** The origin of a cell of a derived store. Each kind has a scope. */
export type DerivedOrigin = Computation | Emissions | Blame | Touch | Counted | undefined;

/** A derived, gathered or joined collection. */
export interface DerivedNode {
  readonly kind: 'derived' | 'gathered' | 'joined';
  readonly name: string;
  readonly kernel: Kernel;
  readonly store: Store;
  readonly failures: Store;
  readonly functions: NodeFunctions;
  /** Its functions can read everything, and its outputs have no scope. */
  readonly seesAll: boolean;
  /** Computations for the next visit. */
  queue: Set<Computation>;
  /** Cells to decide after the queue. */
  touched: Touch[];
  /** Keys that a computation emits and another one has won. */
  readonly lost: Map<Computation, Set<Cell>>;
  /** Computations whose failure may have changed, with what they threw. */
  readonly unsettled: Map<Computation, string | undefined>;
  /** How many computations there are. */
  computations: number;
  /** The lists of reads that computations share, by their last source. */
  readonly lists: Map<Source, Bag<ReadList>>;
  /** The last computation with several reads of its own: the next one may share them. */
  recent: Computation | undefined;
}

/** A node's functions and their arguments, with the types erased. */
export interface NodeFunctions {
  readonly scope: ((entry: EntryAddress, read: Reader) => Iterable<string>) | undefined;
  readonly compute: (entry: EntryAddress, read: Reader, emit: Emit<unknown>) => void;
  readonly read: Reader;
  readonly emit: Emit<unknown>;
}

/** A group of an index. It is a dependent of each of its members. */
export interface Group {
  readonly kind: 'group';
  readonly index: IndexNode;
  readonly name: string;
  members: Bag<Cell>;
  /** The number of members from partitions that were empty at the last barrier. */
  appeared: number;
  /** The computations that have read the members. */
  dependents: Bag<Computation | ReadList>;
  counter: Counter | undefined;
}

/** The number of members of a group: a separate source, so that changed values do not wake computations that only count. */
export interface Counter {
  readonly kind: 'counter';
  readonly group: Group;
  dependents: Bag<Computation | ReadList>;
}

/** An index: its groups, and the cells whose groups must be updated. */
export interface IndexNode {
  readonly kind: 'index';
  readonly name: string;
  readonly from: Store;
  /** Only cells of partitions that are keys of this store are in groups; undefined: all. */
  readonly among: Store | undefined;
  readonly groupsOf: (entry: Entry<unknown>) => Iterable<string>;
  readonly groups: Map<string, Group>;
  /** The sorted members of larger groups, until a member changes. */
  readonly sorted: Map<Group, readonly Entry<unknown>[]>;
  /** Entries for which `groupsOf` threw. */
  readonly failures: Store;
  /** The sizes of the groups, by their names, as collections. */
  readonly counts: Store[];
  /** Pairs of member and group. */
  memberships: number;
  queue: Cell[];
}

/** The rest of a visit: yields where a slice of the commit ends. */
export type Slices = Generator<void, void, void>;

/** What all nodes of one graph share. */
export interface Kernel {
  readonly scopes: ScopeTable;
  readonly past: Past;
  /** Asked after each record of work: true ends the slice. */
  isUp: () => boolean;
  readonly call: Call;
  /** Functions called in the current commit. */
  computed: number;
}

/** The running computation, with its reads and emissions so far. The lists are reused. */
export interface Call {
  /** Undefined between computations: readers and emitters refuse to work. */
  computation: Computation | undefined;
  /** What may be read now; undefined while the scope itself is being computed. */
  scope: Scope | undefined;
  readonly reads: Source[];
  /** For more reads than a list can be searched for. */
  seen: Set<Source> | undefined;
  readonly cells: Cell[];
  readonly values: unknown[];
  /** So far it has emitted to the same cells in the same order as the last time. */
  aligned: boolean;
}
