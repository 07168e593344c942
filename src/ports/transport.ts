/**
 * How a stream ended, or is to be ended.
 * `done`: in good order. `unavailable`: come again soon. `refused`: come again, but nothing will change by itself.
 * `unauthenticated`: who called is not who it says. `invalid`: what was sent makes no sense. `exhausted`: too much.
 * `lost`: the connection broke, or nobody said why.
 */
export type EndCode = 'done' | 'unavailable' | 'refused' | 'unauthenticated' | 'invalid' | 'exhausted' | 'lost';

/** `reason` is a constant UpperCamelCase word, `message` a sentence for a person; neither holds a secret. */
export interface StreamEnd {
  readonly code: EndCode;
  readonly reason: string;
  readonly message: string;
}

/** Every transport carries messages of up to this many bytes, and refuses far larger ones by itself (`exhausted`). */
export const MAX_MESSAGE_BYTES = 260 * 1024;

/** The streams that exist. */
export type StreamMethod = 'Push' | 'Pull';

/** Lower-case names; values are printable ASCII. */
export type StreamMetadata = Readonly<Record<string, string>>;

/**
 * A duplex stream of messages: reliable, in order, each message whole. Both ends look the same.
 * Nothing here ever rejects: a stream that is over says so by its results and by `ended`.
 */
export interface MessageStream {
  /**
   * The next message, or undefined when no more will come. One read at a time. Not reading slows the peer down. When the
   * stream is over, what had arrived is still given first (unless the connection broke), and `ended` has resolved
   * before undefined is given; before that, undefined means that the peer has called `end`.
   */
  read(): Promise<Uint8Array | undefined>;
  /**
   * Hands over one message and resolves when the next may follow: true, or false if the stream is over. One write at a
   * time. A message that resolved may still be lost with the connection.
   */
  write(message: Uint8Array): Promise<boolean>;
  /**
   * Says that nothing more will be written, flushes what was, and gives the rest up. A server's reason reaches the peer;
   * a client's does not (it must be said in a message). Only the first call counts.
   */
  end(end: StreamEnd): void;
  /** Resolves once, when the stream is over for good: with the peer's reason if it gave one, else with one's own. */
  readonly ended: Promise<StreamEnd>;
}

/** A stream that a client has opened, at the server. */
export interface IncomingStream extends MessageStream {
  readonly method: StreamMethod;
  readonly metadata: StreamMetadata;
  /** Address of the peer, for logs. */
  readonly peer: string;
  /** The certificate (DER) that the peer has shown, checked against the roots and the time; absent: it has shown none. */
  readonly certificate?: Uint8Array;
}

/** One question that is answered by one message: a certificate request. */
export interface IncomingRegistration {
  /** The question, once it has arrived; undefined: none came. Before it is asked for, little of it is taken in. */
  read(): Promise<Uint8Array | undefined>;
  readonly metadata: StreamMetadata;
  readonly peer: string;
  readonly certificate?: Uint8Array;
}

/** The answer to a registration, or why there is none. */
export type RegistrationAnswer = { readonly response: Uint8Array } | { readonly refused: StreamEnd };

/** What a listening end hands over. */
export interface TransportListener {
  stream(stream: IncomingStream): void;
  /** Must not reject. */
  register(registration: IncomingRegistration): Promise<RegistrationAnswer>;
  /** The transport has turned a peer away by itself: a call of it was refused, or its connection closed. For logs and metrics. */
  turnedAway?(refusal: StreamEnd, peer: string): void;
}

/**
 * The listening end. It bounds the size of messages and metadata, the streams of a connection and the connections, and notices a dead
 * peer by itself within 30 s.
 */
export interface ServerTransport {
  /** Starts listening and resolves with the bound address; rejects if that cannot be done. */
  start(listener: TransportListener): Promise<{ readonly host: string; readonly port: number }>;
  /** Stops listening, ends what is still open after a short time to flush, and resolves when all of it is closed. */
  stop(): Promise<void>;
}

/** One connection; connecting happens with the first stream, and failing shows as the end of that stream (`lost`). */
export interface ClientConnection {
  open(method: StreamMethod, metadata: StreamMetadata): MessageStream;
  /** Asks for a certificate. Never rejects. */
  register(request: Uint8Array, metadata: StreamMetadata): Promise<RegistrationAnswer>;
  /** What the server has shown and was believed by (DER, its certificate first); empty before that, and without TLS. */
  serverChain(): readonly Uint8Array[];
  /** Ends everything on it at once. */
  close(): void;
}

/** What one connection shows, and whom it believes. PEM texts. */
export interface DialCredentials {
  /** The client certificate, and its key. Absent: none is shown. */
  readonly identity?: { readonly key: string; readonly certificate: string };
  /** Roots that the server's certificate may be signed by, beside those that the transport was given; may be empty. */
  readonly roots: string;
}

/** The dialling end. */
export interface ClientTransport {
  /** `host:port`, for logs and people. */
  readonly server: string;
  /** A connection of its own, sharing nothing with earlier ones. Throws if its settings cannot be read (with a clear text). */
  dial(credentials?: DialCredentials): ClientConnection;
}
