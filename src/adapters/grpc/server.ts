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
  type StreamMethod,
} from '../../ports/transport.ts';
import { createInbox, writeMessage } from './duplex.ts';
import { addressOf, isLoopback } from './loopback.ts';
import { silenceGrpc } from './silence.ts';
import { statusOf } from './status.ts';

/** Settings of the listening end. */
export interface GrpcServerOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly security:
    | { readonly type: 'tls'; readonly certificate: Uint8Array; readonly key: Uint8Array }
    /** On a loopback address only. */
    | { readonly type: 'insecure' };
}

type Call = ServerDuplexStream<Uint8Array, Uint8Array>;

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
};

/** The listening end over gRPC. Throws for an insecure one that others than this machine could reach. */
export function createGrpcServerTransport(options: GrpcServerOptions): ServerTransport {
  if (options.security.type === 'insecure' && !isLoopback(options.host)) {
    throw new Error(`the relay without TLS may listen on a loopback address only, not on ${options.host}`);
  }
  silenceGrpc();
  const server = new Server(CHANNEL_OPTIONS);
  return {
    async start(accept) {
      server.addService(...serviceOf(accept));
      const { promise, resolve, reject } = Promise.withResolvers<number>();
      server.bindAsync(addressOf(options.host, options.port), credentialsOf(options.security), (error, port) =>
        error === null ? resolve(port) : reject(error),
      );
      return { host: options.host, port: await promise };
    },
    stop() {
      const { promise, resolve } = Promise.withResolvers<void>();
      const force = setTimeout(() => server.forceShutdown(), FLUSH_MS);
      server.tryShutdown(() => {
        clearTimeout(force);
        resolve();
      });
      return promise;
    },
  };
}

function credentialsOf(security: GrpcServerOptions['security']): ServerCredentials {
  if (security.type === 'insecure') return ServerCredentials.createInsecure();
  const pair = { private_key: Buffer.from(security.key), cert_chain: Buffer.from(security.certificate) };
  return ServerCredentials.createSsl(null, [pair], false);
}

/** Messages stay bytes: frames are read where they are checked. */
function serviceOf(accept: (stream: IncomingStream) => void): [ServiceDefinition, UntypedServiceImplementation] {
  const raw = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const methods: readonly StreamMethod[] = [Relay.method.push.name, Relay.method.pull.name] as StreamMethod[];
  const definition: Record<string, ServiceDefinition[string]> = {};
  const implementation: UntypedServiceImplementation = {};
  for (const method of methods) {
    definition[method] = {
      path: `/${Relay.typeName}/${method}`,
      requestStream: true,
      responseStream: true,
      requestSerialize: raw,
      requestDeserialize: (bytes) => bytes,
      responseSerialize: raw,
      responseDeserialize: (bytes) => bytes,
    };
    implementation[method] = (call: Call) => accept(createIncomingStream(method, call));
  }
  return [definition, implementation];
}

function createIncomingStream(method: StreamMethod, call: Call): IncomingStream {
  const ended = Promise.withResolvers<StreamEnd>();
  const inbox = createInbox(call);
  let own: StreamEnd | undefined;
  call.on('end', () => inbox.close(false));
  // The one event that always comes, and only when the call is over: after its status was sent, or when it broke.
  call.on('cancelled', () => {
    ended.resolve(own ?? { code: 'lost', reason: 'ConnectionLost', message: 'the connection has broken' });
    inbox.close(true);
  });
  return {
    method,
    metadata: readMetadata(call.metadata),
    peer: call.getPeer(),
    read: inbox.read,
    write: (message) => (own === undefined ? writeMessage(call, message, ended.promise) : Promise.resolve(false)),
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
