import { compareText } from './order.ts';

/** An interned set of clusters: the same set is the same object. `uses` counts who holds it. */
export interface Scope {
  /** Canonical order, no duplicates, frozen. */
  readonly clusters: readonly string[];
  /** For sets that are too long to search as a list. */
  readonly lookup: ReadonlySet<string> | undefined;
  uses: number;
}

/** The scope of everything that comes from desired state alone. Never counted. */
export const emptyScope: Scope = { clusters: Object.freeze([]), lookup: undefined, uses: 0 };

/** Interns scopes. Every scope that it hands out is held once more and must be released once. */
export interface ScopeTable {
  /** `clusters` in any order, with or without duplicates. */
  hold(clusters: readonly string[]): Scope;
  /** The union. */
  holdJoined(scopes: readonly Scope[]): Scope;
  retain(scope: Scope): Scope;
  release(scope: Scope): void;
  size(): number;
}

const longestSearchedList = 8;

/** Creates an empty table. */
export function createScopeTable(): ScopeTable {
  const table = new Map<string, Scope>();

  const hold = (clusters: readonly string[]): Scope => {
    if (clusters.length === 0) return emptyScope;
    const sorted = isCanonical(clusters) ? clusters : [...new Set(clusters)].sort(compareText);
    const id = JSON.stringify(sorted);
    let scope = table.get(id);
    if (scope === undefined) {
      const lookup = sorted.length > longestSearchedList ? new Set(sorted) : undefined;
      scope = { clusters: Object.freeze(sorted.slice()), lookup, uses: 0 };
      table.set(id, scope);
    }
    scope.uses += 1;
    return scope;
  };

  const retain = (scope: Scope): Scope => {
    if (scope !== emptyScope) scope.uses += 1;
    return scope;
  };

  return {
    hold,
    holdJoined: (scopes) => {
      const widest = scopes.reduce((a, b) => (b.clusters.length > a.clusters.length ? b : a), emptyScope);
      if (scopes.every((scope) => isWithin(scope, widest))) return retain(widest);
      return hold(scopes.flatMap((scope) => scope.clusters));
    },
    retain,
    release: (scope) => {
      if (scope === emptyScope) return;
      scope.uses -= 1;
      if (scope.uses === 0) table.delete(JSON.stringify(scope.clusters));
    },
    size: () => table.size,
  };
}

/** Whether a list is in canonical order without duplicates. */
export function isCanonical(clusters: readonly string[]): boolean {
  for (let index = 1; index < clusters.length; index += 1) {
    if ((clusters[index - 1] as string) >= (clusters[index] as string)) return false;
  }
  return true;
}

/** Whether the scope names the cluster. */
export function names(scope: Scope, cluster: string): boolean {
  return scope.lookup === undefined ? scope.clusters.includes(cluster) : scope.lookup.has(cluster);
}

/** Whether every cluster of `inner` is one of `outer`. */
export function isWithin(inner: Scope, outer: Scope): boolean {
  if (inner === outer || inner.clusters.length === 0) return true;
  if (inner.clusters.length > outer.clusters.length) return false;
  return inner.clusters.every((cluster) => names(outer, cluster));
}
