/**
 * The public face of the kernel. Every collection is keyed by (partition, key): live state is partitioned by cluster,
 * desired state by source, outputs by cluster, plain collections by the empty partition.
 */

/** An entry's address. */
export interface EntryAddress {
  readonly partition: string;
  readonly key: string;
}

/** One entry of a collection. */
export interface Entry<Value> extends EntryAddress {
  readonly value: Value;
}

/** A keyed collection; reading outside a computation shows the state after the last commit. */
export interface Collection<Value> {
  readonly name: string;
  get(partition: string, key: string): Value | undefined;
  /** Entries of one partition in no particular order. */
  entries(partition: string): Iterable<Entry<Value>>;
  partitions(): Iterable<string>;
  /** Number of entries of one partition, or of all. */
  size(partition?: string): number;
  /** Clusters that the entry could have read: interned, in canonical order. Undefined if there is no such entry. */
  scopeOf(partition: string, key: string): readonly string[] | undefined;
}

/** A collection that a source writes. Writes are staged and take effect at the next commit; the last one per key wins. */
export interface Input<Value> extends Collection<Value> {
  /**
   * Stages a value. `provenance` is handed out by `why` and is no part of the value: a change of it alone propagates
   * nothing.
   */
  set(partition: string, key: string, value: Value, provenance?: unknown): void;
  delete(partition: string, key: string): void;
  /** Stages the removal of a whole partition. */
  drop(partition: string): void;
}

/** A collection that a function fills. */
export interface Derived<Value> extends Collection<Value> {
  /** Entries of the primary collection whose function threw, under the primary's address. Readable like any other. */
  readonly failures: Collection<Failure>;
}

/** A function threw for one key. */
export interface Failure {
  readonly message: string;
}

/** One contribution to a gathered key. */
export interface Contribution<Value> {
  readonly from: EntryAddress;
  readonly value: Value;
}

/** Groups the entries of a collection; a group's members are in canonical order of (partition, key). */
export interface Index<Value> {
  readonly name: string;
  /** Outside a computation; all members, whatever their scope. */
  members(group: string): readonly Entry<Value>[];
  /** The first `count` members in canonical order, without sorting the others. */
  first(group: string, count: number): readonly Entry<Value>[];
  count(group: string): number;
  groups(): Iterable<string>;
  /** Entries whose groups could not be told, because `groups` threw: they are in no group. */
  readonly failures: Collection<Failure>;
}

/**
 * Declared, tracked reads. Reading what is absent is a dependency too. A computation sees every collection as if nothing
 * outside its scope had contributed to it: of a live input only the partitions inside, of what was derived from live
 * state only entries whose own scope is inside, of a gathered list only such contributions.
 */
export interface Reader {
  get<Value>(collection: Collection<Value>, partition: string, key: string): Value | undefined;
  /** The scope of what {@link Reader.get} would return; the same dependency. */
  scopeOf(collection: Collection<unknown>, partition: string, key: string): readonly string[] | undefined;
  /** Members in canonical order of (partition, key). */
  members<Value>(index: Index<Value>, group: string): readonly Entry<Value>[];
  /** The first `count` of {@link Reader.members}, without sorting the others; the same dependency. */
  first<Value>(index: Index<Value>, group: string, count: number): readonly Entry<Value>[];
  /** Number of members; a dependency on the number alone. */
  count<Value>(index: Index<Value>, group: string): number;
}

export type Emit<Value> = (partition: string, key: string, value: Value) => void;

/** What a derived collection is made of. */
export interface Derivation<Source, Result> {
  readonly name: string;
  /** Several collections are visited as one; their addresses must be disjoint. */
  readonly from: Collection<Source> | readonly Collection<Source>[];
  /** Computes only for the entries of this partition of `from`; for all if left out. Limits no reads. */
  readonly partition?: string;
  /** Everything that `compute` and `scope` may read besides `from`; reading anything else throws. */
  readonly reads?: readonly (Collection<never> | Index<never> | Collection<unknown> | Index<unknown>)[];
  /**
   * The clusters whose live state `compute` may read, from desired state alone: reading what comes from live state
   * throws here. Joins with the scope of the primary entry; the result is what `compute` may read and the scope of all
   * that it emits. Required if `reads` names something that comes from live state and `from` does not.
   */
  readonly scope?: (entry: Entry<Source>, read: Reader) => Iterable<string>;
  readonly compute: (entry: Entry<Source>, read: Reader, emit: Emit<Result>) => void;
  /**
   * The end of scopes: reads everything, and what it emits has no scope. For computations that judge what was
   * derived as a whole; what its values could have read must then be said in the values. Goes without `scope`.
   */
  readonly seesAll?: true;
  /** Equality by value; equal results stop propagation. Default: structural. */
  readonly equals?: (a: Result, b: Result) => boolean;
}

/** A joined derivation: visits every address that at least one of two collections has. */
export interface JoinDerivation<Left, Right, Result>
  extends Omit<Derivation<unknown, Result>, 'from' | 'partition' | 'compute' | 'scope'> {
  readonly left: Collection<Left>;
  readonly right: Collection<Right>;
  /** As of {@link Derivation}; joins with the scopes of both sides. */
  readonly scope?: (entry: JoinedEntry<Left, Right>, read: Reader) => Iterable<string>;
  readonly compute: (entry: JoinedEntry<Left, Right>, read: Reader, emit: Emit<Result>) => void;
}

/** The two sides of one address; at least one is there. */
export interface JoinedEntry<Left, Right> extends EntryAddress {
  readonly left: Left | undefined;
  readonly right: Right | undefined;
}

/**
 * One change of a watched collection. At most one of before and after is undefined. A change of the scope alone is a
 * change too, with an equal value before and after.
 */
export interface Change<Value> extends EntryAddress {
  readonly before: Value | undefined;
  readonly after: Value | undefined;
}

/** What a commit did. */
export interface CommitReport {
  /** Counts commits from 1. */
  readonly revision: number;
  /** Functions called. */
  readonly computed: number;
}

/** A walk from an output to the inputs it came from. */
export interface Why extends EntryAddress {
  readonly collection: string;
  /** For an input: what was staged beside the value. */
  readonly provenance?: unknown;
  /** There is no such entry, and that was looked at. */
  readonly absent?: true;
  /** In canonical order of (collection, partition, key). A part that is reached twice is the same object. */
  readonly because: readonly Why[];
}

/** One node's figures, for `dump` and for the leak law. */
export interface NodeSizes {
  readonly name: string;
  readonly kind: 'input' | 'derived' | 'gathered' | 'joined' | 'index' | 'graph';
  /** Sizes of every inner map by name; all zero after everything was deleted. */
  readonly maps: Readonly<Record<string, number>>;
}

/** The kernel: declares collections first (reads point backwards only, so no cycle can be said), then stages and commits. */
export interface Graph {
  /** `live`: partitions are clusters, and reads of it are limited to the reader's scope. */
  input<Value>(
    name: string,
    options?: { readonly live?: boolean; readonly equals?: (a: Value, b: Value) => boolean },
  ): Input<Value>;
  /**
   * One value per key. Two primaries that emit one key are a conflict: the first in (partition, key) order has it, the
   * others have a failure that names it; their other keys stand. One primary that emits a key twice fails.
   */
  derive<Source, Result>(derivation: Derivation<Source, Result>): Derived<Result>;
  /**
   * A list of contributions per key, in canonical order of their primaries; several of one primary in the order of their
   * emission.
   */
  gather<Source, Result>(derivation: Derivation<Source, Result>): Derived<readonly Contribution<Result>[]>;
  join<Left, Right, Result>(derivation: JoinDerivation<Left, Right, Result>): Derived<Result>;
  /** `groups` is a pure function of the entry alone. */
  index<Value>(name: string, from: Collection<Value>, groups: (entry: Entry<Value>) => Iterable<string>): Index<Value>;
  /** Collects changes of a collection; `take` empties the list (canonical order, A→B→A is no change). */
  watch<Value>(collection: Collection<Value>): { take(): readonly Change<Value>[] };
  /** Drains what is staged, in rank order, each dirty key at most once. A throw out of here is a programming error. */
  commit(): CommitReport;
  /** Undefined if there is no such entry. */
  why(collection: Collection<unknown>, partition: string, key: string): Why | undefined;
  /** Every entry that would be looked at again if this one changed; canonical order. */
  impact(
    collection: Collection<unknown>,
    partition: string,
    key: string,
  ): readonly { readonly collection: string; readonly partition: string; readonly key: string }[];
  dump(): readonly NodeSizes[];
}
