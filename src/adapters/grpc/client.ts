import { isIP } from 'node:net';
import { checkServerIdentity, type DetailedPeerCertificate, type PeerCertificate } from 'node:tls';
import {
  type ChannelCredentials,
  Client,
  credentials,
  logVerbosity,
  Metadata,
  setLogVerbosity,
  status,
} from '@grpc/grpc-js';
import { Relay } from '../../../generated/relay_pb.ts';
import { isLoopback } from '../../http/loopback.ts';
import {
  type ClientConnection,
  type ClientTransport,
  type DialCredentials,
  MAX_MESSAGE_BYTES,
  type RegistrationAnswer,
  type StreamEnd,
  type StreamMetadata,
} from '../../ports/transport.ts';
import { hostOf } from './address.ts';
import { endOf, endWithoutTls, type Status } from './status.ts';
import { BYTES, type ClientCall, createClientStream, metadataOf } from './stream.ts';

/** Settings of the dialling end. */
export interface GrpcClientOptions {
  /** `host:port`. */
  readonly server: string;
  readonly security:
    | {
        readonly type: 'tls';
        /** Reads the trusted certificates (PEM) at each dial; throws with a text for people. */
        readonly ca: () => Uint8Array;
        /** The name that the server's certificate must contain, if it is not the host. */
        readonly serverName?: string;
      }
    /** To a loopback address only: the token travels unencrypted. */
    | { readonly type: 'insecure' };
}

/** Maps a status to an end. */
type Explain = (status: Status) => StreamEnd;

const CHANNEL_OPTIONS = {
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 10_000,
  'grpc.max_receive_message_length': 4 * MAX_MESSAGE_BYTES,
  // One connection per link: a problem of a connection must not outlive it.
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_retries': 0,
};

/** The dialling end over gRPC. Throws for a malformed address, or an insecure one that is not loopback. */
export function createGrpcClientTransport(options: GrpcClientOptions): ClientTransport {
  const { server, security } = options;
  const host = hostOf(server);
  if (host === undefined) throw new Error(`the server's address ${JSON.stringify(server)} is not host:port`);
  if (security.type === 'insecure' && !isLoopback(host)) {
    throw new Error(`the relay without TLS may dial a loopback address only, not ${server}`);
  }
  // grpc-js would write to standard error; the ends of streams have the same content.
  setLogVerbosity(logVerbosity.NONE);
  return { server, dial: (shown) => dial(options, host, shown) };
}

function dial(
  { server, security }: GrpcClientOptions,
  host: string,
  shown: DialCredentials | undefined,
): ClientConnection {
  let chain: readonly Uint8Array[] = [];
  const verified = (certificate: PeerCertificate): void => {
    chain = chainOf(certificate);
  };
  const client = new Client(server, credentialsOf(security, host, shown, verified), {
    ...CHANNEL_OPTIONS,
    // The name sent to the server, where TLS allows no address. The credentials check the real name.
    ...(isIP(host) === 0 ? {} : { 'grpc.ssl_target_name_override': 'localhost' }),
  });
  const calls = new Set<ClientCall>();
  const explain: Explain = security.type === 'insecure' ? endWithoutTls : endOf;
  return {
    open(method, metadata) {
      const { serialize, deserialize } = BYTES;
      const path = `/${Relay.typeName}/${method}`;
      const call: ClientCall = client.makeBidiStreamRequest(path, serialize, deserialize, metadataOf(metadata));
      calls.add(call);
      const stream = createClientStream(call, explain);
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
  verified: (certificate: PeerCertificate) => void,
): ChannelCredentials {
  if (security.type === 'insecure') return credentials.createInsecure();
  const given = Buffer.from(security.ca());
  if (!given.includes('-----BEGIN CERTIFICATE-----'))
    throw new Error('the file of the certificate authority holds no certificate (PEM)');
  const ca = Buffer.concat([given, Buffer.from(`\n${shown?.roots ?? ''}`)]);
  const { identity } = shown ?? {};
  const [key, certificate] = identity ? [Buffer.from(identity.key), Buffer.from(identity.certificate)] : [null, null];
  return credentials.createSsl(ca, key, certificate, {
    checkServerIdentity: (_name, peer) => {
      const problem = checkServerIdentity(security.serverName ?? host, peer);
      if (problem === undefined) verified(peer);
      return problem;
    },
  });
}

/** The server's certificate and its issuers, up to the root if the platform has found it. */
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

/** Deadline of a registration. */
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
    BYTES.serialize,
    BYTES.deserialize,
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

/** A server without this method issues no certificates. */
function refusalOf(error: Status, explain: Explain): StreamEnd {
  const end = explain(error);
  return error.code === status.UNIMPLEMENTED ? { ...end, reason: 'NotOffered' } : end;
}
