import { noteRead } from './computation.ts';
import { emptyScope, isWithin, names, type Scope } from './scopes.ts';
import { absent, type Call, type Cell, type DerivedOrigin, type Group, type IndexNode, type Store } from './state.ts';
import { countOf, firstOf, membersOf, obtainCell, obtainCounter, obtainGroup, scopeOfCell } from './storage.ts';
import type { Collection, Contribution, Index, Reader } from './types.ts';
import { compareText } from './values.ts';

/** The declared reads of one node, by the public handle. */
export type Readable = ReadonlyMap<object, Store | IndexNode>;

/** Creates the reader that a node's functions are called with. It works only while one of them runs. */
export function createReader(owner: Store, call: Call, readable: Readable): Reader {
  const { name } = owner;
  const declared = (handle: object, what: string): Store | IndexNode => {
    if (call.computation?.node.store !== owner)
      throw new Error(`the reader of "${name}" was used outside its computation`);
    const node = readable.get(handle);
    if (node === undefined) throw new Error(`"${name}" reads ${what}, which is not among its declared reads`);
    const { scoped, fromLive } = 'groups' in node ? node.from : node;
    if ((scoped || fromLive) && call.scope === undefined) {
      throw new Error(
        `the scope of "${name}" reads ${what}, which comes from live state: it must come from desired state alone`,
      );
    }
    return node;
  };

  const cellOf = (collection: Collection<unknown>, partition: string, key: string): Cell | undefined => {
    const store = declared(collection, `the collection "${collection.name}"`) as Store;
    if (store.live && !names(call.scope ?? emptyScope, partition)) return undefined;
    const cell = obtainCell(store, partition, key);
    noteRead(call, cell);
    return cell;
  };

  const groupOf = (index: Index<unknown>, group: string): Group =>
    obtainGroup(declared(index, `the index "${index.name}"`) as IndexNode, group);

  const reader: Reader = {
    get: <Value>(collection: Collection<Value>, partition: string, key: string) => {
      const cell = cellOf(collection, partition, key);
      return cell === undefined ? undefined : (visibleValue(cell, call.scope ?? emptyScope) as Value | undefined);
    },
    scopeOf: (collection, partition, key) => {
      const cell = cellOf(collection, partition, key);
      return cell === undefined ? undefined : visibleScope(cell, call.scope ?? emptyScope);
    },
    members: <Value>(index: Index<Value>, name: string) => {
      const group = groupOf(index as Index<unknown>, name);
      noteRead(call, group);
      return membersOf(group, call.scope ?? emptyScope) as ReturnType<typeof index.members>;
    },
    first: <Value>(index: Index<Value>, name: string, count: number) => {
      const group = groupOf(index as Index<unknown>, name);
      noteRead(call, group);
      return firstOf(group, count, call.scope ?? emptyScope) as ReturnType<typeof index.members>;
    },
    count: (index, name) => {
      const group = groupOf(index as Index<unknown>, name);
      noteRead(call, obtainCounter(group));
      return countOf(group, call.scope ?? emptyScope);
    },
  };
  return reader;
}

/**
 * The value of a cell for a computation with this scope, as if there were no emissions with a scope outside it: of a gathered
 * list the contributions inside, of a contested key the first emission inside.
 */
export function visibleValue(cell: Cell, scope: Scope): unknown {
  const { store } = cell.partition;
  if (cell.value === absent) return undefined;
  if (!store.scoped || store.kind === 'input' || isWithin(scopeOfCell(cell), scope)) return cell.value;
  const origin = cell.origin as DerivedOrigin;
  if (origin?.kind !== 'emissions') return undefined;
  if (!store.gathers) return origin.list.find((emission) => isWithin(emission.scope, scope))?.value;
  const inside = (cell.value as readonly Contribution<unknown>[]).filter((_one, place) =>
    isWithin(origin.list[place]?.scope ?? emptyScope, scope),
  );
  return inside.length === 0 ? undefined : inside;
}

/** The scope of {@link visibleValue}; of a list or a contested key the union of the scopes inside. */
function visibleScope(cell: Cell, scope: Scope): readonly string[] | undefined {
  if (visibleValue(cell, scope) === undefined) return undefined;
  const whole = scopeOfCell(cell);
  const origin = cell.origin as DerivedOrigin;
  if (isWithin(whole, scope) || origin?.kind !== 'emissions') return whole.clusters;
  const inside = origin.list.filter((emission) => isWithin(emission.scope, scope));
  return [...new Set(inside.flatMap((emission) => emission.scope.clusters))].sort(compareText);
}
