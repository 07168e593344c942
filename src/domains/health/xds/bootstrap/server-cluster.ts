import type { JsonObject } from '../../../../model/text/json.ts';
import { isIpAddress } from '../ip.ts';
import { extension, fixedCluster, type SocketAddress, typed } from './parts.ts';

/** How an Envoy trusts its server, and is trusted. Files are absolute paths on the machine of the Envoy. */
export interface ServerTrust {
  /** Authorities that it trusts, as PEM. */
  readonly caFile: string;
  /** Holds the token of the data plane. */
  readonly tokenFile: string;
}

/** The cluster of the server. */
export const SERVER_CLUSTER = 'ads_cluster';

/** The name of the token among Envoy's secrets. */
const TOKEN = 'dataplane_token';

const HTTP_OPTIONS = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';
const HTTP_FILTER = 'envoy.extensions.filters.http';

/** The gRPC service of the server. */
export const SERVER_SOURCE: JsonObject = {
  api_type: 'GRPC',
  transport_api_version: 'V3',
  set_node_on_first_message_only: true,
  grpc_services: [{ envoy_grpc: { cluster_name: SERVER_CLUSTER } }],
};

/** The cluster of the server. Envoy reads the token from its file: it is not in the configuration, which the admin interface shows. */
export function serverCluster(server: SocketAddress, trust: ServerTrust | undefined): JsonObject {
  return {
    ...fixedCluster(SERVER_CLUSTER, server, isIpAddress(server.address) ? 'STATIC' : 'STRICT_DNS'),
    typed_extension_protocol_options: {
      [HTTP_OPTIONS]: typed(HTTP_OPTIONS, {
        explicit_http_config: {
          // A server that is gone without a word is noticed.
          http2_protocol_options: { connection_keepalive: { interval: '30s', timeout: '5s' } },
        },
        ...(trust === undefined ? {} : { http_filters: [tokenFilter(), codecFilter()] }),
      }),
    },
    ...(trust === undefined ? {} : { transport_socket: tlsOf(server, trust) }),
  };
}

/** The secrets of the Envoy. */
export function secretsOf(trust: ServerTrust | undefined): readonly JsonObject[] {
  return trust === undefined ? [] : [{ name: TOKEN, generic_secret: { secret: { filename: trust.tokenFile } } }];
}

/** Sets `authorization` to the token. */
function tokenFilter(): JsonObject {
  const generic = 'envoy.extensions.http.injected_credentials.generic.v3.Generic';
  return extension(
    'envoy.filters.http.credential_injector',
    `${HTTP_FILTER}.credential_injector.v3.CredentialInjector`,
    {
      overwrite: true,
      credential: extension('envoy.http.injected_credentials.generic', generic, { credential: { name: TOKEN } }),
    },
  );
}

/** The filter that must be the last one. */
function codecFilter(): JsonObject {
  return extension('envoy.filters.http.upstream_codec', `${HTTP_FILTER}.upstream_codec.v3.UpstreamCodec`, {});
}

/** The certificate must be for the address of the server. */
function tlsOf({ address }: SocketAddress, { caFile }: ServerTrust): JsonObject {
  const isIp = isIpAddress(address);
  return extension('envoy.transport_sockets.tls', 'envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext', {
    ...(isIp ? {} : { sni: address }),
    common_tls_context: {
      alpn_protocols: ['h2'],
      validation_context: {
        trusted_ca: { filename: caFile },
        match_typed_subject_alt_names: [{ san_type: isIp ? 'IP_ADDRESS' : 'DNS', matcher: { exact: address } }],
      },
    },
  });
}
