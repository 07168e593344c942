import type { Collection, Derived, Graph, Reader } from './collections/types.ts';

/**
 * A moment at which a result of the engine changes. Partition: its owner. Key: the subject. It exists as long as it matters,
 * also after it has passed, so that a restart computes the same deadlines.
 */
export interface Deadline {
  /** Whole seconds since 1970. */
  readonly at: number;
}

/**
 * Owner of the deadlines that count from the start of a process: each replica judges its own by its own clock, and writes
 * nothing of them to the store.
 */
export const OF_PROCESS = 'process';

/** Whether a moment has passed. `elapsed` has the latest moment of each deadline that has passed. */
export function hasPassed(read: Reader, elapsed: Collection<number>, owner: string, key: string, at: number): boolean {
  return (read.get(elapsed, owner, key) ?? Number.NEGATIVE_INFINITY) >= at;
}

/** Joins deadlines. Each owner emits into its own partition. */
export function joinDeadlines(graph: Graph, providers: readonly Derived<Deadline>[]): Derived<Deadline> {
  return graph.derive<Deadline, Deadline>({
    name: 'deadlines',
    from: providers,
    seesAll: true,
    compute: ({ partition, key, value }, _read, emit) => emit(partition, key, value),
  });
}
