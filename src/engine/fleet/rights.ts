import type { SourceRights } from '../../model/fleet/source-rights.ts';
import type { Collection, Derived, Graph } from '../collections/types.ts';
import type { SourceValue } from '../inputs.ts';

/** Derives the rights of the sources that have some. Partition empty, key the source. A source without may do everything. */
export function deriveRights(graph: Graph, sources: Collection<SourceValue>): Derived<SourceRights> {
  return graph.derive<SourceValue, SourceRights>({
    name: 'sourceRights',
    from: sources,
    compute: ({ key: source, value: { rights } }, _read, emit) => {
      if (rights !== undefined) emit('', source, rights);
    },
  });
}
