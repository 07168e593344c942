import {
  logVerbosity,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  setLogVerbosity,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { given } from '../../model/values/given.ts';
import { type IncomingCall, MAX_MESSAGE_BYTES, type StreamEnd } from '../../ports/transport.ts';
import { addressOf } from './address.ts';
import { CONNECTION_LIMITS, type ConnectionLimits, createConnections } from './connections.ts';
import { statusOf } from './status.ts';
import { BYTES, createServerStream, type ServerCall } from './stream.ts';
import { createTlsListener, type TlsMaterialSource } from './tls-listener.ts';

/** Settings of the listening end. */
export interface GrpcServerOptions {
  readonly host: string;
  /** 0: the system chooses one. */
  readonly port: number;
  readonly security:
    | { readonly type: 'tls'; readonly material: TlsMaterialSource }
    /** On a loopback address only, unless `anywhere`. */
    | { readonly type: 'insecure'; readonly anywhere?: boolean };
  /** Of TLS; {@link CONNECTION_LIMITS} if left out. */
  readonly connections?: Partial<ConnectionLimits>;
}

/** A service of gRPC. Every method is a stream of bytes in both directions. */
export interface GrpcService {
  /** With its package. */
  readonly typeName: string;
  readonly methods: Readonly<Record<string, (call: IncomingCall) => void>>;
}

/** What is served on a port. */
export interface GrpcServed {
  readonly services: readonly GrpcService[];
  /** Called when a call was refused or a connection closed before a method saw it. */
  readonly turnedAway: (refusal: StreamEnd, peer: string) => void;
}

/** Accepts connections. */
interface Front {
  start(): Promise<number>;
  /**
   * Counts a call as begun and returns its verified certificate (DER), or refuses the call: its certificate is not trusted,
   * or there are too many connections.
   */
  admit(call: ServerCall): { readonly certificate?: Uint8Array } | { readonly refused: StreamEnd };
  /** An admitted call of this peer has ended. */
  ended(peer: string): void;
  /** Stops accepting connections. */
  close(): void;
  /** Closes all connections. */
  abandon(): void;
}

/** Time for written messages to leave when the server stops. */
const FLUSH_MS = 2_000;

const CHANNEL_OPTIONS = {
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 10_000,
  'grpc.keepalive_permit_without_calls': 1,
  // Far above the limit of the relay, which refuses a large frame with a reason.
  'grpc.max_receive_message_length': 4 * MAX_MESSAGE_BYTES,
  'grpc.max_concurrent_streams': 16,
  'grpc.max_metadata_size': 8 * 1024,
  'grpc.max_connection_idle_ms': 60_000,
  // Statistics of grpc-js about every connection and call, which are not used.
  'grpc.enable_channelz': 0,
};

/** A port on which services are served over gRPC. `start` rejects if it cannot be bound. */
export function createGrpcListener(options: GrpcServerOptions) {
  const { host, security } = options;
  // grpc-js would write to standard error; the ends of streams have the same content.
  setLogVerbosity(logVerbosity.NONE);
  const server = new Server(CHANNEL_OPTIONS);
  let served: GrpcServed | undefined;
  const turnedAway = (refusal: StreamEnd, peer: string): void => served?.turnedAway(refusal, peer);
  const front =
    security.type === 'tls' ? tlsFront(server, options, security.material, turnedAway) : plainFront(server, options);
  return {
    async start(serving: GrpcServed): Promise<{ readonly host: string; readonly port: number }> {
      served = serving;
      for (const service of serving.services) server.addService(...definitionOf(service, front));
      return { host, port: await front.start() };
    },
    stop(): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      front.close();
      const force = setTimeout(() => {
        server.forceShutdown();
        front.abandon();
      }, FLUSH_MS);
      server.tryShutdown(() => {
        clearTimeout(force);
        front.abandon();
        resolve();
      });
      return promise;
    },
  };
}

/** TLS ends here, because grpc-js cannot request a certificate without demanding it, nor replace its context. */
function tlsFront(
  server: Server,
  { host, port, connections: limits }: GrpcServerOptions,
  material: TlsMaterialSource,
  turnedAway: (refusal: StreamEnd, peer: string) => void,
): Front {
  const connections = createConnections({ ...CONNECTION_LIMITS, ...limits }, turnedAway);
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  const listener = createTlsListener({ host, port, material, connections }, (socket) =>
    injector.injectConnection(socket),
  );
  return {
    ...listener,
    abandon: connections.closeAll,
    ended: connections.ended,
    admit(call) {
      const peer = call.getPeer();
      const refused = connections.admit(peer);
      if (refused !== undefined) {
        turnedAway(refused, peer);
        return { refused };
      }
      // Only present if the certificate of this connection was verified.
      const certificate = call.getAuthContext().sslPeerCertificate?.raw;
      return given({ certificate });
    },
  };
}

function plainFront(server: Server, { host, port }: GrpcServerOptions): Front {
  return {
    start() {
      const { promise, resolve, reject } = Promise.withResolvers<number>();
      server.bindAsync(addressOf(host, port), ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      );
      return promise;
    },
    admit: () => ({}),
    ended: () => undefined,
    close: () => undefined,
    abandon: () => undefined,
  };
}

function definitionOf(
  { typeName, methods }: GrpcService,
  front: Front,
): [ServiceDefinition, UntypedServiceImplementation] {
  const definition: Record<string, ServiceDefinition[string]> = {};
  const implementation: UntypedServiceImplementation = {};
  for (const [method, take] of Object.entries(methods)) {
    definition[method] = methodOf(`/${typeName}/${method}`);
    implementation[method] = (call: ServerCall) => {
      const admitted = front.admit(call);
      if ('refused' in admitted) {
        call.emit('error', statusOf(admitted.refused));
        return;
      }
      const incoming = createServerStream(call, admitted);
      void incoming.ended.then(() => front.ended(incoming.peer));
      take(incoming);
    };
  }
  return [definition, implementation];
}

function methodOf(path: string): ServiceDefinition[string] {
  return {
    path,
    requestStream: true,
    responseStream: true,
    requestSerialize: BYTES.serialize,
    requestDeserialize: BYTES.deserialize,
    responseSerialize: BYTES.serialize,
    responseDeserialize: BYTES.deserialize,
  };
}
