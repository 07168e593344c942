import { HealthStatus } from '../../../../generated/envoy/config/core/v3/core_pb.ts';
import type {
  ClusterEndpointsHealth,
  EndpointHealth,
  EndpointHealthResponse,
} from '../../../../generated/envoy/service/health/v3/hds_pb.ts';
import { parseIp } from '../../../model/text/ip-address.ts';
import { workloadKey } from '../engine/status.ts';
import type { Dataplane, Inbound } from '../model/dataplane.ts';
import type { HealthReport } from '../model/dataplane-health.ts';
import { saysTheSame } from '../runtime/reports.ts';
import { ADMIN_CLUSTER, probedWorkloads, workloadCluster } from './specifier.ts';

/**
 * What is known of the health of a data plane after a report of its Envoy. As in Kuma, the first endpoint of a cluster counts,
 * and an Envoy that does not report itself is healthy. Clusters of no application that is probed are ignored, such as one that
 * was probed before the data plane was changed. An application that the report does not name keeps what was reported before.
 *
 * @param now milliseconds since 1970
 */
export function reportAfter(
  { clusterEndpointsHealth: clusters }: EndpointHealthResponse,
  dataplane: Dataplane,
  before: HealthReport | undefined,
  now: number,
): HealthReport {
  const admin = clusters.findLast(({ clusterName }) => clusterName === ADMIN_CLUSTER);
  const own = admin && firstEndpoint(admin);
  const envoyHealthy = own === undefined || isHealthy(own);
  const workloads: Record<string, boolean> = {};
  for (const inbound of probedWorkloads(dataplane)) {
    const key = workloadKey(inbound);
    const reported = clusters.flatMap((cluster) => firstEndpointOf(cluster, inbound) ?? []).at(-1);
    const healthy = reported === undefined ? before?.workloads[key] : isHealthy(reported);
    if (healthy !== undefined) workloads[key] = healthy;
  }
  const envoySince = before?.envoyHealthy === envoyHealthy ? before.envoySince : now;
  const after = { envoyHealthy, envoySince, workloads };
  if (before === undefined || !saysTheSame(before, after)) return { ...after, newsAt: now };
  return before;
}

/** The first endpoint of a cluster, if the cluster stands for the application. */
function firstEndpointOf(cluster: ClusterEndpointsHealth, { workload }: Inbound): EndpointHealth | undefined {
  if (cluster.clusterName !== workloadCluster(workload.port)) return undefined;
  const first = firstEndpoint(cluster);
  const { address } = first?.endpoint?.address ?? {};
  const reported = address?.case === 'socketAddress' ? address.value.address : '';
  return reported === '' || isSameAddress(reported, workload.address) ? first : undefined;
}

function firstEndpoint({ localityEndpointsHealth: [locality] }: ClusterEndpointsHealth): EndpointHealth | undefined {
  return locality?.endpointsHealth[0];
}

function isSameAddress(one: string, other: string): boolean {
  if (one === other) return true;
  const [a, b] = [parseIp(one), parseIp(other)];
  return a !== undefined && b !== undefined && a.family === b.family && a.value === b.value;
}

function isHealthy({ healthStatus }: EndpointHealth): boolean {
  return healthStatus === HealthStatus.HEALTHY || healthStatus === HealthStatus.UNKNOWN;
}
