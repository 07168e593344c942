import type { LiveObject } from '../../model/agent.ts';
import { readLeaseReport } from '../../model/lease-report.ts';
import type { ObjectKey } from '../../model/object-key.ts';
import type { Derived, Graph, Reader } from '../collections/types.ts';
import type { EngineInputs } from '../inputs.ts';
import type { Finding } from './thresholds.ts';
import { type ClusterReads, kindObstacle, notChecked } from './visibility.ts';

/** The kind of the object in which an agent reports the Leases of its cluster. */
export const LEASE_REPORT_KIND = 'internal.fleetrelay.dev/LeaseReport';
const LEASE_REPORT_KEY = `${LEASE_REPORT_KIND}//leases` as ObjectKey;

/** The Namespace of the Leases that kubelets renew. */
export const NODE_LEASES = 'kube-node-lease';

/** A Lease as its agent has judged it. */
export interface JudgedLease {
  readonly isExpired: boolean;
  /** Of an expired Lease, RFC 3339; absent: it was never renewed. */
  readonly renewTime?: string;
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
  /** Partition: the cluster. Key: `NAMESPACE/NAME`. */
  readonly leases: Derived<JudgedLease>;
  /** Partition empty, key: the cluster. */
  readonly leaseNumbers: Derived<LeaseNumbers>;
}

const VALID: JudgedLease = { isExpired: false };
const fromReports = { keys: (key: string) => key === LEASE_REPORT_KEY };

/** Derives the single Leases of the reports: one that expires costs those who read it. */
export function deriveLeases(graph: Graph, { live }: Pick<EngineInputs, 'live'>): Leases {
  const leases = graph.derive<LiveObject, JudgedLease>({
    ...{ name: 'judgedLeases', from: live, ...fromReports },
    compute: ({ partition: cluster, value }, _read, emit) => {
      const { valid, expired } = readLeaseReport(value.value.status);
      const all = new Map<string, JudgedLease>(valid.map((lease) => [lease, VALID]));
      for (const { lease, ...times } of expired) all.set(lease, { isExpired: true, ...times });
      for (const [lease, judged] of all) emit(cluster, lease, judged);
    },
  });
  const leaseNumbers = graph.derive<LiveObject, LeaseNumbers>({
    ...{ name: 'numbersOfLeases', from: live, ...fromReports },
    compute: ({ partition: cluster, value }, _read, emit) => {
      const { valid, expired, leftOut = 0 } = readLeaseReport(value.value.status);
      const names = new Set([...valid, ...expired.map(({ lease }) => lease)]);
      emit('', cluster, {
        ofNodes: [...names].filter((lease) => lease.startsWith(`${NODE_LEASES}/`)).length,
        leftOut,
      });
    },
  });
  return { leases, leaseNumbers };
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
): Finding | undefined {
  const unseen = kindObstacle(read, kinds, cluster, LEASE_REPORT_KIND, namespace);
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
