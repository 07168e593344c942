import {
  type Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { Relay } from '../../../generated/relay_pb.ts';
import {
  type IncomingStream,
  MAX_MESSAGE_BYTES,
  type ServerTransport,
  type StreamEnd,
  type StreamMetadata,
  type TransportListener,
} from '../../ports/transport.ts';
import { CONNECTION_LIMITS, type ConnectionLimits, createConnections } from './connections.ts';
import { createInbox, createOutbox } from './duplex.ts';
import { addressOf, isLoopback } from './loopback.ts';
import { silenceGrpc } from './silence.ts';
import { statusOf } from './status.ts';
import { createTlsListener, type TlsMaterialSource } from './tls-listener.ts';

/** Settings of the listening end. */
export interface GrpcServerOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly security:
    | { readonly type: 'tls'; readonly material: TlsMaterialSource }
    /** On a loopback address only, unless it is to be `anywhere`. */
    | { readonly type: 'insecure'; readonly anywhere?: boolean };
  /** Of TLS; {@link CONNECTION_LIMITS} if left out. */
  readonly connections?: ConnectionLimits;
}

type Call = ServerDuplexStream<Uint8Array, Uint8Array>;

/** A call of any method. */
type IncomingCall = Omit<IncomingStream, 'method'>;

/** What is known of a caller before it has said anything. */
type Introduction =
  | { readonly certificate?: Uint8Array }
  /** It has shown a certificate that is not believed, or there is no room for it. */
  | { readonly refused: StreamEnd };

/** Where connections come from. */
interface Front {
  start(): Promise<number>;
  /** Says who calls, and counts the call if it may begin, until `ended`. */
  introduce(call: Pick<Call, 'getPeer' | 'getAuthContext'>): Introduction;
  ended(peer: string): void;
  /** Lets nobody in any more. */
  close(): void;
  abandon(): void;
}

/** How long what is written may take to leave when the server stops. */
const FLUSH_MS = 2_000;

const CHANNEL_OPTIONS = {
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 10_000,
  'grpc.keepalive_permit_without_calls': 1,
  // Far above what is allowed: the relay itself refuses a large frame, with a reason.
  'grpc.max_receive_message_length': 4 * MAX_MESSAGE_BYTES,
  'grpc.max_concurrent_streams': 16,
  'grpc.max_metadata_size': 8 * 1024,
  'grpc.max_connection_idle_ms': 60_000,
  // Its own books of every connection and call, which nobody reads.
  'grpc.enable_channelz': 0,
};

/** The listening end over gRPC. Throws for an insecure one that others than this machine could reach, unless told to. */
export function createGrpcServerTransport(options: GrpcServerOptions): ServerTransport {
  const { host, security } = options;
  if (security.type === 'insecure' && security.anywhere !== true && !isLoopback(host)) {
    throw new Error(
      `the relay without TLS may listen on a loopback address only, not on ${host}: give it one (--listen 127.0.0.1:9900, or relay.listen), or say twice that it may be open (--insecure-listen-anywhere, or relay.tls.insecureListenAnywhere)`,
    );
  }
  silenceGrpc();
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

/** TLS is ended here and not in grpc-js: that asks for no certificate without demanding one, and keeps its first context. */
function tlsFront(
  server: Server,
  { host, port, connections: limits = CONNECTION_LIMITS }: GrpcServerOptions,
  material: TlsMaterialSource,
  turnedAway: (refusal: StreamEnd, peer: string) => void,
): Front {
  const connections = createConnections(limits, turnedAway);
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  const listener = createTlsListener({ host, port, material }, (socket) => {
    connections.opened(socket);
    injector.injectConnection(socket);
  });
  return {
    ...listener,
    ended: connections.end,
    introduce(call) {
      const peer = call.getPeer();
      const refused = listener.notBelieved(peer) ?? connections.begin(peer);
      if (refused !== undefined) {
        turnedAway(refused, peer);
        return { refused };
      }
      // Given only for a certificate that was found right, and read from this very connection.
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
    introduce: () => ({}),
    ended: () => undefined,
    close: () => undefined,
    abandon: () => undefined,
  };
}

/** Messages stay bytes: frames are read where they are checked. */
function serviceOf(listener: TransportListener, front: Front): [ServiceDefinition, UntypedServiceImplementation] {
  const definition: Record<string, ServiceDefinition[string]> = {};
  const implementation: UntypedServiceImplementation = {};
  const add = (method: string, take: (call: IncomingCall) => void): void => {
    definition[method] = definitionOf(method);
    implementation[method] = (call: Call) => {
      const introduction = front.introduce(call);
      if ('refused' in introduction) {
        call.emit('error', statusOf(introduction.refused));
        return;
      }
      const peer = call.getPeer();
      const incoming = createIncomingCall(call, introduction);
      void incoming.ended.then(() => front.ended(peer));
      take(incoming);
    };
  };
  add(Relay.method.push.name, (call) => listener.stream({ ...call, method: 'Push' }));
  add(Relay.method.pull.name, (call) => listener.stream({ ...call, method: 'Pull' }));
  // Looks the same to the caller; as what it is, gRPC would hand it over only with all that a stranger likes to send.
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
  const raw = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  return {
    path: `/${Relay.typeName}/${method}`,
    requestStream: true,
    responseStream: true,
    requestSerialize: raw,
    requestDeserialize: (bytes) => bytes,
    responseSerialize: raw,
    responseDeserialize: (bytes) => bytes,
  };
}

function createIncomingCall(call: Call, introduction: { readonly certificate?: Uint8Array }): IncomingCall {
  const ended = Promise.withResolvers<StreamEnd>();
  const inbox = createInbox(call);
  const outbox = createOutbox(call);
  let own: StreamEnd | undefined;
  call.on('end', () => inbox.close(false));
  // The one event that always comes, and only when the call is over: after its status was sent, or when it broke.
  call.on('cancelled', () => {
    ended.resolve(own ?? { code: 'lost', reason: 'ConnectionLost', message: 'the connection has broken' });
    inbox.close(true);
    outbox.close();
  });
  return {
    metadata: readMetadata(call.metadata),
    peer: call.getPeer(),
    ...introduction,
    read: inbox.read,
    write: (message) => (own === undefined ? outbox.write(message) : Promise.resolve(false)),
    end(end) {
      if (own !== undefined) return;
      own = end;
      // This is how grpc-js is told a status: it flushes, sends it, and closes.
      if (!call.cancelled) call.emit('error', statusOf(end));
      // Nobody reads any more; what still comes is thrown away so that the peer's end is seen.
      call.removeAllListeners('data');
      call.resume();
    },
    ended: ended.promise,
  };
}

function readMetadata(metadata: Metadata): StreamMetadata {
  const values: Record<string, string> = {};
  for (const [name, value] of Object.entries(metadata.getMap())) if (typeof value === 'string') values[name] = value;
  return values;
}
