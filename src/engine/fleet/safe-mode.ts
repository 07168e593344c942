import type { KindState } from '../../model/agent.ts';
import type { FleetPolicy } from '../../model/desired.ts';
import { boundPolicy, defaultFleetPolicy } from '../../model/fleet-policy.ts';
import type { Collection, Derived, Graph, Index } from '../collections/types.ts';
import { type Deadline, hasPassed } from '../deadlines.ts';
import type { AgentValue, FleetSettings, SnapshotValue } from '../inputs.ts';
import type { ClusterValue } from './clusters.ts';
import type { LiveReads } from './live-reads.ts';
import type { PolicyValue } from './policy.ts';

/** What is done while the snapshot of a cluster is missing. One entry, key and partition empty. */
export interface SafeModeValue {
  readonly declared: FleetPolicy['safeMode']['mode'];
  /** `off` is `scoped` until the safe start window is over, and `none` from then on: what is there counts. */
  readonly inForce: 'strict' | 'scoped' | 'none';
}

/** What cannot be seen of a registered cluster. Partition empty, key its name; a cluster that is seen has no entry. */
export interface UnseenValue {
  /**
   * `missing`: it had a snapshot once, and there is none. `assumedWarm`: the store was lost, and an inventory of before names
   * the cluster. `here`: there is one; or none was ever awaited.
   */
  readonly snapshot: 'here' | 'missing' | 'assumedWarm';
  /** Kinds that translations read, and that could not be listed whole. */
  readonly unknownKinds: readonly KindState[];
}

/** Who cannot be seen, and what is done about it. */
export interface SafeMode {
  readonly mode: Derived<SafeModeValue>;
  readonly unseen: Derived<UnseenValue>;
  /** Unseen clusters by what is the matter with the snapshot: the groups are {@link UnseenValue.snapshot}. */
  readonly bySnapshot: Index<UnseenValue>;
  /** The end of the safe start window of this process: owner {@link SAFE_START}, key empty. */
  readonly deadlines: Derived<Deadline>;
}

/** Owner of the deadline that ends the safe start window. */
export const SAFE_START = 'safe-mode';

/**
 * Derives safe mode. A mode that is switched holds at once, also a looser one: the guards of this very commit are those
 * from before the change, so that what stops being held is judged under the old ones.
 */
export function deriveSafeMode(
  graph: Graph,
  inputs: {
    readonly fleet: Collection<FleetSettings>;
    readonly safeStart: Collection<number>;
    readonly elapsed: Collection<number>;
    readonly policy: Collection<PolicyValue>;
    readonly clusters: Collection<ClusterValue>;
    readonly agents: Collection<AgentValue>;
    readonly snapshots: Collection<SnapshotValue>;
    readonly kinds: Collection<KindState>;
    readonly liveReads: LiveReads;
  },
): SafeMode {
  const { fleet, safeStart, elapsed, policy, clusters, agents, snapshots, kinds, liveReads } = inputs;
  const mode = graph.derive<FleetSettings, SafeModeValue>({
    name: 'safeMode',
    from: fleet,
    reads: [policy, safeStart, elapsed],
    compute: ({ value: { bounds } }, read, emit) => {
      const declared = boundPolicy(read.get(policy, '', '')?.value ?? defaultFleetPolicy, bounds).policy.safeMode.mode;
      const began = read.get(safeStart, '', '');
      // Any end that this window has had: once it is over, a policy with a longer one does not open it again.
      const isOver = began !== undefined && hasPassed(read, elapsed, SAFE_START, '', began);
      emit('', '', { declared, inForce: declared !== 'off' ? declared : isOver ? 'none' : 'scoped' });
    },
  });
  // Whatever the mode is: one that is switched to off later looks back at the same window.
  const deadlines = graph.derive<number, Deadline>({
    name: 'safeStartDeadline',
    from: safeStart,
    reads: [policy],
    compute: ({ value: began }, read, emit) => {
      const { safeMode } = read.get(policy, '', '')?.value ?? defaultFleetPolicy;
      emit(SAFE_START, '', { at: began + safeMode.safeStartWindowSeconds });
    },
  });
  const unseen = graph.derive<ClusterValue, UnseenValue>({
    name: 'unseenClusters',
    from: clusters,
    reads: [agents, snapshots, kinds],
    compute: ({ key: cluster, value }, read, emit) => {
      const snapshot = snapshotOf(
        read.get(agents, '', cluster),
        read.get(snapshots, '', cluster) !== undefined,
        value.value.skipWarming,
      );
      const unknownKinds = liveReads.kinds
        .flatMap((kind) => read.get(kinds, cluster, kind) ?? [])
        .filter(({ state }) => state !== 'complete');
      if (snapshot !== 'here' || unknownKinds.length > 0) emit('', cluster, { snapshot, unknownKinds });
    },
  });
  const bySnapshot = graph.index('unseenBySnapshot', unseen, ({ value }) => [value.snapshot]);
  return { mode, unseen, bySnapshot, deadlines };
}

function snapshotOf(agent: AgentValue | undefined, isHere: boolean, skipWarming: boolean): UnseenValue['snapshot'] {
  if (isHere || skipWarming || agent === undefined) return 'here';
  return agent.warm ? 'missing' : agent.assumedWarm ? 'assumedWarm' : 'here';
}
