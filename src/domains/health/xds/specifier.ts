import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { DurationSchema } from '@bufbuild/protobuf/wkt';
import type { AddressSchema, HealthCheckSchema } from '../../../../generated/envoy/config/core/v3/core_pb.ts';
import {
  type ClusterHealthCheckSchema,
  type HealthCheckSpecifier,
  HealthCheckSpecifierSchema,
} from '../../../../generated/envoy/service/health/v3/hds_pb.ts';
import { isJsonObject, type JsonObject, objectOf } from '../../../model/text/json.ts';
import { integerOf } from '../../../model/text/proto-json.ts';
import { type DeclaredDataplane, type Inbound, isProbed, type ServiceProbe } from '../model/dataplane.ts';
import type { HdsSettings } from './hds-settings.ts';

/** The cluster by which an Envoy reports its own health. */
export const ADMIN_CLUSTER = 'kuma:envoy:admin';

/** Port of Envoy's admin interface, if its Dataplane names none. */
const DEFAULT_ADMIN_PORT = 9901;

/** Port of Envoy's admin interface on 127.0.0.1. */
export function adminPortOf({ networking }: JsonObject): number {
  return integerOf(objectOf(objectOf(networking).admin).port) || DEFAULT_ADMIN_PORT;
}

/** The cluster by which an Envoy reports the health of an application. */
export function workloadCluster(port: number): string {
  return `localhost:${port}`;
}

/** The applications that an Envoy probes, each once. */
export function probedWorkloads({ inbounds }: Pick<DeclaredDataplane['dataplane'], 'inbounds'>): readonly Inbound[] {
  const byAddress = new Map<string, Inbound>();
  for (const inbound of inbounds) {
    const { address, port } = inbound.workload;
    const key = `${address} ${port}`;
    if (!isProbed(inbound) || byAddress.has(key)) continue;
    byAddress.set(key, inbound);
  }
  return [...byAddress.values()];
}

/** What an Envoy is to check, and how often it is to report. */
export function specifierOf(
  { dataplane, spec }: DeclaredDataplane,
  { intervalMs, check }: HdsSettings,
): HealthCheckSpecifier {
  const networking = objectOf(spec.networking);
  const isTransparent = isJsonObject(networking.transparentProxying);
  return create(HealthCheckSpecifierSchema, {
    interval: duration(intervalMs),
    clusterHealthChecks: [
      {
        clusterName: ADMIN_CLUSTER,
        localityEndpoints: endpoint('127.0.0.1', adminPortOf(spec)),
        healthChecks: [healthCheck(check, {}, { case: 'httpHealthCheck', value: { path: '/ready' } })],
      },
      ...probedWorkloads(dataplane).map((inbound) => workloadCheck(inbound, check, isTransparent)),
    ],
  });
}

function workloadCheck(
  { workload: { address, port }, serviceProbe = {} }: Inbound,
  check: HdsSettings['check'],
  isTransparent: boolean,
): MessageInitShape<typeof ClusterHealthCheckSchema> {
  const isLocal = address === '127.0.0.1' || address === '::1';
  return {
    clusterName: workloadCluster(port),
    localityEndpoints: endpoint(address, port),
    healthChecks: [healthCheck(check, serviceProbe, { case: 'tcpHealthCheck', value: {} })],
    // The transparent proxy does not redirect connections from this address back to Envoy.
    ...(isTransparent && !isLocal
      ? { upstreamBindConfig: { sourceAddress: socket(address.includes(':') ? '::6' : '127.0.0.6', 0) } }
      : {}),
  };
}

function healthCheck(
  check: HdsSettings['check'],
  probe: ServiceProbe,
  healthChecker: MessageInitShape<typeof HealthCheckSchema>['healthChecker'] & object,
): MessageInitShape<typeof HealthCheckSchema> {
  return {
    timeout: duration(probe.timeoutMs ?? check.timeoutMs),
    interval: duration(probe.intervalMs ?? check.intervalMs),
    noTrafficInterval: duration(check.noTrafficIntervalMs),
    healthyThreshold: probe.healthyThreshold ?? check.healthyThreshold,
    unhealthyThreshold: probe.unhealthyThreshold ?? check.unhealthyThreshold,
    healthChecker,
  };
}

function endpoint(address: string, port: number) {
  const at: MessageInitShape<typeof AddressSchema> = {
    address: { case: 'socketAddress', value: socket(address, port) },
  };
  return [{ endpoints: [{ address: at }] }];
}

function socket(address: string, port: number) {
  return { address, portSpecifier: { case: 'portValue', value: port } } as const;
}

function duration(milliseconds: number): MessageInitShape<typeof DurationSchema> {
  const seconds = Math.floor(milliseconds / 1_000);
  return { seconds: BigInt(seconds), nanos: Math.round((milliseconds - seconds * 1_000) * 1e6) };
}
