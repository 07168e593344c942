import { emptyScope, isSameList, type Scope } from './scopes.ts';
import { absent, type Store, type Watcher } from './state.ts';
import { findCell, sameValue, scopeOfCell } from './storage.ts';
import type { Change, Watch } from './types.ts';
import { compareText } from './values.ts';

interface Earlier {
  readonly value: unknown;
  readonly clusters: readonly string[];
}

/** The earlier state of a new entry. */
const appeared: Earlier = { value: absent, clusters: emptyScope.clusters };

/** Collects the changes of a store from now on. Stores the state before the first change of each address. */
export function createWatch<Value>(store: Store): Watch<Value> {
  let earlier = new Map<string, Map<string, Earlier>>();
  const watcher: Watcher = {
    note: ({ partition: { name }, key }, value, { clusters }: Scope) => {
      let keys = earlier.get(name);
      if (keys === undefined) {
        keys = new Map();
        earlier.set(name, keys);
      }
      if (keys.has(key)) return;
      keys.set(key, value === absent && clusters === emptyScope.clusters ? appeared : { value, clusters });
    },
  };
  store.watchers.push(watcher);
  const taken = (): typeof earlier => {
    // The changes of a commit that is under way are no changes yet for readers outside.
    if (store.past.isShown()) return new Map();
    const all = earlier;
    earlier = new Map();
    return all;
  };
  return {
    take: () => [...changesOf<Value>(store, inOrder(taken()), inOrder)],
    drain: () => changesOf<Value>(store, taken(), (keys) => keys),
  };
}

type Entries<Value> = Iterable<readonly [string, Value]>;

function* changesOf<Value>(
  store: Store,
  taken: Entries<ReadonlyMap<string, Earlier>>,
  ordered: (keys: ReadonlyMap<string, Earlier>) => Entries<Earlier>,
): Iterable<Change<Value>> {
  for (const [partition, keys] of taken) {
    for (const [key, before] of ordered(keys)) {
      const change = changeSince(store, partition, key, before);
      if (change !== undefined) yield change as Change<Value>;
    }
  }
}

/** The entries sorted by key. One entry, the common case, is not copied. */
function inOrder<Value>(entries: ReadonlyMap<string, Value>): Entries<Value> {
  return entries.size < 2 ? entries : [...entries].sort(([a], [b]) => compareText(a, b));
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
