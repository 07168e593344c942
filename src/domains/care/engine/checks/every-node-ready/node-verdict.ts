import type { Entry } from '../../../../../engine/collections/types.ts';

export const NODE_KIND = '/Node';

/** The label of Nodes and Secrets that names their pool. */
export const POOL_LABEL = 'worker.gardener.cloud/pool';

/** What is special about one Node of a Shoot's cluster. There is no verdict on a Node as it should be, as most are. */
export interface NodeVerdict {
  /** The name of its pool, which the Shoot may not have; absent: it belongs to none, and only its own Lease counts. */
  readonly pool?: string;
  /** Why it is not healthy; absent: it is. */
  readonly unhealthy?: string;
  /** Its Machine failed and is preserved: it is not ready on purpose, so that people can look at it. */
  readonly isPreserved?: true;
  readonly kubelet?: KubeletProblem;
  /** What is wrong with its operating system config, as a sentence; absent: nothing, or it is not judged. */
  readonly config?: string;
  /** What is wrong with its gardener-node-agent; absent: nothing, or it is not judged. */
  readonly agent?: 'missing' | 'stopped';
  /** What it says of units that are not ready; absent: nothing. */
  readonly units?: string;
  /** The kubelet does not renew its Lease. */
  readonly isLeaseExpired?: true;
  /** The Shoot does not have its pool; its Machine counts all the same. */
  readonly isElsewhere?: true;
  /** Why it does not count as a ready Node in scaling; `unmanaged`: machine-controller-manager does not manage it. */
  readonly scaling?: 'unmanaged' | 'notReady' | CordonedState;
}

/**
 * A Node that takes no new Pods, by its Machine: `kept`: that is preserved; `draining`: it is being deleted; `notDeleted`: it is
 * neither; `withoutMachine`: there is none.
 */
export type CordonedState = 'kept' | 'draining' | 'notDeleted' | 'withoutMachine';

/** What is wrong with the version of a kubelet. */
export interface KubeletProblem {
  /** `unparsable`: it is no version. `older`: of the minor version that its pool should have, and before it. */
  readonly type: 'unparsable' | 'older';
  readonly version: string;
}

/** The group of the Nodes of a cluster with this label {@link POOL_LABEL}, or without it. */
export function labelGroup(cluster: string, label: string | undefined): string {
  return label === undefined ? `${cluster}/without` : `${cluster}/with/${label}`;
}

/** The groups of the verdicts of one cluster; the first ones are of one pool each. */
export type NodeGroup =
  | 'unhealthy'
  | 'preserved'
  | 'kubelet'
  | 'config'
  | 'agent'
  | 'stoppedAgent'
  | 'units'
  | 'expiredLease'
  | 'preservedMachine'
  | 'elsewhere'
  | 'unmanaged'
  | 'notReady'
  | 'draining'
  | 'cordonedWrong';

/** The groups that a verdict belongs to. */
export function groupsOf({ partition: cluster, value }: Entry<NodeVerdict>): readonly string[] {
  const { pool, scaling } = value;
  const ofPool: Partial<Record<NodeGroup, boolean>> = {
    unhealthy: value.unhealthy !== undefined && value.isPreserved !== true,
    preserved: value.isPreserved === true,
    kubelet: value.kubelet !== undefined,
    config: value.config !== undefined,
  };
  const ofCluster: Partial<Record<NodeGroup, boolean>> = {
    agent: value.agent !== undefined,
    stoppedAgent: value.agent === 'stopped',
    units: value.units !== undefined,
    expiredLease: value.isLeaseExpired === true,
    preservedMachine: value.isPreserved === true && scaling !== 'unmanaged',
    elsewhere: value.isElsewhere === true,
    unmanaged: scaling === 'unmanaged',
    notReady: scaling !== undefined && scaling !== 'unmanaged',
    draining: scaling === 'draining',
    cordonedWrong: scaling === 'notDeleted' || scaling === 'withoutMachine',
  };
  return [...groupNames(cluster, ofPool, pool), ...groupNames(cluster, ofCluster)];
}

function groupNames(cluster: string, groups: Partial<Record<NodeGroup, boolean>>, pool?: string): readonly string[] {
  const names = Object.keys(groups) as readonly NodeGroup[];
  return names.filter((group) => groups[group]).map((group) => nodeGroup(cluster, group, pool));
}

/** The name of a group; `pool` is empty in a group of the whole cluster. */
export function nodeGroup(cluster: string, group: NodeGroup, pool = ''): string {
  return `${cluster}/${group}/${pool}`;
}
