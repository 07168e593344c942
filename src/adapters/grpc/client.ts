import { isIP } from 'node:net';
import { checkServerIdentity, type DetailedPeerCertificate, type PeerCertificate } from 'node:tls';
import { type ChannelCredentials, Client, type ClientDuplexStream, credentials, Metadata, status } from '@grpc/grpc-js';
import { Relay } from '../../../generated/relay_pb.ts';
import {
  type ClientConnection,
  type ClientTransport,
  type DialCredentials,
  MAX_MESSAGE_BYTES,
  type MessageStream,
  type RegistrationAnswer,
  type StreamEnd,
  type StreamMetadata,
  type StreamMethod,
} from '../../ports/transport.ts';
import { createInbox, createOutbox } from './duplex.ts';
import { hostOf, isLoopback } from './loopback.ts';
import { silenceGrpc } from './silence.ts';
import { endOf, endWithoutTls, type Status } from './status.ts';

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

/** What a status means on this connection. */
type Explain = (status: Status) => StreamEnd;

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
  return { server, dial: (shown) => dial(options, host, shown) };
}

function dial(
  { server, security }: GrpcClientOptions,
  host: string,
  shown: DialCredentials | undefined,
): ClientConnection {
  let chain: readonly Uint8Array[] = [];
  const believed = (certificate: PeerCertificate): void => {
    chain = chainOf(certificate);
  };
  const client = new Client(server, credentialsOf(security, host, shown, believed), {
    ...CHANNEL_OPTIONS,
    // The name sent to the server: TLS allows no address there. Which name is checked is said in the credentials.
    ...(isIP(host) === 0 ? {} : { 'grpc.ssl_target_name_override': 'localhost' }),
  });
  const calls = new Set<Call>();
  const explain: Explain = security.type === 'insecure' ? endWithoutTls : endOf;
  return {
    open(method, metadata) {
      const call = openCall(client, method, metadata);
      calls.add(call);
      const stream = createStream(call, explain);
      void stream.ended.then(() => calls.delete(call));
      return stream;
    },
    register: (request, metadata) => askToRegister(client, request, metadata, explain),
    serverChain: () => chain,
    close() {
      for (const call of calls) call.cancel();
      client.close();
    },
  };
}

function credentialsOf(
  security: GrpcClientOptions['security'],
  host: string,
  shown: DialCredentials | undefined,
  believed: (certificate: PeerCertificate) => void,
): ChannelCredentials {
  if (security.type === 'insecure') return credentials.createInsecure();
  const expected = security.serverName ?? host;
  const given = Buffer.from(security.ca());
  if (!given.includes('-----BEGIN CERTIFICATE-----'))
    throw new Error('the file of the certificate authority holds no certificate (PEM)');
  const ca = Buffer.concat([given, Buffer.from(`\n${shown?.roots ?? ''}`)]);
  const { key, certificate } = shown?.identity ?? { key: null, certificate: null };
  return credentials.createSsl(ca, bufferOf(key), bufferOf(certificate), {
    checkServerIdentity: (_name, peer) => {
      const trouble = checkServerIdentity(expected, peer);
      if (trouble === undefined) believed(peer);
      return trouble;
    },
  });
}

function bufferOf(text: string | null): Buffer | null {
  return text === null ? null : Buffer.from(text);
}

/** The server's certificate and what leads from it to a root; the root too, if the platform has found it. */
function chainOf(certificate: PeerCertificate | DetailedPeerCertificate): readonly Uint8Array[] {
  const chain: Uint8Array[] = [];
  const seen = new Set<string>();
  let next: PeerCertificate | DetailedPeerCertificate | undefined = certificate;
  while (next?.raw !== undefined && !seen.has(next.fingerprint256)) {
    seen.add(next.fingerprint256);
    chain.push(next.raw);
    next = 'issuerCertificate' in next ? next.issuerCertificate : undefined;
  }
  return chain;
}

/** A server that does not answer at all is given up after this time. */
const REGISTER_MS = 20_000;

function askToRegister(
  client: Client,
  request: Uint8Array,
  values: StreamMetadata,
  explain: Explain,
): Promise<RegistrationAnswer> {
  const { promise, resolve } = Promise.withResolvers<RegistrationAnswer>();
  client.makeUnaryRequest<Uint8Array, Uint8Array>(
    `/${Relay.typeName}/${Relay.method.register.name}`,
    raw,
    (bytes) => bytes,
    request,
    metadataOf(values),
    { deadline: new Date(Date.now() + REGISTER_MS) },
    (error, response) => {
      if (error !== null) resolve({ refused: refusalOf(error, explain) });
      else if (response === undefined)
        resolve({ refused: explain({ code: status.UNKNOWN, details: 'no answer', metadata: new Metadata() }) });
      else resolve({ response });
    },
  );
  return promise;
}

/** A server from before there were certificates offers none. */
function refusalOf(error: Status, explain: Explain): StreamEnd {
  const end = explain(error);
  return error.code === status.UNIMPLEMENTED ? { ...end, reason: 'NotOffered' } : end;
}

function raw(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

function metadataOf(values: StreamMetadata): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(values)) metadata.set(name, value);
  return metadata;
}

function openCall(client: Client, method: StreamMethod, values: StreamMetadata): Call {
  return client.makeBidiStreamRequest<Uint8Array, Uint8Array>(
    `/${Relay.typeName}/${method}`,
    raw,
    (bytes) => bytes,
    metadataOf(values),
  );
}

function createStream(call: Call, explain: Explain): MessageStream {
  const ended = Promise.withResolvers<StreamEnd>();
  const inbox = createInbox(call);
  const outbox = createOutbox(call);
  let over = false;
  let drained = false;
  const closeWhenBoth = (): void => {
    if (over && drained) inbox.close(false);
  };
  call.on('status', (status) => {
    over = true;
    ended.resolve(explain(status));
    outbox.close();
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
    write: (message) => (own || over ? Promise.resolve(false) : outbox.write(message)),
    end() {
      if (own) return;
      own = true;
      call.end();
    },
    ended: ended.promise,
  };
}
