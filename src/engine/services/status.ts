import type { Derived, Graph, Index, Reader } from '../collections/types.ts';
import type { AfterProgress } from '../domain.ts';
import { type ConditionValue, countOutcomes, summarise, worstFirst } from '../status/conditions.ts';
import type { DeclaredStatus } from '../status/declared-status.ts';
import { healthStates } from '../status/health-counts.ts';
import { derivedGroup, progressStates } from '../status/progress.ts';
import type { MirrorValue, ServiceExport } from './mirrors.ts';

/** The status of ServiceMirrors: how far the objects have got that each one generates. */
export function deriveMirrorStatuses(
  graph: Graph,
  mirrors: Derived<MirrorValue>,
  exportsByMirror: Index<ServiceExport>,
  { derivedProgress }: AfterProgress,
): Derived<DeclaredStatus> {
  return graph.derive<MirrorValue, DeclaredStatus>({
    name: 'mirrorStatuses',
    from: mirrors,
    reads: [derivedProgress, exportsByMirror],
    seesAll: true,
    compute: ({ key: name, value: mirror }, read, emit) => {
      const { origin } = mirror.declared;
      const count = (state: Parameters<typeof derivedGroup>[1]): number =>
        read.count(derivedProgress, derivedGroup(origin, state));
      const { targeted, applied, failed, held, pending, unreachable } = countOutcomes(tally(progressStates, count));
      const counts = { targeted, applied, failed, held, pending, unreachable };
      const worst = worstFirst.find((state) => count(state) > 0);
      const example = worst && read.members(derivedProgress, derivedGroup(origin, worst))[0]?.value;
      emit('ServiceMirror', name, {
        origin,
        conditions: [...selects(mirror), ...summarise(counts, example, tally(healthStates, count))],
        fields: {
          selectedClusters: mirror.to.length,
          mirroredServices: countServices(read, exportsByMirror, name),
          counts,
        },
      });
    },
  });
}

function tally<State extends string>(
  states: readonly State[],
  count: (state: State) => number,
): Readonly<Record<State, number>> {
  return Object.fromEntries(states.map((state) => [state, count(state)])) as Record<State, number>;
}

/** Live services that it takes, each counted once, to however many clusters it goes. */
function countServices(read: Reader, exportsByMirror: Index<ServiceExport>, mirror: string): number {
  return read.count(exportsByMirror, mirror);
}

/** Absent where there is nothing to report. */
function selects({ from, to, unknownClusters }: MirrorValue): readonly ConditionValue[] {
  const type = 'ClustersSelected';
  if (unknownClusters.length > 0) {
    const named = unknownClusters.slice(0, 5).join(', ');
    const message = `no KubernetesCluster of this name is declared: ${named}${unknownClusters.length > 5 ? ', ...' : ''}`;
    return [{ type, status: 'False', reason: 'UnknownClusters', message }];
  }
  if (from.length > 0 && to.length > 0) return [];
  const message = `it selects no registered cluster to mirror ${from.length === 0 ? 'from' : 'to'}`;
  return [{ type, status: 'False', reason: 'NoCluster', message }];
}
