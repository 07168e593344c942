import type { Derived, Entry, Graph, Index, Reader } from '../../../../../engine/collections/types.ts';
import type { EngineInputs } from '../../../../../engine/inputs.ts';
import type { LiveObject } from '../../../../../model/agent/agent.ts';
import { conditionOf } from '../../../../../model/objects/object-health/health.ts';
import { annotationOf, labelsOf } from '../../../../../model/objects/object-key.ts';
import { type JsonObject, objectOf, textOf } from '../../../../../model/text/json.ts';
import type { LeasesOfNode } from '../../leases.ts';
import { type CaredCluster, type CaredClusters, poolOf } from './cared-clusters.ts';
import { kubeletProblem } from './kubelet-version.ts';
import { nodeName } from './look.ts';
import type { deriveMachines } from './machines.ts';
import { agentProblem } from './node-agents.ts';
import { healthProblem, isPreserved } from './node-health.ts';
import { groupsOf, labelGroup, NODE_KIND, type NodeVerdict, POOL_LABEL } from './node-verdict.ts';
import { configProblem } from './pool-configs.ts';
import { unitsProblem } from './systemd-units.ts';

interface Reads extends CaredClusters, Pick<EngineInputs, 'live'> {
  readonly leasesOfNodes: Derived<LeasesOfNode>;
  readonly machines: Pick<ReturnType<typeof deriveMachines>, 'byNode' | 'cordonedState'>;
}

/** Derives the verdicts on the Nodes of clusters that have a Shoot. Partition: the cluster. Key: the Node's. */
export function deriveNodes(graph: Graph, reads: Reads) {
  const { live, cared, pools, leasesOfNodes, machines } = reads;
  const nodes: Derived<NodeVerdict> = graph.derive<LiveObject, NodeVerdict>({
    name: 'nodesOfShoots',
    from: live,
    keys: isNode,
    reads: [cared, pools, leasesOfNodes, machines.byNode],
    scope: ({ partition }, read) => {
      const controlPlane = read.get(cared, '', partition)?.controlPlane;
      return controlPlane === undefined ? [] : [controlPlane.seed];
    },
    compute: (node, read, emit) => {
      const found = read.get(cared, '', node.partition);
      const verdict = found === undefined ? {} : verdictOf(read, node, found, reads);
      if (Object.keys(verdict).length > 0) emit(node.partition, node.key, verdict);
    },
  });
  const labels = graph.index('nodesByPool', live, ({ partition: cluster, key, value }) =>
    isNode(key) ? [labelGroup(cluster, poolLabel(value.value))] : [],
  );
  const verdicts: Index<NodeVerdict> = graph.index('nodesByVerdict', nodes, groupsOf);
  return {
    nodes,
    verdicts,
    verdictCounts: graph.counts('numbersOfVerdicts', verdicts),
    labelCounts: graph.counts('numbersOfNodes', labels),
  };
}

function isNode(key: string): boolean {
  return key.startsWith(`${NODE_KIND}/`);
}

function poolLabel(node: JsonObject): string | undefined {
  const label = labelsOf(node)[POOL_LABEL];
  return typeof label === 'string' ? label : undefined;
}

/** Without members: the Node is as it should be. */
function verdictOf(
  read: Reader,
  { partition: cluster, key, value: { value: node } }: Entry<LiveObject>,
  { controlPlane }: CaredCluster,
  reads: Reads,
): NodeVerdict {
  const label = poolLabel(node);
  const pool = poolOf(read, reads, cluster, label);
  const leases = read.get(reads.leasesOfNodes, cluster, nodeName(key));
  const status = objectOf(node.status);
  const preserved = isPreserved(status) ? true : undefined;
  const isLeaseExpired = leases?.kubelet === 'expired' && !preserved ? true : undefined;
  const poolName = label ?? pool?.name;
  if (poolName === undefined) return defined({ isLeaseExpired });
  const isJudged = controlPlane !== undefined && !isUnmanaged(node) && !preserved;
  const verdict = defined({
    isLeaseExpired,
    unhealthy: healthProblem(status),
    isPreserved: preserved,
    // The version of a kubelet that does not answer is not compared.
    kubelet: preserved
      ? undefined
      : pool && kubeletProblem(textOf(objectOf(status.nodeInfo).kubeletVersion), pool.kubernetesVersion),
    config: pool?.config && configProblem(node, pool.config),
    isElsewhere: controlPlane !== undefined && pool === undefined ? true : undefined,
    agent: isJudged ? agentProblem(leases) : undefined,
    units: isJudged ? unitsProblem(status) : undefined,
    scaling: controlPlane && scalingOf(read, nodeName(key), node, controlPlane, reads),
  });
  return Object.keys(verdict).length === 0 ? verdict : { pool: poolName, ...verdict };
}

function isUnmanaged(node: JsonObject): boolean {
  return annotationOf(node, 'node.machine.sapcloud.io/not-managed-by-mcm') === '1';
}

function scalingOf(
  read: Reader,
  name: string,
  node: JsonObject,
  { seed, namespace }: NonNullable<CaredCluster['controlPlane']>,
  { machines }: Reads,
): NodeVerdict['scaling'] {
  if (isUnmanaged(node)) return 'unmanaged';
  if (objectOf(node.spec).unschedulable === true) return machines.cordonedState(read, seed, namespace, name);
  return conditionOf(objectOf(node.status), 'Ready')?.status === 'True' ? undefined : 'notReady';
}

/** Without the members that are undefined. */
function defined(verdict: { readonly [Name in keyof NodeVerdict]: NodeVerdict[Name] | undefined }): NodeVerdict {
  return Object.fromEntries(Object.entries(verdict).filter(([, value]) => value !== undefined));
}
