import type { FleetName } from '../../model/ids.ts';
import type { ClientConnection, StreamEnd, StreamMetadata } from '../../ports/transport.ts';

/** A connection, and what each stream on it says of who opens it. */
export interface TrustedConnection {
  readonly connection: ClientConnection;
  readonly metadata: StreamMetadata;
  /** The certificate (PEM) that is shown on it, if this agent has enrolled for it. */
  readonly shown?: string;
}

/** How the agent's end comes by what it proves itself with, and whom it believes. */
export interface ClientTrust {
  /**
   * Dials; enrols first if that is due. Never rejects: without a connection it gives the reason, and is to be asked again
   * later, or at once if the signal aborts. `fleet`: the one that what the agent holds belongs to.
   */
  open(fleet: FleetName | undefined, stopping: AbortSignal): Promise<TrustedConnection | StreamEnd>;
  /** The link over this connection is up: what has to be renewed is renewed over it, until the signal. */
  keep(opened: TrustedConnection, over: AbortSignal): void;
  /** The server of this connection has said which roots its certificate may be signed by. */
  takeRoots(opened: TrustedConnection, roots: string): void;
  /** How the link over this connection ended. */
  ended(opened: TrustedConnection, end: StreamEnd): void;
  /** When the client certificate runs out, in milliseconds since 1970; undefined: there is none. */
  expiresAt(): number | undefined;
  /** Resolves when nothing is being saved. */
  settled(): Promise<void>;
}

/** The end of an attempt whose settings (a token, a file) cannot be read; `error` must hold no secret. */
export function badSettings(error: unknown): StreamEnd {
  return { code: 'lost', reason: 'BadSettings', message: error instanceof Error ? error.message : 'dialling failed' };
}

/** What a stream says of the cluster, and of the token where there is one. */
export function streamMetadata(cluster: string, token: string): StreamMetadata {
  const shown = token.trim();
  return { 'fleetrelay-cluster': cluster, ...(shown === '' ? {} : { authorization: `Bearer ${shown}` }) };
}
