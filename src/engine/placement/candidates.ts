import { structurallyEqual } from '../collections/equality.ts';
import type { Collection, Contribution, Derived, Graph } from '../collections/types.ts';
import type { Want } from './want.ts';

/** A want in one of its clusters. Partition: the cluster. Key: the object's. */
export type Candidate = Omit<Want, 'clusters'>;

/** Everything that is wanted in each cluster; several wants may have one key. */
export function deriveCandidates(
  graph: Graph,
  wants: readonly Collection<Want>[],
): Derived<readonly Contribution<Candidate>[]> {
  return graph.gather<Want, Candidate>({
    name: 'candidates',
    from: wants,
    equals: sameCandidate,
    compute: ({ value: want }, _read, emit) => {
      for (const cluster of want.clusters) emit(cluster, want.key, want);
    },
  });
}

/** That a want goes to other clusters too is no change for this one. */
function sameCandidate(a: Candidate, b: Candidate): boolean {
  return (
    a === b ||
    (structurallyEqual(a.value, b.value) &&
      a.identity === b.identity &&
      a.scopeUnknown === b.scopeUnknown &&
      structurallyEqual(a.origin, b.origin) &&
      structurallyEqual(a.scope, b.scope) &&
      structurallyEqual(a.derived, b.derived))
  );
}
