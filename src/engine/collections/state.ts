import type { Bag, Few } from './bag.ts';
import type { Scope, ScopeTable } from './scopes.ts';
import type { Emit, Entry, EntryAddress, Reader } from './types.ts';

/**
 * What the kernel holds, as types. There are hundreds of thousands of cells, so a cell's fields are few: it knows its
 * collection through its partition, and one bag names everything that must be told when it changes.
 */

/** The value of a cell without an entry: something depends on its address all the same. */
export const absent: unique symbol = Symbol('absent');

/** One address of a collection. */
export interface Cell {
  readonly partition: Partition;
  readonly key: string;
  /** `absent` for an address that is only waited for. */
  value: unknown;
  /** Of an input: the staged provenance. Of a derived entry: a {@link DerivedOrigin}. */
  origin: unknown;
  /** Computations to run when it changes, and the index groups that it is a member of. */
  dependents: Bag<Computation | Group>;
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
}

/** The entries of one collection. */
export interface Store {
  readonly name: string;
  readonly kind: 'input' | 'derived';
  /** A live input. */
  readonly live: boolean;
  /** Entries can have a scope: a live input, or something that comes from one. */
  readonly scoped: boolean;
  /** Something that it comes from is live state, also where its entries have no scope: no scope may be worked out from it. */
  readonly fromLive: boolean;
  /** Values are lists of contributions, parallel to the emissions of their cell. */
  readonly gathers: boolean;
  readonly scopes: ScopeTable;
  readonly equals: (a: unknown, b: unknown) => boolean;
  readonly partitions: Map<string, Partition>;
  /** Cells that are not absent. */
  size: number;
  /** Told of cells that come into being; those that change or go are found through their dependents. */
  readonly consumers: ((appeared: Cell) => void)[];
  readonly indexes: IndexNode[];
  readonly watchers: Watcher[];
}

/** Collects the changes of a store for a `watch`. */
export interface Watcher {
  note(cell: Cell, before: unknown, scopeBefore: Scope): void;
}

/** Something that a computation has read: an entry (present or not), a group's members, or their number. */
export type Source = Cell | Group | Counter;

/**
 * One call of a node's function, remembered: its primary entry, what it has read and what it has given. It is in the
 * dependents of its primary, and of everything that it has read.
 */
export interface Computation {
  readonly kind: 'computation';
  readonly node: DerivedNode;
  /** Of a join: the left side's cell, possibly absent. */
  readonly primary: Cell;
  /** Of a join: the right side's cell, possibly absent. */
  readonly right: Cell | undefined;
  /** Without primary and right. */
  reads: Few<Source>;
  outputs: Few<Cell>;
  /** The declared scope and the primary's: what may be read, and what the outputs could have been computed from. */
  scope: Scope;
}

/** One computation's value for a cell. */
export interface Emission {
  readonly by: Computation;
  readonly value: unknown;
  /** The computation's scope when it was emitted. */
  readonly scope: Scope;
}

/**
 * The origin of a cell that several computations give, or that gathers. A cell with one giver has that computation as
 * its origin, and no emission object at all.
 */
export interface Emissions {
  readonly kind: 'emissions';
  /** In canonical order of the primaries. */
  readonly list: readonly Emission[];
  readonly scope: Scope;
}

/** The origin of a failure: whose it is, and the cells that it is about. */
export interface Blame {
  readonly kind: 'blame';
  readonly of: readonly (Computation | Cell)[];
  readonly scope: Scope;
}

/** The origin, while its node is visited, of a cell whose emissions change; remembers how it was before. */
export interface Touch {
  readonly kind: 'touch';
  readonly cell: Cell;
  readonly origin: Computation | Emissions | undefined;
  readonly scope: Scope;
  withdrawn: Computation[];
  added: Emission[];
}

/** Whatever the origin of a cell of a derived store can be. Each kind says its scope. */
export type DerivedOrigin = Computation | Emissions | Blame | Touch | undefined;

/** A derived, gathered or joined collection. */
export interface DerivedNode {
  readonly kind: 'derived' | 'gathered' | 'joined';
  readonly name: string;
  readonly kernel: Kernel;
  readonly store: Store;
  readonly failures: Store;
  /** What the functions are called with. */
  readonly functions: NodeFunctions;
  /** What its functions see is not limited, and what they give has no scope. */
  readonly seesAll: boolean;
  /** Computations to be done at the next visit. */
  queue: Set<Computation>;
  /** Cells to be decided once all of the queue is computed. */
  touched: Touch[];
  /** Keys that a computation gives and another one has won. */
  readonly lost: Map<Computation, Set<Cell>>;
  /** Computations whose failure may have changed, with what they threw. */
  readonly unsettled: Map<Computation, string | undefined>;
  /** How many computations there are. */
  computations: number;
}

/** A node's functions, with the types erased. */
export interface NodeFunctions {
  readonly scope: ((entry: EntryAddress, read: Reader) => Iterable<string>) | undefined;
  readonly compute: (entry: EntryAddress, read: Reader, emit: Emit<unknown>) => void;
  readonly read: Reader;
  readonly emit: Emit<unknown>;
}

/** Members of one group of an index. It is in the dependents of each member, which is how a cell knows its groups. */
export interface Group {
  readonly kind: 'group';
  readonly index: IndexNode;
  readonly name: string;
  members: Bag<Cell>;
  /** Who has read the members. */
  dependents: Bag<Computation>;
  counter: Counter | undefined;
}

/** The number of members of a group: a source of its own, so that who counts is not woken by values. */
export interface Counter {
  readonly kind: 'counter';
  readonly group: Group;
  dependents: Bag<Computation>;
}

/** An index: its groups, and the cells whose groups must be looked at again. */
export interface IndexNode {
  readonly kind: 'index';
  readonly name: string;
  readonly from: Store;
  readonly groupsOf: (entry: Entry<unknown>) => Iterable<string>;
  readonly groups: Map<string, Group>;
  /** Members in canonical order, of groups that are costly to sort and have not changed since. */
  readonly sorted: Map<Group, readonly Entry<unknown>[]>;
  /** Entries whose groups could not be told. */
  readonly failures: Store;
  /** Pairs of member and group. */
  memberships: number;
  queue: Cell[];
}

/** What all nodes of one graph share. */
export interface Kernel {
  readonly scopes: ScopeTable;
  readonly call: Call;
  /** Functions called in the current commit. */
  computed: number;
}

/** The one computation that is running, and what it has read and given so far. The lists are reused. */
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
  /** So far the same cells in the same order as last time. */
  aligned: boolean;
}
