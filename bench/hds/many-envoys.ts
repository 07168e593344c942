/** A process that stands for many machines: on each an Envoy with a connection of its own that reports health and asks for endpoints. */
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { Client, type ClientDuplexStream, credentials, Metadata } from '@grpc/grpc-js';
import { HealthStatus } from '../../generated/envoy/config/core/v3/core_pb.ts';
import {
  AggregatedDiscoveryService,
  DiscoveryRequestSchema,
  DiscoveryResponseSchema,
} from '../../generated/envoy/service/discovery/v3/discovery_pb.ts';
import {
  type HealthCheckRequestOrEndpointHealthResponse,
  HealthCheckRequestOrEndpointHealthResponseSchema,
  type HealthCheckSpecifier,
  HealthCheckSpecifierSchema,
  HealthDiscoveryService,
} from '../../generated/envoy/service/health/v3/hds_pb.ts';
import { ENDPOINT_TYPE } from '../../src/domains/health/xds/assignment.ts';

/** What the process is told at its start. */
export interface ManyEnvoysRequest {
  /** `HOST:PORT`. */
  readonly server: string;
  readonly caFile: string;
  /** Milliseconds between two reports of one Envoy. */
  readonly reportMs: number;
  readonly envoys: readonly {
    readonly node: string;
    readonly token: string;
    /** Whose endpoints it asks for; absent: it asks for none. */
    readonly service?: string;
    /** It reports health. */
    readonly reports: boolean;
  }[];
}

/** What the process may be told later: what all report from now on. */
export interface HealthOfAll {
  readonly isHealthy: boolean;
}

/** What the process tells now and then. */
export interface ResponsesOfAll {
  readonly responses: number;
}

const TELL_MS = 100;

const BYTES = {
  serialize: (bytes: Uint8Array): Buffer => Buffer.from(bytes),
  deserialize: (bytes: Buffer): Buffer => bytes,
};

/** Each sends a report at once. */
const reporters: (() => void)[] = [];
let isHealthy = true;
/** Responses with endpoints that have arrived at all. */
let responses = 0;

process.on('message', (request: ManyEnvoysRequest | HealthOfAll) => {
  if ('envoys' in request) return start(request);
  isHealthy = request.isHealthy;
  for (const report of reporters) report();
});
process.on('disconnect', () => process.exit(0));
setInterval(() => process.send?.({ responses } satisfies ResponsesOfAll), TELL_MS);

function start({ server, caFile, reportMs, envoys }: ManyEnvoysRequest): void {
  const ca = readFileSync(caFile);
  for (const [index, { node, token, service, reports }] of envoys.entries()) {
    const client = new Client(server, credentials.createSsl(ca), {
      'grpc.use_local_subchannel_pool': 1,
      // TLS allows no address as a name; the generated certificate is for this one too.
      'grpc.ssl_target_name_override': 'localhost',
    });
    const metadata = new Metadata();
    metadata.set('authorization', token);
    const open = ({ typeName }: { readonly typeName: string }, method: string) =>
      client.makeBidiStreamRequest(`/${typeName}/${method}`, BYTES.serialize, BYTES.deserialize, metadata);
    if (reports) {
      const health = open(HealthDiscoveryService, HealthDiscoveryService.method.streamHealthCheck.name);
      // Their reports are spread, as reports of machines are.
      reportTo(health, node, reportMs, (index * reportMs) / envoys.length);
    }
    if (service === undefined) continue;
    const discovery = open(
      AggregatedDiscoveryService,
      AggregatedDiscoveryService.method.streamAggregatedResources.name,
    );
    askFor(discovery, node, service);
  }
}

function reportTo(stream: ClientDuplexStream<Buffer, Buffer>, node: string, reportMs: number, delayMs: number): void {
  const send = (requestType: HealthCheckRequestOrEndpointHealthResponse['requestType']): void => {
    const schema = HealthCheckRequestOrEndpointHealthResponseSchema;
    stream.write(toBinary(schema, create(schema, { requestType })) as Buffer);
  };
  stream.on('error', (error) => ended(node, error));
  stream.once('data', (bytes: Buffer) => {
    const specifier = fromBinary(HealthCheckSpecifierSchema, bytes);
    const requestTypes = [
      reportOf(specifier, HealthStatus.UNHEALTHY),
      reportOf(specifier, HealthStatus.HEALTHY),
    ] as const;
    const report = (): void => send(requestTypes[isHealthy ? 1 : 0]);
    reporters.push(report);
    report();
    setTimeout(() => setInterval(report, reportMs), delayMs);
  });
  const schema = HealthCheckRequestOrEndpointHealthResponseSchema;
  stream.write(
    toBinary(
      schema,
      create(schema, { requestType: { case: 'healthCheckRequest', value: { node: { id: node } } } }),
    ) as Buffer,
  );
}

/** All that is to be checked has this health. */
function reportOf(
  { clusterHealthChecks }: HealthCheckSpecifier,
  healthStatus: HealthStatus,
): HealthCheckRequestOrEndpointHealthResponse['requestType'] {
  const { requestType } = create(HealthCheckRequestOrEndpointHealthResponseSchema, {
    requestType: {
      case: 'endpointHealthResponse',
      value: {
        clusterEndpointsHealth: clusterHealthChecks.map(({ clusterName, localityEndpoints }) => ({
          clusterName,
          localityEndpointsHealth: localityEndpoints.map(({ endpoints }) => ({
            endpointsHealth: endpoints.map((endpoint) => ({ endpoint, healthStatus })),
          })),
        })),
      },
    },
  });
  return requestType;
}

function askFor(stream: ClientDuplexStream<Buffer, Buffer>, node: string, service: string): void {
  const ask = (versionInfo: string, responseNonce: string): void => {
    const request = {
      node: { id: node },
      typeUrl: ENDPOINT_TYPE,
      resourceNames: [service],
      versionInfo,
      responseNonce,
    };
    stream.write(toBinary(DiscoveryRequestSchema, create(DiscoveryRequestSchema, request)) as Buffer);
  };
  stream.on('error', (error) => ended(node, error));
  stream.on('data', (bytes: Buffer) => {
    responses += 1;
    const { versionInfo, nonce } = fromBinary(DiscoveryResponseSchema, bytes);
    ask(versionInfo, nonce);
  });
  ask('', '');
}

function ended(node: string, error: Error): void {
  if (process.connected) throw new Error(`the stream of ${node} has ended`, { cause: error });
}
