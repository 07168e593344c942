import type { OutcomeCounts } from '../../model/outcome.ts';
import type { Engine } from '../graph.ts';
import type { PlacementValue } from '../placement/placements.ts';
import { worstOf } from './clusters.ts';
import { type ConditionValue, countOutcomes, summarise } from './conditions.ts';
import { countHealthOf } from './health-counts.ts';
import { type Progress, type ProgressState, progressStates } from './progress.ts';

/** How far that has got which a Placement sends to its clusters. */
export interface PlacementStatus {
  /** Registered clusters that it selects. */
  readonly selectedClusters: number;
  /** Objects under its paths, once for each cluster; those that another Placement sends there as well are among them. */
  readonly counts: OutcomeCounts;
  readonly conditions: readonly ConditionValue[];
}

/** The status of a Placement by its name; undefined if there is none. Cost follows what its clusters should hold. */
export function placementStatus(engine: Engine, name: string): PlacementStatus | undefined {
  const placement = engine.placements.get('', name);
  if (placement === undefined) return undefined;
  const byState = Object.fromEntries(progressStates.map((state) => [state, 0])) as Record<ProgressState, number>;
  const all: Progress[] = [];
  const matches = memoized(placement);
  for (const cluster of placement.clusters) {
    for (const { value } of engine.progress.entries(cluster)) {
      if (!value.origins.some(({ path }) => matches(path))) continue;
      all.push(value);
      byState[value.state]++;
    }
  }
  const counts = countOutcomes(byState);
  return {
    selectedClusters: placement.clusters.length,
    counts,
    conditions: [...selects(placement), ...summarise(counts, worstOf(all), countHealthOf(all))],
  };
}

/** Is what came from a path under the Placement's globs? */
export function isUnder({ globs }: PlacementValue, path: string): boolean {
  return globs.some((glob) => glob.matches(path));
}

/** The same path comes once for each cluster. */
function memoized(placement: PlacementValue): (path: string) => boolean {
  const known = new Map<string, boolean>();
  return (path) => {
    const before = known.get(path);
    if (before !== undefined) return before;
    const now = isUnder(placement, path);
    known.set(path, now);
    return now;
  };
}

/** Said only where there is something to say. */
function selects({ clusters, unknownClusters }: PlacementValue): readonly ConditionValue[] {
  const type = 'ClustersSelected';
  if (unknownClusters.length > 0) {
    const named = unknownClusters.slice(0, 5).join(', ');
    const message = `no KubernetesCluster of this name is declared: ${named}${unknownClusters.length > 5 ? ', ...' : ''}`;
    return [{ type, status: 'False', reason: 'UnknownClusters', message }];
  }
  if (clusters.length > 0) return [];
  return [{ type, status: 'False', reason: 'NoCluster', message: 'it selects no registered cluster' }];
}
