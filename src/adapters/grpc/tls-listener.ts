import { constants } from 'node:crypto';
import { createServer, type SecureContextOptions, type Server, type TLSSocket } from 'node:tls';
import type { StreamEnd } from '../../ports/transport.ts';
import type { Connections } from './connections.ts';

/** The certificate of a TLS server, and the roots of client certificates (PEM). */
export interface TlsMaterial {
  /** The server's own certificate first. */
  readonly certificate: Uint8Array;
  readonly key: Uint8Array;
  /** Absent: client certificates are not requested. Present or absent for the whole life of the server. */
  readonly clientRoots?: Uint8Array;
}

/** {@link TlsMaterial} that may change while the server runs; new connections use the new one. */
export interface TlsMaterialSource {
  current(): TlsMaterial;
  /** Calls back after each change, until the returned function is called. */
  watch?(changed: () => void): () => void;
}

/** Time for a handshake. */
const HANDSHAKE_MS = 10_000;

/**
 * Listens with TLS, and calls `connected` with each connection after its handshake. It requests a client certificate without
 * demanding one. A caller with an untrusted certificate may connect, so that its first call is refused with the reason.
 */
export function createTlsListener(
  options: {
    readonly host: string;
    readonly port: number;
    readonly material: TlsMaterialSource;
    readonly connections: Connections;
  },
  connected: (socket: TLSSocket) => void,
) {
  const { host, port, material, connections } = options;
  const first = material.current();
  const requestCert = first.clientRoots !== undefined;
  const server = createServer({
    ...contextOf(first),
    requestCert,
    rejectUnauthorized: false,
    ALPNProtocols: ['h2'],
    handshakeTimeout: HANDSHAKE_MS,
  });
  server.on('connection', connections.begin);
  // The peer has closed the connection or does not speak TLS.
  server.on('tlsClientError', () => undefined);
  server.on('secureConnection', (socket) => {
    socket.on('error', () => undefined);
    connections.opened(socket, requestCert ? distrust(socket) : undefined);
    connected(socket);
  });
  const unwatch = material.watch?.(() => server.setSecureContext(contextOf(material.current())));
  return {
    /** Resolves with the bound port. */
    start: () => listen(server, host, port),
    /** Stops listening; connections stay open. */
    close(): void {
      unwatch?.();
      server.close();
    },
  };
}

function contextOf({ certificate, key, clientRoots }: TlsMaterial): SecureContextOptions {
  return {
    cert: Buffer.from(certificate),
    key: Buffer.from(key),
    // An empty list, because Node would use the public authorities without one.
    ca: clientRoots === undefined ? [] : Buffer.from(clientRoots),
    minVersion: 'TLSv1.2',
    // A resumed session would keep an earlier verification, and a renegotiation could show a certificate that is not verified.
    secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION,
  };
}

function listen(server: Server, host: string, port: number): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  server.once('error', reject);
  server.listen({ host, port }, () => {
    server.off('error', reject);
    // A later error concerns one connection that could not be accepted, as without free file descriptors.
    server.on('error', () => undefined);
    const address = server.address();
    resolve(typeof address === 'object' && address !== null ? address.port : port);
  });
  return promise;
}

/** Why the certificate of the peer is not trusted; undefined: it is trusted, or the peer has none. */
function distrust(socket: TLSSocket): StreamEnd | undefined {
  const { authorized, authorizationError } = socket;
  if (authorized || socket.getPeerCertificate().raw === undefined) return undefined;
  const code =
    authorizationError instanceof Error && 'code' in authorizationError ? authorizationError.code : authorizationError;
  const [reason, message] =
    code === 'CERT_HAS_EXPIRED'
      ? ['CertificateExpired', 'the certificate that was shown has expired']
      : code === 'CERT_NOT_YET_VALID'
        ? ['CertificateNotYetValid', 'the certificate that was shown is not valid yet']
        : ['CertificateUnknown', `the certificate that was shown is not believed (${String(code)})`];
  return { code: 'unauthenticated', reason, message };
}
