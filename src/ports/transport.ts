/**
 * The reason for the end of a stream. `done`: regular. `unavailable`: retry soon. `refused`: retries fail until a person acts. `unauthenticated`: the peer could not prove its identity. `invalid`: a message violates the
 * protocol. `exhausted`: a limit was exceeded. `lost`: the connection broke, or the peer gave no reason.
 */
export type EndCode = 'done' | 'unavailable' | 'refused' | 'unauthenticated' | 'invalid' | 'exhausted' | 'lost';

/** `reason` is a constant UpperCamelCase word, `message` a sentence for people; neither contains a secret. */
export interface StreamEnd {
  readonly code: EndCode;
  readonly reason: string;
  readonly message: string;
  /** The peer is to come again after this time, in milliseconds, and not before; absent: as it likes. */
  readonly retryAfterMs?: number;
}

/** Each transport carries messages of up to this many bytes, and refuses much larger ones itself (`exhausted`). */
export const MAX_MESSAGE_BYTES = 260 * 1024;

/** The streams that exist. */
export type StreamMethod = 'Push' | 'Pull';

/** Lower-case names; values are printable ASCII. */
export type StreamMetadata = Readonly<Record<string, string>>;

/**
 * A duplex stream of complete messages: reliable, in order, the same interface at both ends. No method rejects: the results
 * and `ended` report the end of the stream.
 */
export interface MessageStream {
  /**
   * Returns the next message, or undefined at the end of the stream. One read at a time; unread messages slow the peer down.
   * After the end, received messages are still returned first, unless the connection broke, and `ended` has resolved before
   * undefined is returned. While `ended` is pending, undefined means that the peer has called `end`.
   */
  read(): Promise<Uint8Array | undefined>;
  /**
   * Sends one message. Resolves with true when the next write may follow, or with false if the stream is over. One write at a
   * time. A sent message can still be lost with the connection.
   */
  write(message: Uint8Array): Promise<boolean>;
  /**
   * Ends the stream: flushes the written messages, and abandons the rest. The reason of a server reaches the peer; a client
   * must send its reason in a message. Only the first call has an effect.
   */
  end(end: StreamEnd): void;
  /** Resolves when the stream is over: with the peer's reason if it gave one, else with the own one. */
  readonly ended: Promise<StreamEnd>;
}

/** A stream at the server that a client has opened. */
export interface IncomingCall extends MessageStream {
  readonly metadata: StreamMetadata;
  /** Address of the peer, for logs. */
  readonly peer: string;
  /** The client certificate (DER), verified against the roots and the time; absent if the peer has sent none. */
  readonly certificate?: Uint8Array;
}

/** A stream of the relay at the server. */
export interface IncomingStream extends IncomingCall {
  readonly method: StreamMethod;
}

/** A call with one request and one response: a certificate request. */
export interface IncomingRegistration extends Pick<IncomingStream, 'metadata' | 'peer' | 'certificate'> {
  /** Returns the request; undefined if none arrives. Little of it is received before this call. */
  read(): Promise<Uint8Array | undefined>;
}

/** The response to a registration, or why there is none. */
export type RegistrationAnswer = { readonly response: Uint8Array } | { readonly refused: StreamEnd };

/** Receives the streams and calls of clients. */
export interface TransportListener {
  stream(stream: IncomingStream): void;
  /** Must not reject. */
  register(registration: IncomingRegistration): Promise<RegistrationAnswer>;
  /** Called when the transport itself has refused a call or closed a connection. For logs and metrics. */
  turnedAway?(refusal: StreamEnd, peer: string): void;
}

/**
 * The server. It limits the size of messages and metadata, the streams of a connection and the number of connections, and
 * detects a dead peer within 30 s.
 */
export interface ServerTransport {
  /** Starts to listen and resolves with the bound address; rejects if that fails. */
  start(listener: TransportListener): Promise<{ readonly host: string; readonly port: number }>;
  /** Stops to listen, ends open streams after a short time to flush, and resolves when all connections are closed. */
  stop(): Promise<void>;
}

/** One connection. It connects with the first stream; a failure to connect ends that stream (`lost`). */
export interface ClientConnection {
  open(method: StreamMethod, metadata: StreamMetadata): MessageStream;
  /** Requests a certificate. Never rejects. */
  register(request: Uint8Array, metadata: StreamMetadata): Promise<RegistrationAnswer>;
  /** The verified certificate chain of the server (DER, its own certificate first); empty before the handshake, and without TLS. */
  serverChain(): readonly Uint8Array[];
  /** Closes the connection and all its streams at once. */
  close(): void;
}

/** Certificate and trusted roots of one connection. PEM texts. */
export interface DialCredentials {
  /** The client certificate and its key; absent: none is sent. */
  readonly identity?: { readonly key: string; readonly certificate: string };
  /** Trusted roots of the server's certificate, beside the roots of the transport; may be empty. */
  readonly roots: string;
}

/** The client. */
export interface ClientTransport {
  /** `host:port`, for logs and people. */
  readonly server: string;
  /** Makes a new connection, independent of earlier ones. Throws with a text for people if its settings cannot be read. */
  dial(credentials?: DialCredentials): ClientConnection;
}
