import type { Derived, Graph, Reader } from '../../../engine/collections/types.ts';
import type { EngineInputs } from '../../../engine/inputs.ts';
import type { BoundShoot } from './binding.ts';
import type { ConditionFinding } from './thresholds.ts';

/** A Shoot that is to sleep, or that was seen asleep and not awake since. Partition empty, key the Shoot's. */
export interface Sleep {
  /** The spec wants it. */
  readonly isWanted: boolean;
  /** The status written last says `hibernated`. */
  readonly isSeen: boolean;
}

interface SleeperReads extends Pick<EngineInputs, 'observed'> {
  readonly bindings: Derived<BoundShoot>;
}

/**
 * Derives the Shoots that sleep: nothing of them is checked, their agents may be silent. A Shoot that wakes up sleeps until its
 * cluster is seen awake. Source: Gardener's care controller.
 */
export function deriveSleepers(graph: Graph, { bindings, observed }: SleeperReads): Derived<Sleep> {
  return graph.derive<BoundShoot, Sleep>({
    name: 'sleepingShoots',
    from: bindings,
    reads: [observed],
    compute: ({ key, value: { wantsHibernation: isWanted, isIgnored } }, read, emit) => {
      const isSeen = read.get(observed, 'Shoot', key)?.fields.hibernated === true;
      if (!isIgnored && (isWanted || isSeen)) emit('', key, { isWanted, isSeen });
    },
  });
}

/** Whether nothing of the Shoot is checked. */
export function isAsleep(read: Reader, sleepers: Derived<Sleep>, shoot: string): boolean {
  return read.get(sleepers, '', shoot) !== undefined;
}

/** Whether the Shoot was seen asleep, as its written status says, and not awake since. */
export function wasSeenAsleep(read: Reader, sleepers: Derived<Sleep>, shoot: string): boolean {
  return read.get(sleepers, '', shoot)?.isSeen === true;
}

/** The finding of every condition of a Shoot that sleeps. */
export const SLEEPS: ConditionFinding = {
  outcome: 'good',
  reason: 'ConditionNotChecked',
  message: 'Shoot cluster has been hibernated.',
};

/** The clusters of Shoots that sleep, whose agents are not expected to answer. Partition empty, key the cluster, value: why. */
export function deriveSleepingClusters(
  graph: Graph,
  { bindings, sleepers }: { readonly bindings: Derived<BoundShoot>; readonly sleepers: Derived<Sleep> },
): Derived<string> {
  return graph.derive<BoundShoot, string>({
    name: 'sleepingClusters',
    from: bindings,
    reads: [sleepers],
    compute: ({ key, value: { cluster, elected } }, read, emit) => {
      if (elected === undefined && isAsleep(read, sleepers, key)) emit('', cluster, `Shoot ${key} is hibernated`);
    },
  });
}
