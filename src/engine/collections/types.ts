/**
 * The public interface of the kernel. Every collection is keyed by (partition, key): live state and outputs are partitioned
 * by cluster, desired state by source; other collections have one partition with the empty name.
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

/**
 * A keyed collection. Outside a computation its methods return the state after the last commit; while a commit is under way,
 * the state before it.
 */
export interface Collection<Value> {
  readonly name: string;
  get(partition: string, key: string): Value | undefined;
  /** Entries of one partition in no particular order. */
  entries(partition: string): Iterable<Entry<Value>>;
  partitions(): Iterable<string>;
  /** Number of entries of one partition, or of all. */
  size(partition?: string): number;
  /** The scope of the entry: interned, in canonical order. Undefined: there is no such entry. */
  scopeOf(partition: string, key: string): readonly string[] | undefined;
}

/** A collection that is written from outside. Writes are staged and take effect at the next commit; the last one of a key wins. */
export interface Input<Value> extends Collection<Value> {
  /** The value that the address has when everything staged is committed: what a writer reads who depends on earlier writes. */
  latest(partition: string, key: string): Value | undefined;
  /** The entries that the partition has then, in no particular order. */
  latestEntries(partition: string): Iterable<Entry<Value>>;
  /** What was staged with the value that was written last; while a commit is under way, that may be a later value. */
  provenance(partition: string, key: string): unknown;
  /**
   * Stages a value. `provenance` is returned by `why` and is no part of the value: a change of it alone is not propagated.
   */
  set(partition: string, key: string, value: Value, provenance?: unknown): void;
  delete(partition: string, key: string): void;
  /** Stages the removal of a whole partition. */
  drop(partition: string): void;
}

/** A collection that is computed by a function. */
export interface Derived<Value> extends Collection<Value> {
  /** The failures of the function, by the address of the primary entry. Readable like any other collection. */
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
  /** All members, of any scope. For use outside a computation. */
  members(group: string): readonly Entry<Value>[];
  /** The first `count` members in canonical order, without sorting the others. */
  first(group: string, count: number): readonly Entry<Value>[];
  count(group: string): number;
  groups(): Iterable<string>;
  /** Entries for which the function of the groups threw: they are in no group. */
  readonly failures: Collection<Failure>;
}

/**
 * Declared, tracked reads. Reading an absent entry is a dependency too. A computation sees every collection as if no cluster
 * outside its scope existed: partitions of live inputs, entries of derived collections and contributions of gathered lists are left
 * out unless their scope is inside.
 */
export interface Reader {
  get<Value>(collection: Collection<Value>, partition: string, key: string): Value | undefined;
  /** The scope of the value of {@link Reader.get}; the same dependency. */
  scopeOf(collection: Collection<unknown>, partition: string, key: string): readonly string[] | undefined;
  /** Members in canonical order of (partition, key). */
  members<Value>(index: Index<Value>, group: string): readonly Entry<Value>[];
  /** The first `count` of {@link Reader.members}, without sorting the others; the same dependency. */
  first<Value>(index: Index<Value>, group: string, count: number): readonly Entry<Value>[];
  /** Number of members; a dependency on the number alone. */
  count<Value>(index: Index<Value>, group: string): number;
}

export type Emit<Value> = (partition: string, key: string, value: Value) => void;

/** The declaration of a derived collection. */
export interface Derivation<Source, Result> {
  readonly name: string;
  /** Several collections are visited as one; their addresses must be disjoint. */
  readonly from: Collection<Source> | readonly Collection<Source>[];
  /** Computes only for the entries of this partition of `from`; absent: for all. Does not limit reads. */
  readonly partition?: string;
  /** Computes only for the entries of `from` with such a key; absent: for all. Pure. Does not limit reads. */
  readonly keys?: (key: string) => boolean;
  /** Everything that `compute` and `scope` can read besides `from`; reading anything else throws. */
  readonly reads?: readonly (Collection<never> | Index<never> | Collection<unknown> | Index<unknown>)[];
  /**
   * The clusters whose live state `compute` can read. Computed from desired state alone: reading a collection that depends on
   * live state throws here. The union with the scope of the primary entry limits the reads of `compute` and is the scope of
   * its emissions. Required if a collection in `reads` depends on live state and `from` does not.
   */
  readonly scope?: (entry: Entry<Source>, read: Reader) => Iterable<string>;
  readonly compute: (entry: Entry<Source>, read: Reader, emit: Emit<Result>) => void;
  /**
   * Reads without limit, and its emissions have no scope. For computations that judge all derived state together; their values
   * must state the clusters that they can depend on. Excludes `scope`.
   */
  readonly seesAll?: true;
  /** Equality by value; equal results stop propagation. Default: structural. */
  readonly equals?: (a: Result, b: Result) => boolean;
}

/** The declaration of a join: it computes for every address that at least one of two collections has. */
export interface JoinDerivation<Left, Right, Result>
  extends Omit<Derivation<unknown, Result>, 'from' | 'partition' | 'keys' | 'compute' | 'scope'> {
  readonly left: Collection<Left>;
  readonly right: Collection<Right>;
  /** See {@link Derivation}. The union of this scope and the scopes of both sides counts. */
  readonly scope?: (entry: JoinedEntry<Left, Right>, read: Reader) => Iterable<string>;
  readonly compute: (entry: JoinedEntry<Left, Right>, read: Reader, emit: Emit<Result>) => void;
}

/** The entries of both collections at one address; at least one is defined. */
export interface JoinedEntry<Left, Right> extends EntryAddress {
  readonly left: Left | undefined;
  readonly right: Right | undefined;
}

/**
 * A change of a watched collection. At most one of `before` and `after` is undefined. After a change of the scope alone both
 * values are equal.
 */
export interface Change<Value> extends EntryAddress {
  readonly before: Value | undefined;
  readonly after: Value | undefined;
}

/** The changes of a collection since they were taken last. */
export interface Watch<Value> {
  /** In canonical order. */
  take(): readonly Change<Value>[];
  /** In the order in which they happened, each computed when it is asked for: for code that works in slices. All are taken at once. */
  drain(): Iterable<Change<Value>>;
}

/** What a commit did. */
export interface CommitReport {
  /** Counts commits from 1. */
  readonly revision: number;
  /** The number of called functions. */
  readonly computed: number;
}

/** The tree of entries that an entry depends on. */
export interface Why extends EntryAddress {
  readonly collection: string;
  /** Of an entry of an input: what was staged with the value. */
  readonly provenance?: unknown;
  /** The computation read the address, and there is no entry. */
  readonly absent?: true;
  /** In canonical order of (collection, partition, key). A part with several parents is the same object. */
  readonly because: readonly Why[];
}

/** The sizes of one node, for `dump` and for the law that nothing leaks. */
export interface NodeSizes {
  readonly name: string;
  readonly kind: 'input' | 'derived' | 'gathered' | 'joined' | 'index' | 'graph';
  /** The sizes of all its maps by name; all zero after everything was deleted. */
  readonly maps: Readonly<Record<string, number>>;
}

/** The kernel. A collection can read only collections that were declared before it, so there are no cycles. */
export interface Graph {
  /** `live`: its partitions are clusters, and reads of it are limited to the reader's scope. */
  input<Value>(
    name: string,
    options?: { readonly live?: boolean; readonly equals?: (a: Value, b: Value) => boolean },
  ): Input<Value>;
  /**
   * One value for each key. If two primaries emit one key, the first in the order of (partition, key) wins, and the other one
   * has a failure that names the winner; its other keys are not affected. A primary that emits a key twice fails.
   */
  derive<Source, Result>(derivation: Derivation<Source, Result>): Derived<Result>;
  /**
   * A list of contributions for each key, in canonical order of their primaries; several of one primary in the order of
   * emission.
   */
  gather<Source, Result>(derivation: Derivation<Source, Result>): Derived<readonly Contribution<Result>[]>;
  join<Left, Right, Result>(derivation: JoinDerivation<Left, Right, Result>): Derived<Result>;
  /**
   * `groups` is a pure function of the entry alone. `partitions`: only entries of partitions that are keys of this collection, in
   * its empty partition, are in groups; it must not have scopes. Absent: all.
   */
  index<Value>(
    name: string,
    from: Collection<Value>,
    groups: (entry: Entry<Value>) => Iterable<string>,
    options?: { readonly partitions?: Collection<unknown> },
  ): Index<Value>;
  /**
   * The groups of an index that have members, each with their number. Partition empty, key the group. Counts members of every
   * scope, and its entries have none, as after `seesAll`.
   */
  counts(name: string, index: Index<unknown>): Collection<number>;
  /** Collects the changes of a collection. A→B→A is no change. */
  watch<Value>(collection: Collection<Value>): Watch<Value>;
  /**
   * Applies the staged writes and recomputes in rank order, each changed key at most once. Throws only for a defect. A commit
   * that is under way is run to its end instead: what was staged meanwhile is in the next one.
   */
  commit(): CommitReport;
  /**
   * Begins a commit, or goes on with the one that is under way. `isUp` is asked after each record of work, such as one written
   * entry or one called function; when it is true the commit stops there and returns undefined. Until `barrier` closes it,
   * readers outside can be shown the state before it, see `pause`; so several commits can have one barrier.
   */
  advance(isUp: () => boolean): CommitReport | undefined;
  /**
   * From now on readers outside see the state of the last barrier, `take` of a watch returns nothing, and what they stage is
   * for the first commit after the next barrier. `why`, `impact`, `dump` and declarations throw. A commit that stops is paused.
   */
  pause(): void;
  /** Ends `pause`: readers see the present state. With a commit under way only `advance` may follow. */
  resume(): void;
  /** Everything that has changed becomes visible outside. */
  barrier(): void;
  /** Undefined if there is no such entry. */
  why(collection: Collection<unknown>, partition: string, key: string): Why | undefined;
  /** The entries that depend on this one, directly or indirectly, in canonical order. */
  impact(
    collection: Collection<unknown>,
    partition: string,
    key: string,
  ): readonly { readonly collection: string; readonly partition: string; readonly key: string }[];
  dump(): readonly NodeSizes[];
}
