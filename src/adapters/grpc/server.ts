import {
  logVerbosity,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  setLogVerbosity,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { Relay } from '../../../generated/relay_pb.ts';
import {
  type IncomingStream,
  MAX_MESSAGE_BYTES,
  type ServerTransport,
  type StreamEnd,
  type TransportListener,
} from '../../ports/transport.ts';
import { addressOf, isLoopback } from './address.ts';
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

/** A call of any method. */
type IncomingCall = Omit<IncomingStream, 'method'>;

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

/** The listening end over gRPC. Throws for an insecure address that is not loopback, unless `anywhere`. */
export function createGrpcServerTransport(options: GrpcServerOptions): ServerTransport {
  const { host, security } = options;
  if (security.type === 'insecure' && security.anywhere !== true && !isLoopback(host)) {
    throw new Error(
      `the relay without TLS may listen on a loopback address only, not on ${host}: give it one (--listen 127.0.0.1:9900, or relay.listen), or say twice that it may be open (--insecure-listen-anywhere, or relay.tls.insecureListenAnywhere)`,
    );
  }
  // grpc-js would write to standard error; the ends of streams have the same content.
  setLogVerbosity(logVerbosity.NONE);
  const server = new Server(CHANNEL_OPTIONS);
  let listening: TransportListener | undefined;
  const turnedAway = (refusal: StreamEnd, peer: string): void => listening?.turnedAway?.(refusal, peer);
  const front =
    security.type === 'tls' ? tlsFront(server, options, security.material, turnedAway) : plainFront(server, options);
  return {
    async start(listener) {
      listening = listener;
      server.addService(...serviceOf(listener, front));
      return { host, port: await front.start() };
    },
    stop() {
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
      return certificate === undefined ? {} : { certificate };
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

function serviceOf(listener: TransportListener, front: Front): [ServiceDefinition, UntypedServiceImplementation] {
  const definition: Record<string, ServiceDefinition[string]> = {};
  const implementation: UntypedServiceImplementation = {};
  const add = (method: string, take: (call: IncomingCall) => void): void => {
    definition[method] = definitionOf(method);
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
  };
  add(Relay.method.push.name, (call) => listener.stream({ ...call, method: 'Push' }));
  add(Relay.method.pull.name, (call) => listener.stream({ ...call, method: 'Pull' }));
  // A stream on this side only: gRPC would call a unary method after it has received the complete request of an unauthenticated caller.
  add(Relay.method.register.name, (call) => void answerRegistration(listener, call));
  return [definition, implementation];
}

async function answerRegistration(listener: TransportListener, call: IncomingCall): Promise<void> {
  const answer = await listener.register(call);
  if ('refused' in answer) return call.end(answer.refused);
  await call.write(answer.response);
  call.end({ code: 'done', reason: 'Answered', message: '' });
}

function definitionOf(method: string): ServiceDefinition[string] {
  return {
    path: `/${Relay.typeName}/${method}`,
    requestStream: true,
    responseStream: true,
    requestSerialize: BYTES.serialize,
    requestDeserialize: BYTES.deserialize,
    responseSerialize: BYTES.serialize,
    responseDeserialize: BYTES.deserialize,
  };
}
