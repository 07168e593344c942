import { type ObjectKey, objectRefOf } from '../../../../model/object-key.ts';
import type { WorkerPool } from '../../../../model/shoot.ts';
import type { Collection, Contribution, Derived, Entry, Index, Reader } from '../../../collections/types.ts';
import type { BoundShoot } from '../../binding.ts';
import type { LeaseReads } from '../../leases.ts';
import type { Cause, Finding } from '../../thresholds.ts';
import type { NamespaceReads } from '../gate.ts';
import { type NodeGroup, type NodeVerdict, nodeGroup } from './node-verdict.ts';

/** What the rules read: numbers and the first entries of groups, never all Nodes. */
export interface NodeReads extends LeaseReads, NamespaceReads {
  readonly nodes: { readonly groups: Index<NodeVerdict>; readonly counts: Collection<number> };
  readonly machines: {
    readonly counts: Collection<number>;
    readonly demands: Derived<readonly Contribution<Demand>[]>;
  };
  readonly configs: Derived<readonly Contribution<PoolConfig>[]>;
}

/** What a MachineDeployment demands. */
export interface Demand {
  /** 0 while it is being deleted. */
  readonly machines: number;
  readonly isRolling: boolean;
  readonly hasFailedMachines: boolean;
}

/** The operating system config of a pool, by the metadata of its Secret. */
export interface PoolConfig {
  readonly secret: string;
  /** Of the config that the Nodes should have applied. */
  readonly checksum: string;
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
}

/** A rule of one pool. */
export type PoolRule = (look: Look, pool: WorkerPool) => Finding | undefined;
/** A rule of the whole cluster. */
export type ClusterRule = (look: Look) => Finding | undefined;

/** Creates what the rules of a Shoot read by. */
export function createLook(read: Reader, shoot: BoundShoot, reads: NodeReads): Look {
  const { cluster } = shoot;
  return {
    ...{ read, reads, cluster, shoot },
    first: (group, count, pool) => read.first(reads.nodes.groups, nodeGroup(cluster, group, pool), count),
    count: (group, pool) => read.get(reads.nodes.counts, '', nodeGroup(cluster, group, pool)) ?? 0,
  };
}

/** A text can name at most so many Nodes. */
export const MOST_NAMED_NODES = 10;

/** The name of the Node with this key. */
export function nodeName(key: string): string {
  return objectRefOf(key as ObjectKey).name;
}

/** A fault that was found. */
export function failed(reason: string, message: string, more: Pick<Finding, 'codes' | 'cause'> = {}): Finding {
  return { outcome: 'failed', reason, message, ...more };
}

/** The Node that a fault follows from. */
export function causedBy({ partition: cluster, key }: Entry<NodeVerdict>): { readonly cause: Cause } {
  return { cause: { cluster, key: key as ObjectKey } };
}
