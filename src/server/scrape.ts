import type { FleetView } from './api.ts';

/** What is shown at one scrape. */
export interface Scrape {
  readonly fleet: FleetView;
  readonly relay: RelayView;
  readonly replica: ReplicaFigures;
  readonly store: StoreFigures;
}

/** The relay at the moment of asking; the figures count from the start of the process. */
export interface RelayView {
  readonly clients: readonly RelayClientView[];
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly outputsAccepted: number;
  readonly outputsRejected: number;
  readonly inputDeltas: number;
  readonly results: number;
  readonly wrongTokens: number;
  /** Questions for client certificates, by outcome. */
  readonly registrations: Readonly<Record<string, number>>;
  /** When the server's own certificates end: milliseconds since 1970. */
  readonly certificates: readonly { readonly what: string; readonly expiresAt: number }[];
  /** Streams that have ended, by reason. */
  readonly ended: Readonly<Record<string, number>>;
}

/** The streams of one agent. */
export interface RelayClientView {
  readonly cluster: string;
  readonly push: boolean;
  readonly pull: boolean;
  /** The newest client certificate that was seen or issued here: milliseconds since 1970; absent: there is none. */
  readonly certificate?: { readonly issuedAt: number; readonly expiresAt: number };
}

/** What this server is among the servers of its fleet, and what it keeps for itself. */
export interface ReplicaFigures {
  readonly leads: boolean;
  /** Why nothing new is admitted or sent; empty if it is. */
  readonly trouble: string;
  readonly admitted: { readonly epoch: number; readonly sequence: number };
  /** When this server took up what is admitted now: milliseconds since 1970. */
  readonly admittedAt: number;
  /** Servers that have given a sign of life lately, this one among them. */
  readonly alive: number;
  /** Clusters whose input snapshot is here. */
  readonly snapshots: { has(cluster: string): boolean };
  /** Removals that wait for a person, by the constant word of the guard. */
  readonly heldByGuard: ReadonlyMap<string, number>;
  /** Removals that were approved, and of these those that have happened; since the start of the process. */
  readonly approvals: { readonly granted: number; readonly used: number };
}

/** What became of the store; the figures count from the start of the process. */
export interface StoreFigures {
  /** It answers, as far as was last seen. */
  readonly up: boolean;
  /** Batches that were written. */
  readonly writes: number;
  /** Batches that were not, by constant word; `Conflict`: another process has written first. */
  readonly errors: ReadonlyMap<string, number>;
  /** Records that the store had lost and were written to it again. */
  readonly refilled: number;
}
