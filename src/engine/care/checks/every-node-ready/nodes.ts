import type { LiveObject } from '../../../../model/agent.ts';
import { type JsonObject, objectOf, textOf } from '../../../../model/json.ts';
import { conditionOf } from '../../../../model/object-health.ts';
import { annotationOf, labelsOf } from '../../../../model/object-key.ts';
import type { Contribution, Derived, Graph, Index, Reader } from '../../../collections/types.ts';
import type { EngineInputs } from '../../../inputs.ts';
import { type JudgedLease, NODE_LEASES } from '../../leases.ts';
import { type CaredCluster, type CaredClusters, poolOf } from './cared-clusters.ts';
import { kubeletProblem } from './kubelet-version.ts';
import { nodeName, type PoolConfig } from './look.ts';
import { type Machine, machineOfNode } from './machines.ts';
import { agentProblem } from './node-agents.ts';
import { healthProblem } from './node-health.ts';
import { groupsOf, NODE_KIND, type NodeVerdict } from './node-verdict.ts';
import { configProblem, POOL_LABEL } from './operating-system-config.ts';
import { unitsProblem } from './systemd-units.ts';

interface Reads extends CaredClusters, Pick<EngineInputs, 'live'> {
  readonly configs: Derived<readonly Contribution<PoolConfig>[]>;
  readonly leases: Derived<JudgedLease>;
  readonly machines: Index<Machine>;
}

/** Derives the verdicts on the Nodes of clusters that have a Shoot. Partition: the cluster. Key: the Node's. */
export function deriveNodes(graph: Graph, reads: Reads) {
  const { live, cared, pools, configs, leases, machines } = reads;
  const nodes = graph.derive<LiveObject, NodeVerdict>({
    name: 'nodesOfShoots',
    from: live,
    keys: (key) => key.startsWith(`${NODE_KIND}/`),
    reads: [cared, pools, configs, leases, machines],
    scope: ({ partition }, read) => {
      const controlPlane = read.get(cared, '', partition)?.controlPlane;
      return controlPlane === undefined ? [] : [controlPlane.seed];
    },
    compute: ({ partition: cluster, key, value }, read, emit) => {
      const found = read.get(cared, '', cluster);
      if (found !== undefined) emit(cluster, key, verdictOf(read, cluster, nodeName(key), value.value, found, reads));
    },
  });
  const groups = graph.index('nodesByVerdict', nodes, groupsOf);
  return { nodes, groups, counts: graph.counts('numbersOfNodes', groups) };
}

function verdictOf(
  read: Reader,
  cluster: string,
  name: string,
  node: JsonObject,
  { controlPlane }: CaredCluster,
  reads: Reads,
): NodeVerdict {
  const label = labelsOf(node)[POOL_LABEL];
  const poolLabel = typeof label === 'string' ? label : undefined;
  const pool = poolOf(read, reads, cluster, poolLabel);
  const isLeaseExpired = read.get(reads.leases, cluster, `${NODE_LEASES}/${name}`)?.isExpired === true;
  const poolName = poolLabel ?? pool?.name;
  if (poolName === undefined) return { isLeaseExpired };
  const status = objectOf(node.status);
  const version = textOf(objectOf(status.nodeInfo).kubeletVersion);
  return defined({
    pool: poolName,
    unhealthy: healthProblem(status),
    kubelet: pool === undefined ? undefined : kubeletProblem(version, pool.kubernetesVersion),
    isLeaseExpired,
    ...(controlPlane === undefined ? {} : ofGardener(read, cluster, name, node, poolName, controlPlane, reads)),
  });
}

/** The part of the verdict that only a Shoot with a Seed has. */
function ofGardener(
  read: Reader,
  cluster: string,
  name: string,
  node: JsonObject,
  pool: string,
  { seed, namespace }: NonNullable<CaredCluster['controlPlane']>,
  { configs, leases, machines }: Reads,
): Partial<Undefinable<NodeVerdict>> {
  const config = read.get(configs, cluster, pool)?.at(-1)?.value;
  const withConfig = { config: config === undefined ? undefined : configProblem(node, config) };
  if (annotationOf(node, 'node.machine.sapcloud.io/not-managed-by-mcm') === '1') return withConfig;
  const status = objectOf(node.status);
  return {
    ...withConfig,
    agent: agentProblem(read, leases, cluster, name),
    units: unitsProblem(status),
    scaling: scalingOf(node, () => read.first(machines, machineOfNode(seed, namespace, name), 1)[0]?.value),
  };
}

function scalingOf({ spec, status }: JsonObject, machineOf: () => Machine | undefined): NodeVerdict['scaling'] {
  if (objectOf(spec).unschedulable !== true) {
    return conditionOf(objectOf(status), 'Ready')?.status === 'True' ? 'ready' : 'notReady';
  }
  const machine = machineOf();
  if (machine === undefined) return 'withoutMachine';
  return machine.isBeingDeleted ? 'draining' : 'notDeleted';
}

type Undefinable<Value> = { readonly [Name in keyof Value]: Value[Name] | undefined };

/** Without the members that are undefined. */
function defined({ isLeaseExpired, ...others }: Partial<Undefinable<NodeVerdict>>): NodeVerdict {
  const found = Object.fromEntries(Object.entries(others).filter(([, value]) => value !== undefined));
  return { isLeaseExpired: isLeaseExpired === true, ...found };
}
