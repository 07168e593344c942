import type { ObjectHealth } from '../../model/object-health.ts';
import type { Progress } from './progress.ts';

/** How many objects are how. All zero: nothing is known, as of a cluster that knows no such thing. */
export type HealthCounts = Readonly<Record<ObjectHealth['state'], number>>;

/** In the order in which a person should hear of them. */
export const healthStates = ['failed', 'inProgress', 'terminating', 'unknown', 'current'] as const;

/** The health of one object over its clusters. */
export function countHealthOf(all: readonly Progress[]): HealthCounts {
  const counts = { failed: 0, inProgress: 0, terminating: 0, unknown: 0, current: 0 };
  for (const { health } of all) if (health !== undefined) counts[health.state] += 1;
  return counts;
}

export function addHealth(a: HealthCounts, b: HealthCounts): HealthCounts {
  return {
    failed: a.failed + b.failed,
    inProgress: a.inProgress + b.inProgress,
    terminating: a.terminating + b.terminating,
    unknown: a.unknown + b.unknown,
    current: a.current + b.current,
  };
}

/** Objects that are on their way: applied, and not yet as they are to be. */
export function moving({ inProgress, terminating }: HealthCounts): number {
  return inProgress + terminating;
}
