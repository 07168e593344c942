import type {
  Collection,
  Contribution,
  Derived,
  Entry,
  Index,
  Reader,
} from '../../../../../engine/collections/types.ts';
import { type ObjectKey, objectRefOf } from '../../../../../model/objects/object-key.ts';
import type { WorkerPool } from '../../../model/shoot.ts';
import type { BoundShoot } from '../../binding.ts';
import type { LeaseReads } from '../../leases.ts';
import type { Cause, ConditionFinding } from '../../thresholds.ts';
import type { NamespaceReads } from '../../visibility.ts';
import type { CaredClusters } from './cared-clusters.ts';
import type { Demand } from './machines.ts';
import { labelGroup, type NodeGroup, type NodeVerdict, nodeGroup } from './node-verdict.ts';

/** What the rules read: numbers and the first entries of groups, never all Nodes. */
export interface NodeReads extends LeaseReads, NamespaceReads, Pick<CaredClusters, 'pools'> {
  readonly nodes: {
    readonly verdicts: Index<NodeVerdict>;
    readonly verdictCounts: Collection<number>;
    /** The numbers of the Nodes by their labels: groups of {@link labelGroup}. */
    readonly labelCounts: Collection<number>;
  };
  readonly machines: {
    readonly counts: Collection<number>;
    readonly demands: Derived<readonly Contribution<Demand>[]>;
  };
}

/** One evaluation of the rules. */
export interface Look {
  readonly read: Reader;
  readonly reads: NodeReads;
  /** The Shoot's cluster. */
  readonly cluster: string;
  readonly shoot: Pick<BoundShoot, 'pools' | 'seed' | 'controlPlaneNamespace'>;
  first(group: NodeGroup, count: number, pool?: string): readonly Entry<NodeVerdict>[];
  count(group: NodeGroup, pool?: string): number;
  /** The number of Nodes of a pool. */
  nodesOf(pool: string): number;
}

/** A rule of one pool. */
export type PoolRule = (look: Look, pool: WorkerPool) => ConditionFinding | undefined;
/** A rule of the whole cluster. */
export type ClusterRule = (look: Look) => ConditionFinding | undefined;

/** Creates what the rules of a Shoot read by. */
export function createLook(read: Reader, shoot: BoundShoot, reads: NodeReads): Look {
  const { cluster, seed, pools } = shoot;
  const { verdicts, verdictCounts, labelCounts } = reads.nodes;
  const labelled = (label?: string): number => read.get(labelCounts, '', labelGroup(cluster, label)) ?? 0;
  return {
    read,
    reads,
    cluster,
    shoot,
    first: (group, count, pool) => read.first(verdicts, nodeGroup(cluster, group, pool), count),
    count: (group, pool) => read.get(verdictCounts, '', nodeGroup(cluster, group, pool)) ?? 0,
    nodesOf: (pool) => labelled(pool) + (seed === undefined && pool === pools[0]?.name ? labelled() : 0),
  };
}

/** Most Nodes that a text names. */
export const MOST_NAMED_NODES = 10;

/** The name of the Node with this key. */
export function nodeName(key: string): string {
  return objectRefOf(key as ObjectKey).name;
}

/** A fault that was found. */
export function failed(
  reason: string,
  message: string,
  more: Pick<ConditionFinding, 'codes' | 'cause'> = {},
): ConditionFinding {
  return { outcome: 'failed', reason, message, ...more };
}

/** The Node that a fault follows from. */
export function causedBy({ partition: cluster, key }: Entry<NodeVerdict>): { readonly cause: Cause } {
  return { cause: { cluster, key: key as ObjectKey } };
}
