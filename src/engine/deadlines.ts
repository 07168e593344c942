import type { Collection, Derived, Graph, Reader } from './collections/types.ts';

/**
 * A moment after which the engine computes something else. Partition: who needs it. Key: the subject. It is there as long
 * as the moment matters, whether it has passed or not, so that a restart computes the same moments.
 */
export interface Deadline {
  /** Whole seconds since 1970. */
  readonly at: number;
}

/**
 * Whether this moment has passed. `elapsed` has the latest moment of each deadline that has passed, so a later moment of
 * the same deadline has not passed yet.
 */
export function hasPassed(read: Reader, elapsed: Collection<number>, owner: string, key: string, at: number): boolean {
  return (read.get(elapsed, owner, key) ?? Number.NEGATIVE_INFINITY) >= at;
}

/** All deadlines in one collection. Each provider emits into a partition of its own. */
export function joinDeadlines(graph: Graph, providers: readonly Derived<Deadline>[]): Derived<Deadline> {
  return graph.derive<Deadline, Deadline>({
    name: 'deadlines',
    from: providers,
    seesAll: true,
    compute: ({ partition, key, value }, _read, emit) => emit(partition, key, value),
  });
}
