import type { Collection, Derived, Graph } from '../collections/types.ts';
import type { PlacementValue } from '../placement/placements.ts';
import { countOutcomes, countsField, summarise } from './conditions.ts';
import type { StatusPart } from './declared-status.ts';
import { selectionCondition } from './lookups.ts';
import { noTally, type Tally } from './tallies.ts';

/**
 * The status of every Placement: how far that has got which it sends to its clusters. Objects under its paths count once
 * for each cluster, also those that another Placement sends there as well.
 */
export function derivePlacementStatuses(
  graph: Graph,
  placements: Collection<PlacementValue>,
  tallies: Collection<Tally>,
): Derived<StatusPart> {
  return graph.derive<PlacementValue, StatusPart>({
    name: 'placementStatuses',
    from: placements,
    reads: [tallies],
    compute: ({ key: name, value: { clusters, unknownClusters } }, read, emit) => {
      const { states, health, worst } = read.get(tallies, '', name) ?? noTally;
      const counts = countOutcomes(states);
      const selectsNone = clusters.length > 0 ? undefined : 'it selects no registered cluster';
      emit('Placement', name, {
        conditions: [...selectionCondition(unknownClusters, selectsNone), ...summarise(counts, worst, health)],
        fields: { selectedClusters: clusters.length, counts: countsField(counts) },
      });
    },
  });
}
