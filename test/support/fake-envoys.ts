import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import type { HealthStatus } from '../../generated/envoy/config/core/v3/core_pb.ts';
import { ClusterLoadAssignmentSchema } from '../../generated/envoy/config/endpoint/v3/endpoint_pb.ts';
import {
  DiscoveryRequestSchema,
  type DiscoveryResponse,
  DiscoveryResponseSchema,
} from '../../generated/envoy/service/discovery/v3/discovery_pb.ts';
import {
  type ClusterEndpointsHealthSchema,
  HealthCheckRequestOrEndpointHealthResponseSchema,
  type HealthCheckSpecifier,
  HealthCheckSpecifierSchema,
} from '../../generated/envoy/service/health/v3/hds_pb.ts';
import { ENDPOINT_TYPE } from '../../src/domains/health/xds/assignment.ts';
import { hdsSettings } from '../../src/domains/health/xds/hds-settings.ts';
import type { XdsSetup } from '../../src/domains/health/xds/xds.ts';
import type { IncomingCall, StreamEnd, StreamMetadata } from '../../src/ports/transport.ts';
import type { XdsListener, XdsMethod } from '../../src/ports/xds-transport.ts';

/** A stream that a test plays the Envoy of. */
interface FakeStream {
  readonly received: readonly Uint8Array[];
  send(bytes: Uint8Array): void;
  /** The connection breaks. */
  break(): void;
  /** Why the server has ended the stream; undefined: it has not. */
  end(): StreamEnd | undefined;
}

/** Envoys at one server. */
export type FakeEnvoys = ReturnType<typeof createFakeEnvoys>;

/** A listener for Envoys that tests play. */
export function createFakeEnvoys(more: Partial<XdsSetup> = {}) {
  let listener: XdsListener | undefined;
  const streams: FakeStream[] = [];
  let peers = 0;
  const setup: XdsSetup = {
    transport: {
      start: async (listening) => {
        listener = listening;
        return { host: '127.0.0.1', port: 5678 };
      },
      stop: async () => {
        for (const stream of streams) stream.break();
      },
    },
    trust: undefined,
    hds: hdsSettings({}),
    endpointsFromClusters: [],
    ...more,
  };
  const open = (method: XdsMethod, metadata: StreamMetadata = {}, peer?: string): FakeStream => {
    peers += 1;
    const stream = createFakeStream(metadata, peer ?? `peer-${peers}`);
    streams.push(stream);
    listener?.stream(method, stream.call);
    return stream;
  };
  return {
    setup,
    open,
    /** Opens a stream of HDS as this node. */
    hds: (node: string, metadata?: StreamMetadata) => {
      const stream = open('health', metadata);
      stream.send(healthRequest(node));
      return {
        ...stream,
        specifiers: (): readonly HealthCheckSpecifier[] =>
          stream.received.map((bytes) => fromBinary(HealthCheckSpecifierSchema, bytes)),
        report: (...clusters: readonly MessageInitShape<typeof ClusterEndpointsHealthSchema>[]) =>
          stream.send(healthReport(clusters)),
      };
    },
    /** Opens a stream of ADS as this node, and asks for the endpoints of services. */
    ads: (node: string, services: readonly string[], version = '') => {
      const stream = open('discovery');
      const responses = (): readonly DiscoveryResponse[] =>
        stream.received.map((bytes) => fromBinary(DiscoveryResponseSchema, bytes));
      const ask = (request: MessageInitShape<typeof DiscoveryRequestSchema>): void =>
        stream.send(toBinary(DiscoveryRequestSchema, create(DiscoveryRequestSchema, request)));
      const first = { node: { id: node }, typeUrl: ENDPOINT_TYPE, resourceNames: [...services], versionInfo: version };
      ask(first);
      return {
        ...stream,
        ask,
        responses,
        /** What each response has said of each service, as `ADDRESS:PORT`. */
        endpoints: () => responses().map(endpointsOf),
        /** Answers the last response; `error`: refuses it. */
        answer: (error?: string, resourceNames: readonly string[] = services): void => {
          const last = responses().at(-1);
          ask({
            ...{ typeUrl: last?.typeUrl ?? '', resourceNames: [...resourceNames] },
            ...{ versionInfo: last?.versionInfo ?? '', responseNonce: last?.nonce ?? '' },
            ...(error === undefined ? {} : { errorDetail: { message: error } }),
          });
        },
      };
    },
  };
}

/** The first message of HDS. */
export function healthRequest(node: string): Uint8Array {
  return toBinary(
    HealthCheckRequestOrEndpointHealthResponseSchema,
    create(HealthCheckRequestOrEndpointHealthResponseSchema, {
      requestType: { case: 'healthCheckRequest', value: { node: { id: node } } },
    }),
  );
}

function healthReport(clusters: readonly MessageInitShape<typeof ClusterEndpointsHealthSchema>[]): Uint8Array {
  return toBinary(
    HealthCheckRequestOrEndpointHealthResponseSchema,
    create(HealthCheckRequestOrEndpointHealthResponseSchema, {
      requestType: { case: 'endpointHealthResponse', value: { clusterEndpointsHealth: [...clusters] } },
    }),
  );
}

/** The health of one cluster in a report. Without address the endpoint is left out. */
export function clusterHealth(
  clusterName: string,
  healthStatus: HealthStatus,
  address?: string,
): MessageInitShape<typeof ClusterEndpointsHealthSchema> {
  const at = { address: { case: 'socketAddress', value: { address: address ?? '' } } } as const;
  return {
    clusterName,
    localityEndpointsHealth: [
      { endpointsHealth: [{ healthStatus, ...(address === undefined ? {} : { endpoint: { address: at } }) }] },
    ],
  };
}

function endpointsOf({ resources }: DiscoveryResponse): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(
    resources.map(({ value }) => {
      const { clusterName, endpoints } = fromBinary(ClusterLoadAssignmentSchema, value);
      const members = endpoints.flatMap(({ lbEndpoints }) =>
        lbEndpoints.map(({ hostIdentifier }) => {
          const address = hostIdentifier.value?.address?.address;
          return address?.case === 'socketAddress'
            ? `${address.value.address}:${address.value.portSpecifier.value}`
            : 'unknown';
        }),
      );
      return [clusterName, members];
    }),
  );
}

function createFakeStream(metadata: StreamMetadata, peer: string): FakeStream & { readonly call: IncomingCall } {
  const received: Uint8Array[] = [];
  const queue: Uint8Array[] = [];
  const ended = Promise.withResolvers<StreamEnd>();
  let waiting: ((bytes: Uint8Array | undefined) => void) | undefined;
  let own: StreamEnd | undefined;
  let isOver = false;
  const pump = (): void => {
    if (waiting === undefined || (queue.length === 0 && !isOver)) return;
    const resolve = waiting;
    waiting = undefined;
    resolve(queue.shift());
  };
  const over = (end: StreamEnd): void => {
    if (isOver) return;
    isOver = true;
    ended.resolve(end);
    pump();
  };
  return {
    received,
    send: (bytes) => {
      queue.push(bytes);
      pump();
    },
    break: () => over({ code: 'lost', reason: 'ConnectionLost', message: '' }),
    end: () => own,
    call: {
      ...{ metadata, peer, ended: ended.promise },
      read: () =>
        new Promise((resolve) => {
          waiting = resolve;
          pump();
        }),
      write: async (bytes) => {
        if (!isOver) received.push(bytes);
        return !isOver;
      },
      end: (end) => {
        own ??= end;
        over(own);
      },
    },
  };
}
