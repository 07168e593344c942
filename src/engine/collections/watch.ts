import { emptyScope, isSameList, type Scope } from './scopes.ts';
import { absent, type Cell, type Store, type Watcher } from './state.ts';
import { findCell, sameValue, scopeOfCell, wasEmpty } from './storage.ts';
import type { Change, Watch } from './types.ts';
import { compareText } from './values.ts';

interface Earlier {
  readonly value: unknown;
  readonly clusters: readonly string[];
}

/** The earlier state of a new entry. */
const appeared: Earlier = { value: absent, clusters: emptyScope.clusters };

/** The state before the first change of each address of a partition. */
type EarlierPartition = Map<string, Earlier> | Filled;

/** The partition was empty: a list is smaller, and a server that starts fills almost all of them. */
interface Filled {
  /** In the order in which they appeared. */
  readonly cells: Cell[];
  /** Some have vanished since, and may be listed again. */
  hasVanished: boolean;
}

/** Of one partition; cells: they had no entry. */
interface Taken {
  readonly partition: string;
  readonly changed: ReadonlyMap<string, Earlier> | readonly Cell[];
}

/** Collects the changes of a store from now on. */
export function createWatch<Value>(store: Store): Watch<Value> {
  let earlier = new Map<string, EarlierPartition>();
  const watcher: Watcher = {
    note: (cell, before, scopeBefore) => {
      const { name } = cell.partition;
      let of = earlier.get(name);
      if (of === undefined) {
        of = wasEmpty(cell, before) ? { cells: [], hasVanished: false } : new Map();
        earlier.set(name, of);
      }
      if (of instanceof Map) noteEarlier(of, cell.key, before, scopeBefore);
      else if (before === absent) of.cells.push(cell);
      else of.hasVanished ||= cell.value === absent;
    },
  };
  store.watchers.push(watcher);
  const taken = (): readonly Taken[] => {
    // The changes of a commit that is under way are no changes yet for readers outside.
    if (store.past.isShown()) return [];
    const all = earlier;
    earlier = new Map();
    return Array.from(all, ([partition, of]) => ({ partition, changed: of instanceof Map ? of : appearedIn(of) }));
  };
  return {
    take: () => [...changesOf<Value>(store, inOrder(taken(), ({ partition }) => partition).map(sorted))],
    drain: () => changesOf<Value>(store, taken()),
  };
}

function noteEarlier(of: Map<string, Earlier>, key: string, value: unknown, { clusters }: Scope): void {
  if (of.has(key)) return;
  of.set(key, value === absent && clusters === emptyScope.clusters ? appeared : { value, clusters });
}

function appearedIn({ cells, hasVanished }: Filled): readonly Cell[] {
  return hasVanished ? [...new Map(cells.map((cell) => [cell.key, cell])).values()] : cells;
}

function* changesOf<Value>(store: Store, taken: readonly Taken[]): Iterable<Change<Value>> {
  for (const { partition, changed } of taken) {
    for (const one of changed) {
      const [key, before] = 'key' in one ? [one.key, appeared] : one;
      const change = changeSince(store, partition, key, before);
      if (change !== undefined) yield change as Change<Value>;
    }
  }
}

function sorted({ partition, changed }: Taken): Taken {
  if (!('get' in changed)) return { partition, changed: inOrder(changed, ({ key }) => key) };
  return { partition, changed: new Map(inOrder([...changed], ([key]) => key)) };
}

/** Sorted by name. One item, the common case, is not copied. */
function inOrder<Item>(items: readonly Item[], nameOf: (item: Item) => string): readonly Item[] {
  return items.length < 2 ? items : items.toSorted((a, b) => compareText(nameOf(a), nameOf(b)));
}

function changeSince(store: Store, partition: string, key: string, before: Earlier): Change<unknown> | undefined {
  const cell = findCell(store, partition, key);
  const after = cell === undefined ? absent : cell.value;
  const { clusters } = before;
  const now = cell === undefined ? [] : scopeOfCell(cell).clusters;
  const sameScope = clusters === now || isSameList(clusters, now);
  if (sameScope && sameValue(store, before.value, after)) return undefined;
  return { partition, key, before: shown(before.value), after: shown(after) };
}

function shown(value: unknown): unknown {
  return value === absent ? undefined : value;
}
