import type { ConditionValue, OutcomeCounts } from '../../model/conditions.ts';
import type { Origin } from '../../model/output.ts';
import type { Engine } from '../graph.ts';
import { countOutcomes, summarise, worstFirst } from './conditions.ts';
import { countHealthOf } from './health-counts.ts';
import { tally } from './lookups.ts';
import { type Progress, progressStates } from './progress.ts';

/** How one object is doing across the clusters that it is meant for. */
export interface ObjectStatus {
  readonly origins: readonly Origin[];
  readonly counts: OutcomeCounts;
  readonly clusters: readonly { readonly cluster: string; readonly progress: Progress }[];
  readonly conditions: readonly ConditionValue[];
}

/** The status of an object by its key; undefined if no cluster has to do with it any more. */
export function objectStatus(engine: Engine, key: string): ObjectStatus | undefined {
  const members = engine.indexes.progressByObject.members(key);
  if (members.length === 0) return undefined;
  const all = members.map(({ value }) => value);
  const counts = countsOf(all);
  const origins = new Map(
    all.flatMap((progress) => progress.origins).map((origin) => [`${origin.source}\u0000${origin.path}`, origin]),
  );
  return {
    origins: [...origins].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, origin]) => origin),
    counts,
    clusters: members.map(({ partition, value }) => ({ cluster: partition, progress: value })),
    conditions: progressConditions(all),
  };
}

/** The conditions of one object over some clusters. */
export function progressConditions(all: readonly Progress[]): readonly ConditionValue[] {
  return summarise(countsOf(all), worstOf(all), countHealthOf(all));
}

function countsOf(all: readonly Progress[]): OutcomeCounts {
  return countOutcomes(tally(progressStates, (state) => all.filter((one) => one.state === state).length));
}

/** The one that a person should hear of first; undefined if all are applied. */
function worstOf(all: readonly Progress[]): Progress | undefined {
  for (const state of worstFirst) {
    const found = all.find((progress) => progress.state === state);
    if (found !== undefined) return found;
  }
  return undefined;
}
