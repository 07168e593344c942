import type { KindState } from '../../model/agent/agent.ts';
import type { FleetPolicy } from '../../model/fleet/desired.ts';
import { boundPolicy, defaultFleetPolicy } from '../../model/fleet/fleet-policy.ts';
import type { Hold, LedgerEntry } from '../../model/fleet/ledger.ts';
import { kindOf, kindWithoutGroup, type ObjectKey } from '../../model/objects/object-key.ts';
import { firstNames } from '../../model/text/messages.ts';
import type { Collection, Graph, Reader } from '../collections/types.ts';
import { type Deadline, hasPassed, OF_PROCESS } from '../deadlines.ts';
import type { EngineInputs, FleetSettings } from '../inputs.ts';
import type { ClusterValue } from './clusters.ts';
import type { PolicyValue } from './policy.ts';
import type { SourceProofs } from './sources.ts';

/** By the kind of a derived object, the live kinds (`group/Kind`) that it is computed from. */
export type LiveKinds = Readonly<Record<string, readonly string[]>>;

/** What made an object: the name of a domain; undefined: it is not known which one. */
export type Maker = string | undefined;

/** The live kinds that domains read. */
export interface LiveReads {
  /** All of them. */
  readonly kinds: readonly string[];
  /** Those that these makers read. */
  ofMakers(makers: readonly Maker[]): readonly string[];
  /** What these makers can have read to make objects of a kind; all that a maker reads if it does not make that kind now. */
  neededFor(kind: string, makers: readonly Maker[]): readonly string[];
}

/** Joins the tables of the domains, by their names. */
export function joinLiveReads(tables: ReadonlyMap<string, LiveKinds>): LiveReads {
  const allOf = (some: Iterable<LiveKinds>): readonly string[] => [
    ...new Set([...some].flatMap((table) => Object.values(table).flat())),
  ];
  const kinds = allOf(tables.values());
  const needed = (kind: string, some: readonly LiveKinds[]): readonly string[] =>
    some.some((table) => Object.hasOwn(table, kind)) ? some.flatMap((table) => table[kind] ?? []) : allOf(some);
  /** A domain that is not listed any more may have read any kind. */
  const tablesOf = (maker: Maker): readonly LiveKinds[] => {
    const own = maker === undefined ? undefined : tables.get(maker);
    return own === undefined ? [...tables.values()] : [own];
  };
  return {
    kinds,
    ofMakers: (makers) => [...new Set(makers.flatMap((maker) => allOf(tablesOf(maker))))],
    neededFor: (kind, makers) => [...new Set(makers.flatMap((maker) => needed(kind, tablesOf(maker))))],
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
export type SafeMode = ReturnType<typeof deriveSafeMode>;

/** Key of the deadline that ends the safe start window. */
const SAFE_START = 'safe-mode';

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
export function deriveSafeMode(graph: Graph, inputs: SafeModeInputs) {
  const { fleet, safeStart, elapsed, policy, clusters, agents, snapshots, kinds, liveReads } = inputs;
  const mode = graph.derive<FleetSettings, SafeModeValue>({
    name: 'safeMode',
    from: fleet,
    reads: [policy, safeStart, elapsed],
    compute: ({ value: { bounds } }, read, emit) => {
      const declared = boundPolicy(read.get(policy, '', '')?.value ?? defaultFleetPolicy, bounds).policy.safeMode.mode;
      const began = read.get(safeStart, '', '');
      // Any end of the window counts: a policy with a longer window does not open it again.
      const isOver = began !== undefined && hasPassed(read, elapsed, OF_PROCESS, SAFE_START, began);
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
      emit(OF_PROCESS, SAFE_START, { at: began + safeMode.safeStartWindowSeconds });
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
    /** Groups are {@link UnseenValue.snapshot}. */
    bySnapshot: graph.index('unseenBySnapshot', unseen, ({ value }) => [value.snapshot]),
    /** The end of the safe start window of this process: owner {@link OF_PROCESS}, key {@link SAFE_START}. */
    deadlines,
  };
}

/** The collections that say which clusters and kinds are visible. */
export interface Visibility extends EngineInputs {
  readonly safeMode: SafeMode;
  readonly clusters: Collection<ClusterValue>;
  readonly liveReads: LiveReads;
  readonly proofs: SourceProofs;
}

/** A change of one key. */
interface Change {
  readonly key: ObjectKey;
  readonly type: 'object' | 'remove';
  /** The clusters that the object can depend on, now or when it was accepted. */
  readonly scope: readonly string[];
  readonly entry: LedgerEntry | undefined;
  /** Of the object, and of the one that the cluster has. */
  readonly makers: readonly Maker[];
}

/** A message names at most this many clusters, and counts the others. */
const NAMED = 3;

/** Why a change waits: a cluster or kind that it can depend on is not visible. Undefined: it need not wait. */
export function whyUnseen(read: Reader, visibility: Visibility, change: Change): Hold | undefined {
  return whyMissing(read, visibility, change) ?? whyUnread(read, visibility, change);
}

/** Waits for input snapshots: in strict mode of all clusters, otherwise of those in the scope. */
function whyMissing(read: Reader, { safeMode }: Visibility, { scope, entry }: Change): Hold | undefined {
  const inForce = read.get(safeMode.mode, '', '')?.inForce ?? 'scoped';
  if (inForce === 'none') return undefined;
  if (inForce === 'strict') {
    const assumedWarm = entry === undefined ? [] : read.members(safeMode.bySnapshot, 'assumedWarm');
    const missing = [...read.members(safeMode.bySnapshot, 'missing'), ...assumedWarm].map(({ key }) => key);
    return missing.length === 0 ? undefined : holdOf(missing, 'nothing changes', 'safe mode is strict');
  }
  const missing = scope.filter((cluster) => {
    const snapshot = read.get(safeMode.unseen, '', cluster)?.snapshot;
    return snapshot === 'missing' || (snapshot === 'assumedWarm' && entry !== undefined);
  });
  if (missing.length === 0) return undefined;
  return holdOf(missing, 'it stays as it is', 'it could have been computed from what lives there');
}

function holdOf(missing: readonly string[], what: string, why: string): Hold {
  const named = firstNames(missing, NAMED);
  return { reason: 'SafeMode', message: `${what} while the input snapshot of ${named} is missing: ${why}` };
}

/** Waits for declarations of clusters, and for lists of kinds: an incomplete list proves no absence. */
function whyUnread(
  read: Reader,
  { clusters, snapshots, kinds, liveReads, proofs, safeMode }: Visibility,
  { key, type, scope, entry, makers }: Change,
): Hold | undefined {
  const isRemoval = type === 'remove';
  for (const cluster of scope) {
    const declared = read.get(clusters, '', cluster);
    if (declared === undefined) {
      if (entry !== undefined && proofs.hasDoubt(read)) return clusterInDoubt(cluster);
      continue;
    }
    // A document that was refused can be read.
    if (isRemoval && declared.isLastKnownGood && declared.refusal === undefined) return clusterInDoubt(cluster);
    const unknownKinds = read.get(safeMode.unseen, '', cluster)?.unknownKinds ?? [];
    const needed = unknownKinds.length === 0 ? [] : liveReads.ofMakers(makers);
    const unknown = unknownKinds.find(({ kind }) => needed.includes(kind));
    if (unknown !== undefined) return kindUnknown(cluster, unknown.kind, unknown.message);
    const snapshot = isRemoval ? read.get(snapshots, '', cluster) : undefined;
    if (snapshot === undefined) continue;
    if (snapshot.isArriving === true) return snapshotArriving(cluster);
    const isListed = (kind: string): boolean => read.get(kinds, cluster, kind)?.state === 'complete';
    const unlisted = liveReads.neededFor(kindOf(key), makers).find((kind) => !isListed(kind));
    if (unlisted !== undefined) return kindUnknown(cluster, unlisted, 'the cluster does not say that it was listed');
  }
  return undefined;
}

function kindUnknown(cluster: string, kind: string, message: string): Hold {
  const name = kindWithoutGroup(kind);
  const why = message === '' ? '' : `: ${message}`;
  return {
    reason: 'KindUnknown',
    message: `${name} of cluster ${cluster} cannot be read, and what is not read is not gone${why}`,
  };
}

function snapshotArriving(cluster: string): Hold {
  const message = `cluster ${cluster} has sent only a part of its next input snapshot: the removal waits until the rest has arrived, or the cluster is deregistered`;
  return { reason: 'SnapshotArriving', message };
}

function clusterInDoubt(cluster: string): Hold {
  const message = `it could have been computed from cluster ${cluster}, whose KubernetesCluster cannot be read just now`;
  return { reason: 'ClusterInDoubt', message };
}
