import type { EntryAddress } from '../../../collections/types.ts';

export const NODE_KIND = '/Node';

/** The verdict on one Node of a Shoot's cluster. */
export interface NodeVerdict {
  /** The name of its pool, which the Shoot may not have; absent: it belongs to none, and only its own Lease counts. */
  readonly pool?: string;
  /** Why it is not healthy; absent: it is. */
  readonly unhealthy?: string;
  readonly kubelet?: KubeletProblem;
  /** What is wrong with its operating system config, as a sentence; absent: nothing, or it is not judged. */
  readonly config?: string;
  /** What is wrong with its gardener-node-agent; absent: nothing, or it is not judged. */
  readonly agent?: 'missing' | 'stopped';
  /** What it says of units that are not ready; absent: nothing. */
  readonly units?: string;
  /** The kubelet does not renew its Lease. */
  readonly isLeaseExpired: boolean;
  /** How it counts in scaling; absent: machine-controller-manager does not manage it, or no Seed does. */
  readonly scaling?: 'ready' | 'notReady' | CordonedState;
}

/**
 * A Node that takes no new Pods, by its Machine: `draining`: that is being deleted; `notDeleted`: it is not; `withoutMachine`:
 * there is none.
 */
export type CordonedState = 'draining' | 'notDeleted' | 'withoutMachine';

/** What is wrong with the version of a kubelet. */
export interface KubeletProblem {
  /** `unparsable`: it is no version. `older`: of the minor version that its pool should have, and before it. */
  readonly type: 'unparsable' | 'older';
  readonly version: string;
}

/** The groups of the Nodes of one cluster, and those that a pool has of its own. */
export type NodeGroup =
  | 'pool'
  | 'unhealthy'
  | 'kubelet'
  | 'config'
  | 'agent'
  | 'stoppedAgent'
  | 'units'
  | 'expiredLease'
  | 'managed'
  | 'ready'
  | 'draining'
  | 'cordonedWrong';

/** The name of a group; `pool` is empty in a group of the whole cluster. */
export function nodeGroup(cluster: string, group: NodeGroup, pool = ''): string {
  return `${cluster}/${group}/${pool}`;
}

/** The groups that a Node belongs to. */
export function groupsOf({ partition: cluster, value }: EntryAddress & { readonly value: NodeVerdict }): string[] {
  const { pool, unhealthy, kubelet, config, agent, units, isLeaseExpired, scaling } = value;
  const ofPool = (group: NodeGroup, isMember: boolean) =>
    isMember && pool !== undefined ? [nodeGroup(cluster, group, pool)] : [];
  const ofCluster = (group: NodeGroup, isMember: boolean) => (isMember ? [nodeGroup(cluster, group)] : []);
  return [
    ...ofPool('pool', true),
    ...ofPool('unhealthy', unhealthy !== undefined),
    ...ofPool('kubelet', kubelet !== undefined),
    ...ofPool('config', config !== undefined),
    ...ofCluster('agent', agent !== undefined),
    ...ofCluster('stoppedAgent', agent === 'stopped'),
    ...ofCluster('units', units !== undefined),
    ...ofCluster('expiredLease', isLeaseExpired),
    ...ofCluster('managed', scaling !== undefined),
    ...ofCluster('ready', scaling === 'ready'),
    ...ofCluster('draining', scaling === 'draining'),
    ...ofCluster('cordonedWrong', scaling === 'notDeleted' || scaling === 'withoutMachine'),
  ];
}
