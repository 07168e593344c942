import type { Derived, Reader } from '../../../collections/types.ts';
import { type JudgedLease, leaseObstacle } from '../../leases.ts';
import { type ClusterRule, causedBy, failed, nodeName } from './look.ts';
import type { NodeVerdict } from './node-verdict.ts';

/** The Namespace of the Leases that gardener-node-agents renew. */
export const AGENT_NAMESPACE = 'kube-system';
/** The names of these Leases, which end with the name of the Node. */
export const AGENT_PREFIX = 'gardener-node-agent-';

/** What is wrong with the gardener-node-agent of a Node; undefined: it runs. */
export function agentProblem(
  read: Reader,
  leases: Derived<JudgedLease>,
  cluster: string,
  node: string,
): NodeVerdict['agent'] {
  const lease = read.get(leases, cluster, `${AGENT_NAMESPACE}/${AGENT_PREFIX}${node}`);
  if (lease === undefined) return 'missing';
  return lease.isExpired ? 'stopped' : undefined;
}

/** On each Node of a Machine a gardener-node-agent has to run. Source: Gardener's CheckNodeAgentLeases. */
export const nodeAgentsRun: ClusterRule = ({ read, reads, cluster, first }) => {
  const unseen = leaseObstacle(read, reads, cluster, AGENT_NAMESPACE);
  // A Lease that cannot be seen is not known to be missing.
  const [found] = first(unseen === undefined ? 'agent' : 'stoppedAgent', 1);
  if (found === undefined) return unseen;
  const what = found.value.agent === 'stopped' ? 'stopped running' : 'is not running';
  return failed('NodeAgentUnhealthy', `gardener-node-agent ${what} on node "${nodeName(found.key)}"`, causedBy(found));
};
