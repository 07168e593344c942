import type { Derived, Graph, Index } from '../collections/types.ts';
import type { AfterProgress } from '../domain.ts';
import { countOutcomes, countsField, summarise } from '../status/conditions.ts';
import type { StatusPart } from '../status/declared-status.ts';
import { healthStates } from '../status/health-counts.ts';
import { selectionCondition, tally, worstTrouble } from '../status/lookups.ts';
import { derivedGroup, type ProgressState, progressStates } from '../status/progress.ts';
import type { MirrorValue, ServiceExport } from './mirrors.ts';

/** The status of ServiceMirrors: how far the objects have got that each one generates. */
export function deriveMirrorStatuses(
  graph: Graph,
  mirrors: Derived<MirrorValue>,
  exportsByMirror: Index<ServiceExport>,
  { derivedProgress }: AfterProgress,
): Derived<StatusPart> {
  return graph.derive<MirrorValue, StatusPart>({
    name: 'mirrorStatuses',
    from: mirrors,
    reads: [derivedProgress, exportsByMirror],
    seesAll: true,
    compute: ({ key: name, value: { declared, from, to, unknownClusters } }, read, emit) => {
      const group = (state: Parameters<typeof derivedGroup>[1]): string => derivedGroup(declared.origin, state);
      const count = (state: Parameters<typeof derivedGroup>[1]): number => read.count(derivedProgress, group(state));
      const counts = countOutcomes(tally<ProgressState>(progressStates, count));
      const worst = worstTrouble(read, derivedProgress, group);
      const selectsNone =
        from.length > 0 && to.length > 0
          ? undefined
          : `it selects no registered cluster to mirror ${from.length === 0 ? 'from' : 'to'}`;
      emit('ServiceMirror', name, {
        conditions: [
          ...selectionCondition(unknownClusters, selectsNone),
          ...summarise(counts, worst, tally(healthStates, count)),
        ],
        fields: {
          selectedClusters: to.length,
          // Live services that it takes, each counted once, to however many clusters it goes.
          mirroredServices: read.count(exportsByMirror, name),
          counts: countsField(counts),
        },
      });
    },
  });
}
