import type { Engine } from '../graph.ts';
import { worstOf } from './clusters.ts';
import { type ConditionValue, countOutcomes, summarise } from './conditions.ts';
import { countHealthOf } from './health-counts.ts';
import type { PlacementStatus } from './placements.ts';
import { type Progress, type ProgressState, progressStates } from './progress.ts';

/** How far that has got which a ServiceMirror makes known elsewhere. */
export interface MirrorStatus extends PlacementStatus {
  /** Live services that it takes, each counted once, to however many clusters it goes. */
  readonly mirroredServices: number;
}

/** The status of a ServiceMirror by its name; undefined if there is none. Cost follows what its clusters should hold. */
export function mirrorStatus(engine: Engine, name: string): MirrorStatus | undefined {
  const mirror = engine.mirrors.get('', name);
  if (mirror === undefined) return undefined;
  const { source, path } = mirror.declared.origin;
  const byState = Object.fromEntries(progressStates.map((state) => [state, 0])) as Record<ProgressState, number>;
  const all: Progress[] = [];
  for (const cluster of mirror.to) {
    for (const { key, value } of engine.progress.entries(cluster)) {
      if (!value.origins.some((origin) => origin.source === source && origin.path === path)) continue;
      const output = engine.outputs.get(cluster, key);
      // What else the file of the mirror declares is read from no cluster.
      if (output === undefined || output.type === 'absent' || output.scope.length === 0) continue;
      all.push(value);
      byState[value.state]++;
    }
  }
  const counts = countOutcomes(byState);
  return {
    selectedClusters: mirror.to.length,
    mirroredServices: servicesOf(engine, source, name),
    counts,
    conditions: [...selects(mirror), ...summarise(counts, worstOf(all), countHealthOf(all))],
  };
}

function servicesOf(engine: Engine, source: string, mirror: string): number {
  return [...engine.exports.entries(source)].filter(({ value }) => value.mirror === mirror).length;
}

/** Said only where there is something to say. */
function selects({
  from,
  to,
  unknownClusters,
}: {
  readonly from: readonly string[];
  readonly to: readonly string[];
  readonly unknownClusters: readonly string[];
}): readonly ConditionValue[] {
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
