import type { KindState } from '../../model/agent.ts';
import type { FleetPolicy } from '../../model/desired.ts';
import { boundPolicy, defaultFleetPolicy } from '../../model/fleet-policy.ts';
import type { Collection, Derived, Graph, Index } from '../collections/types.ts';
import { type Deadline, hasPassed } from '../deadlines.ts';
import type { EngineInputs, FleetSettings } from '../inputs.ts';
import type { ClusterValue } from './clusters.ts';
import type { PolicyValue } from './policy.ts';

/** By the kind of a derived object, the live kinds (`group/Kind`) that it is computed from. */
export type LiveKinds = Readonly<Record<string, readonly string[]>>;

/** The live kinds that domains read. */
export interface LiveReads {
  /** All of them. */
  readonly kinds: readonly string[];
  /** The live kinds that objects of a kind can have been computed from; all of them if no domain makes that kind now. */
  neededFor(kind: string): readonly string[];
}

/** Joins the tables of all domains. */
export function joinLiveReads(tables: readonly LiveKinds[]): LiveReads {
  const kinds = [...new Set(tables.flatMap((table) => Object.values(table).flat()))];
  return {
    kinds,
    neededFor: (kind) => {
      const needed = tables.flatMap((table) => table[kind] ?? []);
      return tables.some((table) => Object.hasOwn(table, kind)) ? needed : kinds;
    },
  };
}

/** The reaction to missing input snapshots. One entry, key and partition empty. */
export interface SafeModeValue {
  readonly declared: FleetPolicy['safeMode']['mode'];
  /** A declared `off` is `scoped` until the safe start window is over, and `none` from then on. */
  readonly inForce: 'strict' | 'scoped' | 'none';
}

/** A registered cluster that is not completely visible. Partition empty, key its name. */
export interface UnseenValue {
  /**
   * `missing`: the cluster has sent a snapshot once, and there is none now. `assumedWarm`: the store was lost, and an older
   * inventory names the cluster. `here`: there is a snapshot, or the cluster has never sent one.
   */
  readonly snapshot: 'here' | 'missing' | 'assumedWarm';
  /** Kinds that domains read, and whose list is not complete. */
  readonly unknownKinds: readonly KindState[];
}

/** The mode, and the clusters that it is about. */
export interface SafeMode {
  readonly mode: Derived<SafeModeValue>;
  readonly unseen: Derived<UnseenValue>;
  /** Groups are {@link UnseenValue.snapshot}. */
  readonly bySnapshot: Index<UnseenValue>;
  /** The end of the safe start window of this process: owner {@link SAFE_START}, key empty. */
  readonly deadlines: Derived<Deadline>;
}

/** Owner of the deadline that ends the safe start window. */
export const SAFE_START = 'safe-mode';

/** What {@link deriveSafeMode} reads. */
interface SafeModeInputs extends EngineInputs {
  readonly policy: Collection<PolicyValue>;
  readonly clusters: Collection<ClusterValue>;
  readonly liveReads: LiveReads;
}

/**
 * Derives safe mode. A new mode is in force at once, also a looser one: the guards of the same commit still have the limits
 * from before the change.
 */
export function deriveSafeMode(graph: Graph, inputs: SafeModeInputs): SafeMode {
  const { fleet, safeStart, elapsed, policy, clusters, agents, snapshots, kinds, liveReads } = inputs;
  const mode = graph.derive<FleetSettings, SafeModeValue>({
    name: 'safeMode',
    from: fleet,
    reads: [policy, safeStart, elapsed],
    compute: ({ value: { bounds } }, read, emit) => {
      const declared = boundPolicy(read.get(policy, '', '')?.value ?? defaultFleetPolicy, bounds).policy.safeMode.mode;
      const began = read.get(safeStart, '', '');
      // Any end of the window counts: a policy with a longer window does not open it again.
      const isOver = began !== undefined && hasPassed(read, elapsed, SAFE_START, '', began);
      emit('', '', { declared, inForce: declared !== 'off' ? declared : isOver ? 'none' : 'scoped' });
    },
  });
  // In every mode, because the mode can become `off` later.
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
      const { warm = false, assumedWarm = false } = read.get(agents, '', cluster) ?? {};
      const isSeen = read.get(snapshots, '', cluster) !== undefined || value.value.skipWarming;
      const snapshot = isSeen ? 'here' : warm ? 'missing' : assumedWarm ? 'assumedWarm' : 'here';
      const unknownKinds = liveReads.kinds
        .flatMap((kind) => read.get(kinds, cluster, kind) ?? [])
        .filter(({ state }) => state !== 'complete');
      if (snapshot !== 'here' || unknownKinds.length > 0) emit('', cluster, { snapshot, unknownKinds });
    },
  });
  return {
    mode,
    unseen,
    bySnapshot: graph.index('unseenBySnapshot', unseen, ({ value }) => [value.snapshot]),
    deadlines,
  };
}
