import { type Bag, itemsOf, withItem, withoutItem } from './bag.ts';
import { compareText } from './values.ts';

/** An interned set of clusters: equal sets are the same object. `uses` counts the references. */
export interface Scope {
  /** Canonical order, no duplicates, frozen. */
  readonly clusters: readonly string[];
  /** For sets that are too long to search as a list. */
  readonly lookup: ReadonlySet<string> | undefined;
  uses: number;
}

/** The scope of entries that depend on desired state alone. Its references are not counted. */
export const emptyScope: Scope = { clusters: Object.freeze([]), lookup: undefined, uses: 0 };

/** The scope of computations that see everything. No entry has it, and its references are not counted. */
export const wholeScope: Scope = { clusters: Object.freeze([]), lookup: undefined, uses: 0 };

/** Interns scopes. Each returned scope has one more reference, which the caller must release once. */
export type ScopeTable = ReturnType<typeof createScopeTable>;

const longestSearchedList = 8;

/** Creates an empty table. */
export function createScopeTable() {
  // By hash: the text of every set as a key would take more memory than the sets.
  const table = new Map<number, Bag<Scope>>();
  const idle = new Set<Scope>();
  let count = 0;

  const retain = (scope: Scope): Scope => {
    if (scope !== emptyScope && scope !== wholeScope) scope.uses += 1;
    return scope;
  };

  const hold = (clusters: readonly string[]): Scope => {
    if (clusters.length === 0) return emptyScope;
    const sorted = isCanonical(clusters) ? clusters : [...new Set(clusters)].sort(compareText);
    const hash = hashOf(sorted);
    for (const known of itemsOf(table.get(hash))) {
      if (isSameList(known.clusters, sorted)) return retain(known);
    }
    const lookup = sorted.length > longestSearchedList ? new Set(sorted) : undefined;
    const scope: Scope = { clusters: Object.freeze(sorted.slice()), lookup, uses: 1 };
    table.set(hash, withItem(table.get(hash), scope));
    count += 1;
    return scope;
  };

  const forget = (scope: Scope): void => {
    const hash = hashOf(scope.clusters);
    const left = withoutItem(table.get(hash), scope);
    if (left === undefined) table.delete(hash);
    else table.set(hash, left);
    count -= 1;
  };

  return {
    /** The scope of these clusters, in any order, with or without duplicates. */
    hold,
    /** The union. */
    holdJoined: (scopes: readonly Scope[]): Scope => {
      const widest = scopes.reduce((a, b) => (b.clusters.length > a.clusters.length ? b : a), emptyScope);
      if (scopes.every((scope) => isWithin(scope, widest))) return retain(widest);
      return hold(scopes.flatMap((scope) => scope.clusters));
    },
    retain,
    /** Removes a reference. A set without references stays until `sweep`: the commit may need it again. */
    release: (scope: Scope): void => {
      if (scope === emptyScope || scope === wholeScope) return;
      scope.uses -= 1;
      if (scope.uses === 0) idle.add(scope);
    },
    /** Deletes the sets without references. Yields after those for which `isUp` is true. */
    *sweep(isUp: () => boolean): Generator<void, void, void> {
      for (const scope of idle) {
        if (scope.uses === 0) forget(scope);
        if (isUp()) yield;
      }
      idle.clear();
    },
    size: (): number => count,
  };
}

/** FNV-1a over the names and their ends, cut to a number that the runtime stores without an object. */
function hashOf(clusters: readonly string[]): number {
  let hash = 0x811c9dc5;
  for (const cluster of clusters) {
    for (let at = 0; at < cluster.length; at += 1) hash = Math.imul(hash ^ cluster.charCodeAt(at), 0x01000193);
    hash = Math.imul(hash ^ 0x10000, 0x01000193);
  }
  return hash >>> 2;
}

/** Whether two lists are equal. */
export function isSameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((item, at) => item === b[at]);
}

/** Whether a list is in canonical order without duplicates. */
export function isCanonical(clusters: readonly string[]): boolean {
  for (let index = 1; index < clusters.length; index += 1) {
    if ((clusters[index - 1] as string) >= (clusters[index] as string)) return false;
  }
  return true;
}

/** Whether the scope contains the cluster. */
export function names(scope: Scope, cluster: string): boolean {
  if (scope === wholeScope) return true;
  return scope.lookup === undefined ? scope.clusters.includes(cluster) : scope.lookup.has(cluster);
}

/** Whether `inner` is a subset of `outer`. */
export function isWithin(inner: Scope, outer: Scope): boolean {
  if (inner === outer || outer === wholeScope || inner.clusters.length === 0) return true;
  if (inner.clusters.length > outer.clusters.length) return false;
  return inner.clusters.every((cluster) => names(outer, cluster));
}
