import type { Derived, Graph, Reader } from '../../../engine/collections/types.ts';
import type { EngineInputs } from '../../../engine/inputs.ts';
import type { LiveObject } from '../../../model/agent/agent.ts';
import { agentReportKey, agentReportKind } from '../../../model/agent/agent-report.ts';
import { readLeaseReport } from '../model/lease-report.ts';
import { LEASE_REPORT } from '../model/reports.ts';
import type { ConditionFinding } from './thresholds.ts';
import { type ClusterReads, kindObstacle, notChecked } from './visibility.ts';

/** The Namespace of the Leases that kubelets renew, each with the name of its Node. */
export const NODE_LEASES = 'kube-node-lease';
/** The Namespace of the Leases that gardener-node-agents renew. */
export const AGENT_LEASES = 'kube-system';
/** The names of these Leases; the name of the Node follows. */
export const AGENT_LEASE_PREFIX = 'gardener-node-agent-';

/** A Lease as its agent has judged it. */
export interface JudgedLease {
  readonly isExpired: boolean;
  /** Of an expired Lease, RFC 3339; absent: it was never renewed. */
  readonly renewTime?: string;
}

/** The Leases of one Node; absent: there is no such Lease in the report. */
export interface LeasesOfNode {
  readonly kubelet?: 'valid' | 'expired';
  readonly nodeAgent?: 'valid' | 'expired';
}

/** The numbers of a report. */
export interface LeaseNumbers {
  /** The named Leases of {@link NODE_LEASES}. */
  readonly ofNodes: number;
  /** How many Leases are not named. */
  readonly leftOut: number;
}

/** {@link deriveLeases}. */
export interface Leases {
  /** The Leases that are not of Nodes. Partition: the cluster. Key: `NAMESPACE/NAME`. */
  readonly leases: Derived<JudgedLease>;
  /** Partition: the cluster. Key: the name of the Node. */
  readonly leasesOfNodes: Derived<LeasesOfNode>;
  /** Partition empty, key: the cluster. */
  readonly leaseNumbers: Derived<LeaseNumbers>;
}

/** Derives the single Leases of the reports: one that expires costs those who read it. */
export function deriveLeases(graph: Graph, { live }: Pick<EngineInputs, 'live'>): Leases {
  const ofReports = { from: live, keys: (key: string) => key === agentReportKey(LEASE_REPORT) };
  const leases = graph.derive<LiveObject, JudgedLease>({
    name: 'judgedLeases',
    ...ofReports,
    compute: ({ partition: cluster, value }, _read, emit) => {
      for (const [lease, judged] of leasesIn(value)) if (nodeOf(lease) === undefined) emit(cluster, lease, judged);
    },
  });
  const leasesOfNodes = graph.derive<LiveObject, LeasesOfNode>({
    name: 'leasesOfNodes',
    ...ofReports,
    compute: ({ partition: cluster, value }, _read, emit) => {
      const found = new Map<string, LeasesOfNode>();
      for (const [lease, { isExpired }] of leasesIn(value)) {
        const of = nodeOf(lease);
        if (of !== undefined)
          found.set(of.node, { ...found.get(of.node), [of.holder]: isExpired ? 'expired' : 'valid' });
      }
      for (const [node, each] of found) emit(cluster, node, shared(each));
    },
  });
  const leaseNumbers = graph.derive<LiveObject, LeaseNumbers>({
    name: 'numbersOfLeases',
    ...ofReports,
    compute: ({ partition: cluster, value }, _read, emit) => {
      const ofNodes = [...leasesIn(value).keys()].filter((lease) => nodeOf(lease)?.holder === 'kubelet').length;
      emit('', cluster, { ofNodes, leftOut: readLeaseReport(value.value.status).leftOut ?? 0 });
    },
  });
  return { leases, leasesOfNodes, leaseNumbers };
}

const STATES = [undefined, 'valid', 'expired'] as const;
const SHARED: ReadonlyMap<string, LeasesOfNode> = new Map(
  STATES.flatMap((kubelet) =>
    STATES.map((nodeAgent) => [
      `${kubelet} ${nodeAgent}`,
      { ...(kubelet && { kubelet }), ...(nodeAgent && { nodeAgent }) },
    ]),
  ),
);

/** An equal value that all Nodes share: there is one for each Node of a fleet. */
function shared(leases: LeasesOfNode): LeasesOfNode {
  return SHARED.get(`${leases.kubelet} ${leases.nodeAgent}`) ?? leases;
}

const VALID: JudgedLease = { isExpired: false };

/** The Leases of a report by `NAMESPACE/NAME`. One that is named twice has expired. */
function leasesIn({ value }: LiveObject): ReadonlyMap<string, JudgedLease> {
  const { valid, expired } = readLeaseReport(value.status);
  const leases = new Map<string, JudgedLease>(valid.map((lease) => [lease, VALID]));
  for (const { lease, ...times } of expired) leases.set(lease, { isExpired: true, ...times });
  return leases;
}

/** The Node that a Lease belongs to, and who renews it; undefined: it belongs to none. */
function nodeOf(lease: string): { readonly node: string; readonly holder: keyof LeasesOfNode } | undefined {
  const holders = { kubelet: `${NODE_LEASES}/`, nodeAgent: `${AGENT_LEASES}/${AGENT_LEASE_PREFIX}` } as const;
  for (const holder of ['kubelet', 'nodeAgent'] as const) {
    if (lease.startsWith(holders[holder])) return { node: lease.slice(holders[holder].length), holder };
  }
  return undefined;
}

/** What {@link leaseObstacle} reads. */
export interface LeaseReads
  extends Pick<EngineInputs, 'kinds'>,
    Pick<ClusterReads, 'agents'>,
    Pick<Leases, 'leaseNumbers'> {}

/** The finding that follows if it is not known which Leases a Namespace of the cluster has. */
export function leaseObstacle(
  read: Reader,
  { kinds, agents, leaseNumbers }: LeaseReads,
  cluster: string,
  namespace: string,
): ConditionFinding | undefined {
  const unseen = kindObstacle(read, kinds, cluster, agentReportKind(LEASE_REPORT), namespace);
  if (unseen !== undefined) return unseen;
  const numbers = read.get(leaseNumbers, '', cluster);
  if (numbers === undefined) {
    // A directory without a report has no Leases.
    if (read.get(agents, '', cluster)?.kindsAsWritten === true) return undefined;
    return notChecked(`the agent of cluster ${cluster} reports no Leases`);
  }
  const { leftOut } = numbers;
  return leftOut === 0 ? undefined : notChecked(`the report of the Leases of cluster ${cluster} leaves out ${leftOut}`);
}
