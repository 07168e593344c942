import { constants } from 'node:crypto';
import type { Socket } from 'node:net';
import { createServer, type SecureContextOptions, type Server, type TLSSocket } from 'node:tls';
import type { StreamEnd } from '../../ports/transport.ts';
import { peerOf } from './connections.ts';

/** What a TLS server shows, and whose certificates it believes (PEM). */
export interface TlsMaterial {
  /** The server's own certificate first. */
  readonly certificate: Uint8Array;
  readonly key: Uint8Array;
  /** The roots of callers' certificates; absent: no certificate is asked for. Present or absent for good. */
  readonly clientRoots?: Uint8Array;
}

/** {@link TlsMaterial} that may change while the server runs: what is new counts for new connections. */
export interface TlsMaterialSource {
  current(): TlsMaterial;
  /** Calls back after each change, until the returned function is called. */
  watch?(changed: () => void): () => void;
}

/** A port on which TLS is spoken. */
export interface TlsListener {
  /** Resolves with the bound port. */
  start(): Promise<number>;
  /** Why the certificate that a peer (`address:port`) has shown is not believed; undefined: it is, or it has shown none. */
  notBelieved(peer: string): StreamEnd | undefined;
  /** Stops listening; connections go on. */
  close(): void;
  /** Ends connections whose handshake is not over. */
  abandon(): void;
}

/** How long a caller may take for its handshake. */
const HANDSHAKE_MS = 10_000;
/** Handshakes that may be under way at once: more than a whole fleet begins when its server comes back. */
const HANDSHAKES = 6_000;

/**
 * Listens with TLS and hands over each connection whose handshake is over. A certificate is asked for and not demanded; a
 * caller with one that is not believed is let through, so that it can be told why at its first call.
 */
export function createTlsListener(
  options: {
    readonly host: string;
    readonly port: number;
    readonly material: TlsMaterialSource;
    readonly handshakes?: number;
  },
  connected: (socket: TLSSocket) => void,
): TlsListener {
  const first = options.material.current();
  const server = createServer({
    ...contextOf(first),
    requestCert: first.clientRoots !== undefined,
    rejectUnauthorized: false,
    ALPNProtocols: ['h2'],
    handshakeTimeout: HANDSHAKE_MS,
  });
  const refused = new Map<string, StreamEnd>();
  const open = new Set<{ destroy(): unknown }>();
  const handshakes = createHandshakes(options.handshakes ?? HANDSHAKES);
  server.on('connection', (socket) => {
    open.add(socket);
    handshakes.begin(socket);
    socket.once('close', () => open.delete(socket));
  });
  // The peer is gone or speaks something else: there is nobody to tell.
  server.on('tlsClientError', () => undefined);
  server.on('secureConnection', (socket) => {
    socket.on('error', () => undefined);
    handshakes.end(socket);
    const end = judge(socket, first.clientRoots !== undefined);
    if (end !== undefined) remember(refused, socket, end);
    connected(socket);
  });
  const unwatch = options.material.watch?.(() => server.setSecureContext(contextOf(options.material.current())));
  return {
    start: () => listen(server, options.host, options.port),
    notBelieved: (peer) => refused.get(peer),
    close() {
      unwatch?.();
      server.close();
    },
    abandon() {
      for (const socket of open) socket.destroy();
    },
  };
}

/**
 * Whose handshake is under way. Above `most` the one who began first is thrown out, not the newest: who dials goes on at
 * once, who only wants to take up room does not.
 */
function createHandshakes(most: number): { begin(socket: Socket): void; end(socket: Socket): void } {
  const underWay = new Map<string, Socket>();
  return {
    begin(socket) {
      const peer = peerOf(socket);
      underWay.set(peer, socket);
      socket.once('close', () => {
        if (underWay.get(peer) === socket) underWay.delete(peer);
      });
      const [oldest] = underWay;
      if (underWay.size <= most || oldest === undefined) return;
      underWay.delete(oldest[0]);
      oldest[1].destroy();
    },
    end: (socket) => void underWay.delete(peerOf(socket)),
  };
}

function contextOf({ certificate, key, clientRoots }: TlsMaterial): SecureContextOptions {
  return {
    cert: Buffer.from(certificate),
    key: Buffer.from(key),
    // Without a list of its own Node would take the one of the web.
    ca: clientRoots === undefined ? [] : Buffer.from(clientRoots),
    minVersion: 'TLSv1.2',
    // A resumed session would keep what was once believed.
    secureOptions: constants.SSL_OP_NO_TICKET,
  };
}

function listen(server: Server, host: string, port: number): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  server.once('error', reject);
  server.listen({ host, port }, () => {
    server.off('error', reject);
    // An error of accepting (no file descriptors are left) is of that caller alone, who comes again.
    server.on('error', () => undefined);
    const address = server.address();
    resolve(typeof address === 'object' && address !== null ? address.port : port);
  });
  return promise;
}

function judge(socket: TLSSocket, asked: boolean): StreamEnd | undefined {
  if (!asked || socket.authorized || socket.getPeerCertificate().raw === undefined) return undefined;
  const { authorizationError } = socket;
  const code =
    authorizationError instanceof Error && 'code' in authorizationError ? authorizationError.code : authorizationError;
  switch (code) {
    case 'CERT_HAS_EXPIRED':
      return unauthenticated('CertificateExpired', 'the certificate that was shown has expired');
    case 'CERT_NOT_YET_VALID':
      return unauthenticated('CertificateNotYetValid', 'the certificate that was shown is not valid yet');
    default:
      return unauthenticated('CertificateUnknown', `the certificate that was shown is not believed (${String(code)})`);
  }
}

function unauthenticated(reason: string, message: string): StreamEnd {
  return { code: 'unauthenticated', reason, message };
}

function remember(refused: Map<string, StreamEnd>, socket: TLSSocket, end: StreamEnd): void {
  const peer = peerOf(socket);
  refused.set(peer, end);
  socket.once('close', () => {
    if (refused.get(peer) === end) refused.delete(peer);
  });
}
