import { AGENT_LEASES, type LeasesOfNode, leaseObstacle } from '../../leases.ts';
import { type ClusterRule, causedBy, failed, nodeName } from './look.ts';
import type { NodeVerdict } from './node-verdict.ts';

/** What is wrong with the gardener-node-agent of a Node with these Leases; undefined: it runs. */
export function agentProblem(leases: LeasesOfNode | undefined): NodeVerdict['agent'] {
  if (leases?.nodeAgent === undefined) return 'missing';
  return leases.nodeAgent === 'expired' ? 'stopped' : undefined;
}

/** On each Node of a Machine a gardener-node-agent has to run. Source: Gardener's CheckNodeAgentLeases. */
export const nodeAgentsRun: ClusterRule = ({ read, reads, cluster, first }) => {
  const unseen = leaseObstacle(read, reads, cluster, AGENT_LEASES);
  // A Lease that cannot be seen is not known to be missing.
  const [found] = first(unseen === undefined ? 'agent' : 'stoppedAgent', 1);
  if (found === undefined) return unseen;
  const what = found.value.agent === 'stopped' ? 'stopped running' : 'is not running';
  return failed('NodeAgentUnhealthy', `gardener-node-agent ${what} on node "${nodeName(found.key)}"`, causedBy(found));
};
