import type { JsonObject } from '../../../../model/text/json.ts';

/** Listeners and clusters of a bootstrap, and what people should know of it. */
export interface BootstrapParts {
  readonly listeners: readonly JsonObject[];
  readonly clusters: readonly JsonObject[];
  /** What the Dataplane names and the Envoy does not do. */
  readonly warnings: readonly string[];
}

/** An address of a socket. */
export interface SocketAddress {
  readonly address: string;
  readonly port: number;
}

/** Longest wait for a connection to an application or an endpoint. */
const CONNECT_TIMEOUT = '5s';

/** A message of Envoy's API that is written with its type. */
export function typed(type: string, fields: JsonObject): JsonObject {
  return { '@type': `type.googleapis.com/${type}`, ...fields };
}

/** An extension of Envoy: a filter or a transport socket. */
export function extension(name: string, type: string, fields: JsonObject): JsonObject {
  return { name, typed_config: typed(type, fields) };
}

/** An address, as Envoy writes it. */
export function socketOf({ address, port }: SocketAddress): JsonObject {
  return { socket_address: { address, port_value: port } };
}

/** A listener with one network filter. */
export function listener(name: string, at: SocketAddress, filter: JsonObject): JsonObject {
  return { name, address: socketOf(at), filter_chains: [{ filters: [filter] }] };
}

/** A listener that passes connections to a cluster. */
export function tcpListener(name: string, at: SocketAddress, cluster: string): JsonObject {
  const type = 'envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy';
  return listener(name, at, extension('envoy.filters.network.tcp_proxy', type, { stat_prefix: cluster, cluster }));
}

/** A cluster with one endpoint: an IP address, or a host name that Envoy resolves again and again. */
export function fixedCluster(
  name: string,
  at: SocketAddress,
  discovery: 'STATIC' | 'STRICT_DNS' = 'STATIC',
): JsonObject {
  return {
    name,
    type: discovery,
    connect_timeout: CONNECT_TIMEOUT,
    load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: [{ endpoint: { address: socketOf(at) } }] }] },
  };
}

/** A cluster that gets the endpoints of a service by EDS. */
export function serviceCluster(name: string, service: string): JsonObject {
  return {
    name,
    type: 'EDS',
    connect_timeout: CONNECT_TIMEOUT,
    eds_cluster_config: { service_name: service, eds_config: { ads: {}, resource_api_version: 'V3' } },
  };
}
