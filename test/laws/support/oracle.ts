import type {
  Collection,
  Contribution,
  Derivation,
  Derived,
  Entry,
  EntryAddress,
  Failure,
  Graph,
  Index,
  Input,
  JoinDerivation,
  Reader,
} from '../../../src/engine/collections/types.ts';

/**
 * The kernel's meaning without the kernel: takes the same declarations, and at each commit throws everything away and
 * computes it again with plain loops. Shares nothing with the kernel but its interface.
 */
export type Oracle = Pick<Graph, 'input' | 'derive' | 'gather' | 'join' | 'index' | 'counts' | 'commit'>;

interface Row {
  readonly partition: string;
  readonly key: string;
  readonly value: unknown;
  readonly scope: ReadonlySet<string>;
  /** What several primaries have given, first come first by address. Of inputs and failures: nothing. */
  readonly given: readonly Given[];
}

interface Given {
  readonly by: EntryAddress;
  readonly value: unknown;
  readonly scope: ReadonlySet<string>;
}

type Rows = Map<string, Row>;

interface Table {
  readonly name: string;
  readonly live: boolean;
  readonly kind: 'input' | 'one' | 'list';
  rows: Rows;
}

const nowhere: ReadonlySet<string> = new Set();
/** The scope of a collection that sees everything. */
const everything: ReadonlySet<string> = new Set();

function id(partition: string, key: string): string {
  return JSON.stringify([partition, key]);
}

function byAddress(a: EntryAddress, b: EntryAddress): number {
  if (a.partition !== b.partition) return a.partition < b.partition ? -1 : 1;
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
}

function union(...sets: readonly Iterable<string>[]): ReadonlySet<string> {
  return new Set(sets.flatMap((set) => [...set]));
}

function inside(inner: ReadonlySet<string>, outer: ReadonlySet<string>): boolean {
  return outer === everything || [...inner].every((cluster) => outer.has(cluster));
}

function shown({ partition, key }: EntryAddress): string {
  return JSON.stringify(partition === '' ? key : `${partition}/${key}`);
}

/** Creates an oracle without collections. */
export function createOracle(): Oracle {
  const tables = new Map<object, Table>();
  const groupings = new Map<object, { table: Table; groups: Map<string, Row[]> }>();
  const steps: (() => void)[] = [];
  let revision = 0;
  let computed = 0;

  const tableOf = (handle: object): Table => tables.get(handle) as Table;

  const open = <Value>(name: string, kind: Table['kind'], live = false): [Table, Collection<Value>] => {
    const table: Table = { name, live, kind, rows: new Map() };
    const handle = handleOf<Value>(table);
    tables.set(handle, table);
    return [table, handle];
  };

  const see = (table: Table, partition: string, key: string, scope: ReadonlySet<string>): unknown => {
    const row = table.rows.get(id(partition, key));
    if (row === undefined || (table.live && scope !== everything && !scope.has(partition))) return undefined;
    if (inside(row.scope, scope)) return row.value;
    const given = row.given.filter((one) => inside(one.scope, scope));
    if (given.length === 0) return undefined;
    return table.kind === 'list' ? listOf(given) : given[0]?.value;
  };

  const readerOf = (scope: ReadonlySet<string>): Reader => ({
    get: (collection, partition, key) => see(tableOf(collection), partition, key, scope) as undefined,
    scopeOf: (collection, partition, key) => {
      const table = tableOf(collection);
      if (see(table, partition, key, scope) === undefined) return undefined;
      const row = table.rows.get(id(partition, key)) as Row;
      const given = row.given.filter((one) => inside(one.scope, scope));
      return [...(inside(row.scope, scope) ? row.scope : union(...given.map((one) => one.scope)))].sort();
    },
    members: (index, group) =>
      (groupings.get(index)?.groups.get(group) ?? [])
        .filter((row) => inside(row.scope, scope))
        .map(({ partition, key, value }) => ({ partition, key, value: value as never })),
    first: (index, group, count) =>
      (groupings.get(index)?.groups.get(group) ?? [])
        .filter((row) => inside(row.scope, scope))
        .slice(0, count)
        .map(({ partition, key, value }) => ({ partition, key, value: value as never })),
    count: (index, group) =>
      (groupings.get(index)?.groups.get(group) ?? []).filter((row) => inside(row.scope, scope)).length,
  });

  /** Computes one node anew: all primaries, then who gives what, then who failed. */
  const node = (
    name: string,
    kind: 'one' | 'list',
    primaries: () => { entry: EntryAddress; scope: ReadonlySet<string> }[],
    scopeFunction: ((entry: never, read: Reader) => Iterable<string>) | undefined,
    compute: (entry: never, read: Reader, emit: (partition: string, key: string, value: unknown) => void) => void,
    seesAll: boolean,
  ): Derived<never> => {
    const [table, handle] = open<never>(name, kind);
    const [failed, failures] = open<Failure>(`${name}/failures`, 'one');
    const derived = Object.assign(handle, { failures });
    steps.push(() => {
      table.rows = new Map();
      failed.rows = new Map();
      const given = new Map<string, (Given & { at: EntryAddress })[]>();
      for (const { entry, scope: inherited } of primaries().sort((a, b) => byAddress(a.entry, b.entry))) {
        computed += 1;
        const { partition, key } = entry;
        let scope = seesAll ? nowhere : inherited;
        const emitted: { at: EntryAddress; value: unknown }[] = [];
        try {
          if (!seesAll) scope = union(inherited, scopeFunction?.(entry as never, readerOf(nowhere)) ?? []);
          compute(entry as never, readerOf(seesAll ? everything : scope), (toPartition, toKey, value) => {
            emitted.push({ at: { partition: toPartition, key: toKey }, value });
          });
          if (kind === 'one') refuseTwice(emitted.map(({ at }) => at));
        } catch (error) {
          const message = (error as Error).message;
          failed.rows.set(id(partition, key), { partition, key, value: { message }, scope, given: [] });
          continue;
        }
        for (const { at, value } of emitted) {
          const list = given.get(id(at.partition, at.key)) ?? [];
          list.push({ by: { partition, key }, value, scope, at });
          given.set(id(at.partition, at.key), list);
        }
      }
      const lost = new Map<
        string,
        { by: Given; at: EntryAddress; winner: EntryAddress; scope: ReadonlySet<string> }[]
      >();
      for (const [place, list] of given) {
        const [first, ...others] = list as [Given & { at: EntryAddress }, ...Given[]];
        const scope = union(...list.map((one) => one.scope));
        const value = kind === 'list' ? listOf(list) : first.value;
        table.rows.set(place, { ...first.at, value, scope, given: list });
        if (kind === 'list') continue;
        for (const one of others) {
          const losses = lost.get(id(one.by.partition, one.by.key)) ?? [];
          losses.push({ by: one, at: first.at, winner: first.by, scope });
          lost.set(id(one.by.partition, one.by.key), losses);
        }
      }
      for (const [place, losses] of lost) {
        const [first, ...more] = losses.sort((a, b) => byAddress(a.at, b.at));
        if (first === undefined) continue;
        const rest = more.length === 0 ? '' : `, and ${more.length} more`;
        const message = `${shown(first.at)} is already given by ${shown(first.winner)}${rest}`;
        const scope = union(first.by.scope, ...losses.map((one) => one.scope));
        failed.rows.set(place, { ...first.by.by, value: { message }, scope, given: [] });
      }
    });
    return derived as Derived<never>;
  };

  const rowsAsPrimaries = (table: Table) =>
    [...table.rows.values()].map(({ partition, key, value, scope }) => ({
      entry: { partition, key, value } as EntryAddress,
      scope,
    }));

  const deriveAs = <Source, Result>(
    kind: 'one' | 'list',
    { name, from, partition, keys, scope, compute, seesAll }: Derivation<Source, Result>,
  ): Derived<never> => {
    const visited = 'name' in from ? [from] : from;
    const primaries = () =>
      visited
        .flatMap((collection) => rowsAsPrimaries(tableOf(collection)))
        .filter(({ entry }) => partition === undefined || entry.partition === partition)
        .filter(({ entry }) => keys?.(entry.key) ?? true);
    return node(name, kind, primaries, scope as never, compute as never, seesAll === true);
  };

  return {
    input: <Value>(name: string, options: { readonly live?: boolean } = {}): Input<Value> => {
      const [table, handle] = open<Value>(name, 'input', options.live ?? false);
      const staged: (() => void)[] = [];
      steps.push(() => {
        for (const write of staged.splice(0)) write();
      });
      return Object.assign(handle, {
        latest: unknown,
        latestEntries: unknown,
        provenance: unknown,
        set: (partition: string, key: string, value: Value) => {
          const scope = table.live ? new Set([partition]) : nowhere;
          staged.push(() => table.rows.set(id(partition, key), { partition, key, value, scope, given: [] }));
        },
        delete: (partition: string, key: string) => {
          staged.push(() => table.rows.delete(id(partition, key)));
        },
        drop: (partition: string) => {
          staged.push(() => {
            for (const [place, row] of table.rows) if (row.partition === partition) table.rows.delete(place);
          });
        },
      });
    },
    derive: (derivation) => deriveAs('one', derivation) as never,
    gather: (derivation) => deriveAs('list', derivation) as never,
    join: <Left, Right, Result>(derivation: JoinDerivation<Left, Right, Result>) => {
      const { name, left, right, scope, compute, seesAll } = derivation;
      const [leftTable, rightTable] = [tableOf(left), tableOf(right)];
      const primaries = () => {
        const addresses = new Map([...rightTable.rows, ...leftTable.rows]);
        return [...addresses].map(([place, { partition, key }]) => {
          const [a, b] = [leftTable.rows.get(place), rightTable.rows.get(place)];
          const own = [leftTable, rightTable].some((table) => table.live) ? [partition] : [];
          return {
            entry: { partition, key, left: a?.value, right: b?.value } as EntryAddress,
            scope: union(own, a?.scope ?? [], b?.scope ?? []),
          };
        });
      };
      return node(name, 'one', primaries, scope as never, compute as never, seesAll === true) as Derived<Result>;
    },
    index: <Value>(name: string, from: Collection<Value>, groupsOf: (entry: Entry<Value>) => Iterable<string>) => {
      const table = tableOf(from);
      const grouping = { table, groups: new Map<string, Row[]>() };
      const [failed, failures] = open<Failure>(`${name}/failures`, 'one');
      steps.push(() => {
        grouping.groups = new Map();
        failed.rows = new Map();
        for (const row of [...table.rows.values()].sort(byAddress)) {
          try {
            for (const group of new Set(groupsOf(row as unknown as Entry<Value>))) {
              grouping.groups.set(group, [...(grouping.groups.get(group) ?? []), row]);
            }
          } catch (error) {
            failed.rows.set(id(row.partition, row.key), {
              ...row,
              value: { message: (error as Error).message },
              given: [],
            });
          }
        }
      });
      const index: Index<Value> = {
        name,
        failures,
        members: (group) => (grouping.groups.get(group) ?? []) as unknown as readonly Entry<Value>[],
        first: (group, count) =>
          (grouping.groups.get(group) ?? []).slice(0, count) as unknown as readonly Entry<Value>[],
        count: (group) => grouping.groups.get(group)?.length ?? 0,
        groups: () => grouping.groups.keys(),
      };
      groupings.set(index, grouping);
      return index;
    },
    counts: (name, index) => {
      const [table, handle] = open<number>(name, 'one');
      steps.push(() => {
        const groups = [...(groupings.get(index)?.groups ?? [])];
        table.rows = new Map(
          groups.map(([key, { length }]) => [
            id('', key),
            { partition: '', key, value: length, scope: nowhere, given: [] },
          ]),
        );
      });
      return handle;
    },
    commit: () => {
      computed = 0;
      for (const step of steps) step();
      revision += 1;
      return { revision, computed };
    },
  };
}

function listOf(given: readonly Given[]): readonly Contribution<unknown>[] {
  return given.map(({ by, value }) => ({ from: by, value }));
}

function refuseTwice(places: readonly EntryAddress[]): void {
  const seen = new Set<string>();
  for (const place of places) {
    const one = id(place.partition, place.key);
    if (seen.has(one)) throw new Error(`${shown(place)} was emitted twice`);
    seen.add(one);
  }
}

function handleOf<Value>(table: Table): Collection<Value> {
  const rowsOf = (partition?: string): Row[] =>
    [...table.rows.values()].filter((row) => partition === undefined || row.partition === partition);
  return {
    name: table.name,
    get: (partition, key) => table.rows.get(id(partition, key))?.value as Value | undefined,
    entries: (partition) => rowsOf(partition) as unknown as Entry<Value>[],
    partitions: () => new Set(rowsOf().map((row) => row.partition)),
    size: (partition) => rowsOf(partition).length,
    scopeOf: (partition, key) => {
      const row = table.rows.get(id(partition, key));
      return row === undefined ? undefined : [...row.scope].sort();
    },
  };
}

function unknown(): never {
  throw new Error('the oracle does not know what is staged');
}
