import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { until } from './fleet-processes.ts';
import { programPath } from './programs.ts';

/** How an Envoy is started. */
export interface EnvoyOptions {
  /** `MESH.NAME`. */
  readonly node: string;
  readonly adminPort: number;
  /** Port of the server on 127.0.0.1. */
  readonly xdsPort: number;
  /** Absent: without TLS. */
  readonly caFile?: string;
  /** Absent: it shows none. */
  readonly token?: string;
  /** Listeners at these addresses, each for an application on 127.0.0.1. */
  readonly inbounds?: readonly { readonly address: string; readonly port: number; readonly servicePort: number }[];
  /** Listeners on 127.0.0.1, each for a service that it learns by EDS. */
  readonly outbounds?: readonly { readonly port: number; readonly service: string }[];
}

/** A real Envoy. */
export interface EnvoyProcess {
  readonly said: () => string;
  signal(signal: NodeJS.Signals): void;
  /** Asks its admin interface. */
  admin(path: string, method?: 'GET' | 'POST'): Promise<string>;
  /** Sends the signal and waits until it is gone. */
  kill(signal?: NodeJS.Signals): Promise<void>;
}

/** Starts an Envoy with its files in a folder. Resolves when its admin interface answers. */
export async function startEnvoy(folder: string, options: EnvoyOptions): Promise<EnvoyProcess> {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${options.node}.json`);
  writeFileSync(file, JSON.stringify(bootstrap(options)));
  const child: ChildProcess = spawn(
    programPath('envoy'),
    ['-c', file, '--disable-hot-restart', '--concurrency', '1', '--log-level', 'info'],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let text = '';
  child.stderr?.on('data', (more: Buffer) => {
    text = `${text}${more.toString()}`.slice(-100_000);
  });
  const ended = once(child, 'close');
  const admin = async (path: string, method: 'GET' | 'POST' = 'GET'): Promise<string> => {
    const answer = await fetch(`http://127.0.0.1:${options.adminPort}${path}`, { method });
    return answer.text();
  };
  const envoy: EnvoyProcess = {
    said: () => text,
    signal: (signal) => void child.kill(signal),
    admin,
    kill: async (signal = 'SIGKILL') => {
      child.kill(signal);
      // A stopped process takes no other signal.
      child.kill('SIGCONT');
      await ended;
    },
  };
  await until('Envoy answers', async () => {
    if (child.exitCode !== null) throw new Error(`Envoy ended: ${text.slice(-2_000)}`);
    return (await admin('/server_info')).includes('version');
  });
  return envoy;
}

/** An application on a port of 127.0.0.1 that says its name and closes. */
export async function startApplication(
  name: string,
  port = 0,
): Promise<{ readonly port: number; stop(): Promise<void> }> {
  const server: Server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.end(name);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    stop: async () => {
      server.close();
      await once(server, 'close');
    },
  };
}

function bootstrap({ node, adminPort, xdsPort, caFile, token, inbounds = [], outbounds = [] }: EnvoyOptions) {
  const source = {
    api_type: 'GRPC',
    transport_api_version: 'V3',
    set_node_on_first_message_only: true,
    grpc_services: [
      {
        envoy_grpc: { cluster_name: 'ads_cluster' },
        ...(token === undefined ? {} : { initial_metadata: [{ key: 'authorization', value: token }] }),
      },
    ],
  };
  const listener = (address: string, port: number, cluster: string) => ({
    name: `${address}:${port}`,
    address: socket(address, port),
    filter_chains: [
      {
        filters: [
          {
            name: 'envoy.filters.network.tcp_proxy',
            typed_config: {
              '@type': 'type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy',
              ...{ stat_prefix: cluster, cluster },
            },
          },
        ],
      },
    ],
  });
  const fixed = (name: string, port: number) => ({
    ...{ name, type: 'STATIC', connect_timeout: '5s' },
    load_assignment: {
      cluster_name: name,
      endpoints: [{ lb_endpoints: [{ endpoint: { address: socket('127.0.0.1', port) } }] }],
    },
  });
  return {
    node: { id: node, cluster: node },
    admin: { address: socket('127.0.0.1', adminPort) },
    hds_config: source,
    dynamic_resources: { ads_config: source },
    static_resources: {
      listeners: [
        ...inbounds.map(({ address, port, servicePort }) => listener(address, port, `inbound:${servicePort}`)),
        ...outbounds.map(({ port, service }) => listener('127.0.0.1', port, service)),
      ],
      clusters: [
        {
          ...fixed('ads_cluster', xdsPort),
          typed_extension_protocol_options: {
            'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': {
              '@type': 'type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions',
              explicit_http_config: { http2_protocol_options: {} },
            },
          },
          ...(caFile === undefined
            ? {}
            : {
                transport_socket: {
                  name: 'envoy.transport_sockets.tls',
                  typed_config: {
                    '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext',
                    common_tls_context: { validation_context: { trusted_ca: { filename: caFile } } },
                  },
                },
              }),
        },
        ...inbounds.map(({ servicePort }) => fixed(`inbound:${servicePort}`, servicePort)),
        ...outbounds.map(({ service }) => ({
          ...{ name: service, type: 'EDS', connect_timeout: '5s' },
          eds_cluster_config: { eds_config: { ads: {}, resource_api_version: 'V3' } },
        })),
      ],
    },
  };
}

function socket(address: string, port: number) {
  return { socket_address: { address, port_value: port } };
}
