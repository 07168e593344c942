import type { Graph, Reader } from '../../../../../engine/collections/types.ts';
import type { BoundShoot } from '../../binding.ts';
import { type LeaseReads, type Leases, leaseObstacle, NODE_LEASES } from '../../leases.ts';
import type { ConditionFinding } from '../../thresholds.ts';
import { type NamespaceReads, namespaceObstacle, notChecked } from '../../visibility.ts';
import { type CheckReads, deriveCheck } from '../check.ts';
import { deriveCaredClusters } from './cared-clusters.ts';
import { kubeletsAreUpToDate } from './kubelet-version.ts';
import { type ClusterRule, createLook, failed, type NodeReads, type PoolRule } from './look.ts';
import { deriveMachines } from './machines.ts';
import { nodeAgentsRun } from './node-agents.ts';
import { nodesAreHealthy, noneIsPreserved } from './node-health.ts';
import { NODE_KIND } from './node-verdict.ts';
import { deriveNodes } from './nodes.ts';
import { configsAreApplied } from './operating-system-config.ts';
import { deriveConfigs } from './pool-configs.ts';
import { nodesAreScaled } from './scaling.ts';
import { unitsAreReady } from './systemd-units.ts';

/** From this percentage on, the dependency-watchdog may take the cluster for disconnected. */
const MOST_EXPIRED_PERCENT = 20;

/**
 * Few Leases of Nodes may have expired, of all that there are; a Lease without its Node does not count as expired. Source:
 * Gardener's CheckForExpiredNodeLeases.
 */
const leasesAreRenewed: ClusterRule = ({ read, reads, cluster, count }) => {
  const { ofNodes = 0, leftOut = 0 } = read.get(reads.leaseNumbers, '', cluster) ?? {};
  const all = ofNodes + leftOut;
  const percent = all === 0 ? 0 : Math.floor((100 * count('expiredLease')) / all);
  if (percent < MOST_EXPIRED_PERCENT) return leaseObstacle(read, reads, cluster, NODE_LEASES);
  const what = `${percent}% of all Leases in ${NODE_LEASES} namespace are expired`;
  const then = 'dependency-watchdog-prober might start scaling down controllers';
  return failed('TooManyExpiredNodeLeases', `${what} - ${then}`);
};

/** A pool has to have its least number of Nodes. Source: Gardener's CheckClusterNodes. */
const nodesAreEnough: PoolRule = ({ read, reads, cluster, nodesOf }, { name: pool, minimum }) => {
  const unseen = namespaceObstacle(read, reads, cluster, '', NODE_KIND);
  if (unseen !== undefined) return unseen;
  const found = nodesOf(pool);
  if (found >= minimum) return undefined;
  const what = `Not enough worker nodes registered in worker pool "${pool}" to meet minimum desired machine count.`;
  return failed('MissingNodes', `${what} (${found}/${minimum}).`);
};

interface Reads extends CheckReads, NamespaceReads, Leases, Pick<LeaseReads, 'agents'> {}

const POOL_RULES: readonly PoolRule[] = [nodesAreHealthy, kubeletsAreUpToDate, nodesAreEnough];
/** Of Shoots with a Seed. */
const GARDENER_RULES: readonly ClusterRule[] = [configsAreApplied, nodeAgentsRun, unitsAreReady, nodesAreScaled];

const GOOD: ConditionFinding = { outcome: 'good', reason: 'EveryNodeReady', message: 'All nodes are ready.' };

/** Derives whether all Nodes of each Shoot with worker pools are ready. Source: Gardener's CheckClusterNodes. */
export function deriveEveryNodeReady(graph: Graph, reads: Reads) {
  const configs = deriveConfigs(graph, reads);
  const { cared, pools } = deriveCaredClusters(graph, reads.bindings, configs);
  const machines = deriveMachines(graph, reads);
  const nodes = deriveNodes(graph, { ...reads, cared, pools, machines });
  const { kinds, live, agents, settings, leaseNumbers } = reads;
  const ruled: NodeReads = { kinds, live, agents, settings, leaseNumbers, pools, machines, nodes };
  const everyNodeReady = deriveCheck(graph, reads, {
    type: 'EveryNodeReady',
    name: 'everyNodeReady',
    reads: [
      kinds,
      live,
      agents,
      settings,
      leaseNumbers,
      pools,
      machines.demands,
      machines.counts,
      nodes.verdicts,
      nodes.verdictCounts,
      nodes.labelCounts,
    ],
    good: GOOD,
    whileDown: notChecked,
    applies: ({ pools }) => pools.length > 0,
    rules: (read, shoot) => findings(read, shoot, ruled),
  });
  const collections = [configs, cared, pools, machines.demands, nodes.nodes];
  return { everyNodeReady, collections, demands: machines.demands, preserving: machines.preserving };
}

function* findings(read: Reader, shoot: BoundShoot, reads: NodeReads): Generator<ConditionFinding | undefined> {
  const look = createLook(read, shoot, reads);
  for (const pool of shoot.pools) for (const rule of POOL_RULES) yield rule(look, pool);
  if (shoot.seed !== undefined) for (const rule of GARDENER_RULES) yield rule(look);
  yield leasesAreRenewed(look);
  for (const pool of shoot.pools) yield noneIsPreserved(look, pool);
}
