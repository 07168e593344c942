import { isJsonObject, type JsonObject, type JsonValue, objectsOf, textOf } from '../../../../model/text/json.ts';
import { integerOf } from '../../../../model/text/proto-json.ts';
import type { Inbound } from '../../model/dataplane.ts';
import { applicationAt } from './inbounds.ts';
import { type BootstrapParts, extension, listener } from './parts.ts';

const NAME = 'virtual-probes';
const HTTP_MANAGER = 'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';

/** The listener for Virtual Probes: each path leads to one application. Any other path is answered 404. */
export function virtualProbeParts(
  probes: JsonValue | undefined,
  address: string,
  inbounds: readonly Inbound[],
): BootstrapParts {
  if (!isJsonObject(probes)) return { listeners: [], clusters: [], warnings: [] };
  const routes = objectsOf(probes.endpoints).map((endpoint) => routeOf(endpoint, inbounds));
  const filter = extension('envoy.filters.network.http_connection_manager', HTTP_MANAGER, {
    stat_prefix: NAME,
    route_config: { name: NAME, virtual_hosts: [{ name: NAME, domains: ['*'], routes }] },
    http_filters: [extension('envoy.filters.http.router', 'envoy.extensions.filters.http.router.v3.Router', {})],
  });
  return { listeners: [listener(NAME, { address, port: integerOf(probes.port) }, filter)], clusters: [], warnings: [] };
}

/** Who probes a port that no inbound has is sent to the application itself, as in Kuma. */
function routeOf({ inboundPort, inboundPath, path }: JsonObject, inbounds: readonly Inbound[]): JsonObject {
  const match = { path: pathOf(path), headers: [{ name: ':method', string_match: { exact: 'GET' } }] };
  const port = integerOf(inboundPort);
  const cluster = applicationAt(inbounds, port);
  return cluster === undefined
    ? { match, redirect: { port_redirect: port, path_redirect: pathOf(inboundPath) } }
    : { match, route: { cluster, prefix_rewrite: pathOf(inboundPath) } };
}

/** The path of an absolute path or URL, without its query, which Envoy does not match. */
function pathOf(written: JsonValue | undefined): string {
  const text = textOf(written).replace(/^[A-Za-z][A-Za-z0-9+.-]*:(?:\/\/[^/?#]*)?/, '');
  const [path = ''] = text.split(/[?#]/);
  return path.startsWith('/') ? path : `/${path}`;
}
