import type { IncomingCall, StreamEnd } from './transport.ts';

/** The streams of Envoy's protocols that are served: HDS and ADS. */
export type XdsMethod = 'health' | 'discovery';

/** Receives the streams of Envoys. */
export interface XdsListener {
  stream(method: XdsMethod, call: IncomingCall): void;
  /** Called when the transport itself has refused a call or closed a connection. For logs and metrics. */
  turnedAway(refusal: StreamEnd, peer: string): void;
}

/**
 * The server of Envoy's protocols. It limits the size of messages and metadata, the streams of a connection and the number of
 * connections, and detects a dead peer within 30 s.
 */
export interface XdsTransport {
  /** Starts to listen and resolves with the bound address; rejects if that fails. */
  start(listener: XdsListener): Promise<{ readonly host: string; readonly port: number }>;
  /** Stops to listen, ends open streams after a short time to flush, and resolves when all connections are closed. */
  stop(): Promise<void>;
}
