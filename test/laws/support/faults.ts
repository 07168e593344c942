import { createGraph } from '../../../src/engine/collections/graph.ts';
import type {
  Collection,
  Emit,
  Entry,
  EntryAddress,
  Graph,
  Index,
  Reader,
} from '../../../src/engine/collections/types.ts';

/**
 * Graphs with a planted fault each: the kernel in a wrapper that makes one mistake which kernels make. What a law is
 * worth is what it does when it meets one of them.
 */

type Compute = (entry: never, read: Reader, emit: Emit<never>) => void;
type Scope = ((entry: never, read: Reader) => Iterable<string>) | undefined;

/** What a fault replaces. */
interface Replacements {
  readonly compute?: (name: string, compute: Compute) => Compute;
  readonly scope?: (scope: Scope) => Scope;
  readonly members?: Partial<Graph>;
}

function faulty(
  graph: Graph,
  { compute = (_name, same) => same, scope = (same) => same, members = {} }: Replacements,
): Graph {
  const replace = <Declaration extends { readonly name: string; readonly compute: unknown; readonly scope?: unknown }>(
    declaration: Declaration,
  ): Declaration => {
    const replaced = scope(declaration.scope as Scope);
    return {
      ...declaration,
      compute: compute(declaration.name, declaration.compute as Compute),
      ...(replaced === undefined ? {} : { scope: replaced }),
    };
  };
  return {
    ...graph,
    derive: (derivation) => graph.derive(replace(derivation)),
    gather: (derivation) => graph.gather(replace(derivation)),
    join: (derivation) => graph.join(replace(derivation)),
    ...members,
  };
}

function id(...parts: readonly string[]): string {
  return JSON.stringify(parts);
}

/** No fault: the wrapper alone. */
export function flawless(): Graph {
  return faulty(createGraph(), {});
}

/** A second read of the same address is answered from memory: a change of it wakes no reader. */
export function droppedDependency(): Graph {
  const remembered = new Map<string, unknown>();
  return faulty(createGraph(), {
    compute: (name, compute) => (entry: EntryAddress, read, emit) => {
      const get = (collection: Collection<unknown>, partition: string, key: string): unknown => {
        const place = id(name, entry.partition, entry.key, collection.name, partition, key);
        if (!remembered.has(place)) remembered.set(place, read.get(collection, partition, key));
        return remembered.get(place);
      };
      compute(entry as never, { ...read, get: get as Reader['get'] }, emit);
    },
  });
}

/** Computes for all partitions where one is asked for. */
export function everyPartition(): Graph {
  const graph = createGraph();
  const flawless = faulty(graph, {});
  return {
    ...flawless,
    derive: ({ partition: _ignored, ...derivation }) => flawless.derive(derivation),
    gather: ({ partition: _ignored, ...derivation }) => flawless.gather(derivation),
  };
}

/** Computes for all keys where some are left out. */
export function everyKey(): Graph {
  const graph = createGraph();
  const flawless = faulty(graph, {});
  return {
    ...flawless,
    derive: ({ keys: _ignored, ...derivation }) => flawless.derive(derivation),
    gather: ({ keys: _ignored, ...derivation }) => flawless.gather(derivation),
  };
}

/** The size of a group never falls. */
export function sizesThatNeverFall(): Graph {
  const graph = createGraph();
  const highest = new Map<string, number>();
  return faulty(graph, {
    members: {
      counts: (name, index) => {
        const counts = graph.counts(name, index);
        const { entries } = counts;
        return Object.assign(counts, {
          entries: (partition: string) =>
            [...entries(partition)].map((entry) => {
              const size = Math.max(entry.value, highest.get(id(name, entry.key)) ?? 0);
              highest.set(id(name, entry.key), size);
              return { ...entry, value: size };
            }),
        });
      },
    },
  });
}

/** Of several writes of one key in a batch the first one stays. */
export function firstWriteWins(): Graph {
  const graph = createGraph();
  const written = new Set<string>();
  return faulty(graph, {
    members: {
      input: (name, options) => {
        const input = graph.input(name, options);
        const { set } = input;
        // The graph knows a collection by its handle, so the handle itself is changed.
        return Object.assign(input, {
          set: (...[partition, key, value, provenance]: Parameters<typeof set>) => {
            if (!written.has(id(name, partition, key))) set(partition, key, value, provenance);
            written.add(id(name, partition, key));
          },
        });
      },
      commit: () => {
        written.clear();
        return graph.commit();
      },
    },
  });
}

/** One key is never deleted. */
export function skippedDelete(): Graph {
  const graph = createGraph();
  return faulty(graph, {
    members: {
      input: (name, options) => {
        const input = graph.input(name, options);
        const { delete: remove, drop } = input;
        return Object.assign(input, {
          delete: (partition: string, key: string) => {
            if (key !== 'k1') remove(partition, key);
          },
          drop: (partition: string) => {
            if (partition !== 'c1') drop(partition);
          },
        });
      },
    },
  });
}

/** Readers outside see a commit half way. */
export function readsHalfWay(): Graph {
  const graph = createGraph();
  return faulty(graph, {
    members: {
      advance: (isUp) => {
        const report = graph.advance(isUp);
        graph.resume();
        return report;
      },
    },
  });
}

/** What is staged while a commit is under way is in that commit, if it comes early enough. */
export function latecomersJoin(): Graph {
  const graph = createGraph();
  let isUnderWay = false;
  const joining = <Args extends readonly unknown[]>(write: (...args: Args) => void) => {
    return (...args: Args): void => {
      graph.resume();
      write(...args);
      if (isUnderWay) graph.pause();
    };
  };
  return faulty(graph, {
    members: {
      input: (name, options) => {
        const input = graph.input(name, options);
        const { set, delete: remove, drop } = input;
        return Object.assign(input, { set: joining(set), delete: joining(remove), drop: joining(drop) });
      },
      advance: (isUp) => {
        const report = graph.advance(isUp);
        isUnderWay = report === undefined;
        return report;
      },
    },
  });
}

/** Members of a group come in the order in which they were first seen. */
export function orderOfArrival(): Graph {
  const arrivals = new Map<string, number>();
  return faulty(createGraph(), {
    compute: (_name, compute) => (entry, read, emit) => {
      const members = <Value>(index: Index<Value>, group: string): readonly Entry<Value>[] => {
        const list = [...read.members(index, group)];
        const place = ({ partition, key }: EntryAddress): number => {
          const arrival = arrivals.get(id(index.name, partition, key)) ?? arrivals.size;
          arrivals.set(id(index.name, partition, key), arrival);
          return arrival;
        };
        return list
          .map((one) => ({ one, at: place(one) }))
          .sort((a, b) => a.at - b.at)
          .map(({ one }) => one);
      };
      compute(entry, { ...read, members }, emit);
    },
  });
}

/** Once a function has thrown, the rest of its collection is not computed in that commit. */
export function swallowedNeighbours(): Graph {
  const graph = createGraph();
  const thrown = new Set<string>();
  return faulty(graph, {
    compute: (name, compute) => (entry, read, emit) => {
      if (thrown.has(name)) return;
      try {
        compute(entry, read, emit);
      } catch (error) {
        thrown.add(name);
        throw error;
      }
    },
    members: {
      commit: () => {
        thrown.clear();
        return graph.commit();
      },
    },
  });
}

/** What a function gives depends on how often it was called. */
export function hiddenHistory(): Graph {
  const calls = new Map<string, number>();
  return faulty(createGraph(), {
    compute: (name, compute) => (entry: EntryAddress, read, emit) => {
      const place = id(name, entry.partition, entry.key);
      const call = (calls.get(place) ?? 0) + 1;
      calls.set(place, call);
      const counted: Emit<unknown> = (partition, key, value) =>
        emit(partition, key, (call > 1 ? { value, again: true } : value) as never);
      compute(entry as never, read, counted as Emit<never>);
    },
  });
}

/** Members of a group of live state are seen whatever the scope. */
export function blindScope(): Graph {
  const graph = createGraph();
  const { shadows, input } = shadowed(graph);
  const groupings = new Map<object, { from: object; groups: (entry: Entry<never>) => Iterable<string> }>();
  return faulty(graph, {
    compute: (_name, compute) => (entry, read, emit) => {
      const members = <Value>(index: Index<Value>, group: string): readonly Entry<Value>[] => {
        const grouping = groupings.get(index);
        const shadow = grouping === undefined ? undefined : shadows.get(grouping.from);
        if (grouping === undefined || shadow === undefined) return read.members(index, group);
        read.members(index, group);
        return [...shadow.values()].filter((one) => isMember(grouping.groups, one, group)) as Entry<Value>[];
      };
      compute(entry, { ...read, members }, emit);
    },
    members: {
      input,
      index: (name, from, groups) => {
        const index = graph.index(name, from, groups);
        groupings.set(index, { from, groups: groups as (entry: Entry<never>) => Iterable<string> });
        return index;
      },
    },
  });
}

function isMember(groups: (entry: Entry<never>) => Iterable<string>, entry: Entry<unknown>, group: string): boolean {
  try {
    return [...groups(entry as Entry<never>)].includes(group);
  } catch {
    return false;
  }
}

/** A scope names only clusters that have live state just now, instead of all that were declared. */
export function scopeOfWhatIsThere(): Graph {
  const graph = createGraph();
  const { shadows, input } = shadowed(graph);
  return faulty(graph, {
    scope: (scope) =>
      scope === undefined
        ? undefined
        : (entry, read) => {
            const there = new Set(
              [...shadows.values()].flatMap((shadow) => [...shadow.values()].map((one) => one.partition)),
            );
            return [...scope(entry, read)].filter((cluster) => there.has(cluster));
          },
    members: { input },
  });
}

/** Keeps what is staged in live inputs beside the graph, where no scope guards it. */
function shadowed(graph: Graph) {
  const shadows = new Map<object, Map<string, Entry<unknown>>>();
  const input: Graph['input'] = (name, options) => {
    const made = graph.input(name, options);
    if (options?.live !== true) return made;
    const shadow = new Map<string, Entry<unknown>>();
    shadows.set(made, shadow);
    const { set, delete: remove, drop } = made;
    return Object.assign(made, {
      set: (...[partition, key, value, provenance]: Parameters<typeof set>) => {
        shadow.set(id(partition, key), { partition, key, value });
        set(partition, key, value, provenance);
      },
      delete: (partition: string, key: string) => {
        shadow.delete(id(partition, key));
        remove(partition, key);
      },
      drop: (partition: string) => {
        for (const [place, entry] of shadow) if (entry.partition === partition) shadow.delete(place);
        drop(partition);
      },
    });
  };
  return { shadows, input };
}
