import { isIP } from 'node:net';
import { checkServerIdentity } from 'node:tls';
import { type ChannelCredentials, Client, type ClientDuplexStream, credentials, Metadata } from '@grpc/grpc-js';
import { Relay } from '../../../generated/relay_pb.ts';
import {
  type ClientConnection,
  type ClientTransport,
  MAX_MESSAGE_BYTES,
  type MessageStream,
  type StreamEnd,
  type StreamMetadata,
  type StreamMethod,
} from '../../ports/transport.ts';
import { createInbox, writeMessage } from './duplex.ts';
import { hostOf, isLoopback } from './loopback.ts';
import { silenceGrpc } from './silence.ts';
import { endOf } from './status.ts';

/** Settings of the dialling end. */
export interface GrpcClientOptions {
  /** `host:port`. */
  readonly server: string;
  readonly security:
    | {
        readonly type: 'tls';
        /** The certificates to trust (PEM), read at each dial; throws with a clear text if they cannot be read. */
        readonly ca: () => Uint8Array;
        /** The name that the server's certificate must hold, if it is not the host that is dialled. */
        readonly serverName?: string;
      }
    /** To a loopback address only: the token travels readable. */
    | { readonly type: 'insecure' };
}

type Call = ClientDuplexStream<Uint8Array, Uint8Array>;

const CHANNEL_OPTIONS = {
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 10_000,
  'grpc.max_receive_message_length': 4 * MAX_MESSAGE_BYTES,
  // A connection is used for one link: what is wrong with one must not outlive it.
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_retries': 0,
};

/** The dialling end over gRPC. Throws for an address that makes no sense, or an insecure one that leaves this machine. */
export function createGrpcClientTransport(options: GrpcClientOptions): ClientTransport {
  const { server, security } = options;
  const host = hostOf(server);
  if (host === undefined) throw new Error(`the server's address ${JSON.stringify(server)} is not host:port`);
  if (security.type === 'insecure' && !isLoopback(host)) {
    throw new Error(`the relay without TLS may dial a loopback address only, not ${server}`);
  }
  silenceGrpc();
  return { server, dial: () => dial(options, host) };
}

function dial({ server, security }: GrpcClientOptions, host: string): ClientConnection {
  const client = new Client(server, credentialsOf(security, host), {
    ...CHANNEL_OPTIONS,
    // The name sent to the server: TLS allows no address there. Which name is checked is said in the credentials.
    ...(isIP(host) === 0 ? {} : { 'grpc.ssl_target_name_override': 'localhost' }),
  });
  const calls = new Set<Call>();
  return {
    open(method, metadata) {
      const call = openCall(client, method, metadata);
      calls.add(call);
      const stream = createStream(call);
      void stream.ended.then(() => calls.delete(call));
      return stream;
    },
    close() {
      for (const call of calls) call.cancel();
      client.close();
    },
  };
}

function credentialsOf(security: GrpcClientOptions['security'], host: string): ChannelCredentials {
  if (security.type === 'insecure') return credentials.createInsecure();
  const expected = security.serverName ?? host;
  const ca = Buffer.from(security.ca());
  if (!ca.includes('-----BEGIN CERTIFICATE-----'))
    throw new Error('the file of the certificate authority holds no certificate (PEM)');
  return credentials.createSsl(ca, null, null, {
    checkServerIdentity: (_name, certificate) => checkServerIdentity(expected, certificate),
  });
}

function openCall(client: Client, method: StreamMethod, values: StreamMetadata): Call {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(values)) metadata.set(name, value);
  const raw = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  return client.makeBidiStreamRequest<Uint8Array, Uint8Array>(
    `/${Relay.typeName}/${method}`,
    raw,
    (bytes) => bytes,
    metadata,
  );
}

function createStream(call: Call): MessageStream {
  const ended = Promise.withResolvers<StreamEnd>();
  const inbox = createInbox(call);
  let over = false;
  let drained = false;
  const closeWhenBoth = (): void => {
    if (over && drained) inbox.close(false);
  };
  call.on('status', (status) => {
    over = true;
    ended.resolve(endOf(status));
    // A call that failed without a message never says that it has been read.
    drained ||= call.readableLength === 0;
    closeWhenBoth();
  });
  call.on('end', () => {
    drained = true;
    closeWhenBoth();
  });
  // The status says the same.
  call.on('error', () => {});
  let own = false;
  return {
    read: inbox.read,
    write: (message) => (own || over ? Promise.resolve(false) : writeMessage(call, message, ended.promise)),
    end() {
      if (own) return;
      own = true;
      call.end();
    },
    ended: ended.promise,
  };
}
