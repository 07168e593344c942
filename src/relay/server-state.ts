import type { AgentHello, AgentHolding } from '../model/agent.ts';
import type { ClusterId, ClusterName, FleetName } from '../model/ids.ts';
import type { CertificateAuthority, CertificateExpiry, ServerRoots } from '../ports/certificate-authority.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { TokenGenerations } from '../ports/token-generations.ts';
import type { ServerTransport, StreamEnd } from '../ports/transport.ts';
import type { RelayLimits } from './limits.ts';
import type { Link } from './link.ts';
import type { AgentCertificate, AgentListener, AgentSession } from './session.ts';
import type { TransferSender } from './transfer-sender.ts';
import type { Frame } from './wire/frame.ts';
import type { PeerLimits } from './wire/hello.ts';

/** What the server's end needs of the world. */
export interface RelayServerDeps {
  readonly transport: ServerTransport;
  readonly clock: Clock;
  readonly log: Log;
  /** Issues certificates to agents; absent: nobody can enrol here. */
  readonly authority?: CertificateAuthority;
  /** Which tokens count; absent: none was ever renewed. */
  readonly generations?: TokenGenerations;
  /** What agents are told of roots; absent: nothing. */
  readonly roots?: ServerRoots;
  /** For metrics. */
  readonly expiries?: () => readonly CertificateExpiry[];
}

/**
 * What opens a stream. `mtls`: a client certificate. `tls`: the cluster's token, or a certificate where the server issues
 * them. `insecure`: the token, which may be left out; a wrong one is still refused.
 */
export type DoorMode = 'mtls' | 'tls' | 'insecure';

/** Settings of the server's end. */
export interface RelayServerOptions {
  /** Relay secrets that tokens may be derived from; more than one while a secret is being replaced. */
  readonly tokens: readonly Uint8Array[];
  /** `tls` if left out. */
  readonly mode?: DoorMode;
  /** One token for all clusters: it enrols a name that is not bound, and opens no stream. */
  readonly sharedToken?: string;
  /** The fleet that is served; told to every agent. */
  readonly fleet: FleetName;
  /** Of this program. */
  readonly version: string;
  readonly capabilities?: readonly string[];
  readonly limits?: Partial<RelayLimits>;
}

/** Counters since the start, for metrics; `connectedClusters` and `streams` are of this moment. */
export interface RelayServerStats {
  readonly connectedClusters: number;
  /** Which streams of a cluster are up; a cluster without any is not here. */
  readonly clients: readonly {
    readonly cluster: ClusterName;
    readonly push: boolean;
    readonly pull: boolean;
    /** Its newest client certificate that was shown or issued here: milliseconds since 1970. */
    readonly certificate?: { readonly issuedAt: number; readonly expiresAt: number };
  }[];
  readonly streams: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly outputsAccepted: number;
  readonly outputsRejected: number;
  readonly inputDeltas: number;
  readonly results: number;
  /** Tokens that were wrong, or are not the newest, on streams and in registrations. */
  readonly wrongTokens: number;
  /** Questions for certificates by outcome: `Issued`, `Renewed`, or the constant word of the refusal. */
  readonly registrations: Readonly<Record<string, number>>;
  /** Certificates of the server, and when they end. */
  readonly certificates: readonly CertificateExpiry[];
  /** Streams that have ended, by reason: constant words, never a peer's own (`Closed` stands for all of those). */
  readonly ended: Readonly<Record<string, number>>;
}

/** An admitted Pull stream. */
export interface PullStream {
  readonly hello: AgentHello;
  readonly link: Link;
  readonly sender: TransferSender;
  readonly session: AgentSession;
  /** That opened it. */
  readonly certificate: AgentCertificate | undefined;
  /** Resolves true when the agent has said what it holds, false if the stream ended first. */
  readonly established: PromiseWithResolvers<boolean>;
  phase: 'greeting' | 'established' | 'gone';
  /** What the agent has last said that it holds. */
  holding: AgentHolding | undefined;
  /** The holding that the agent says after a rejection, until the one who sent the delta has seen it. */
  owedHolding: PromiseWithResolvers<AgentHolding | undefined> | undefined;
  /** That holding has not begun to arrive. */
  holdingDue: boolean;
  /** The send that is under way. */
  sending: Promise<unknown> | undefined;
}

/** What is known of one cluster's streams. */
export interface ClusterSlot {
  readonly cluster: ClusterName;
  /** Open at the transport, whatever their state. */
  streams: number;
  pull: PullStream | undefined;
  push: Link | undefined;
  /** Its newest certificate, if that was issued over one of these streams' connections. */
  renewed: { readonly clusterId: ClusterId; readonly issuedAt: number; readonly expiresAt: number } | undefined;
}

/** The one mutable state of a relay server. */
export interface ServerState {
  readonly deps: RelayServerDeps;
  readonly options: RelayServerOptions;
  readonly limits: RelayLimits;
  readonly listener: AgentListener;
  readonly slots: Map<ClusterName, ClusterSlot>;
  readonly counts: {
    bytesIn: number;
    bytesOut: number;
    outputsAccepted: number;
    outputsRejected: number;
    inputDeltas: number;
    results: number;
    wrongTokens: number;
  };
  readonly ended: Map<string, number>;
  readonly registrations: Map<string, number>;
  /** When a line about a reason and a caller was last logged, monotonic. */
  readonly logged: Map<string, number>;
  /** Those with a wrong token who are kept waiting. */
  kept: number;
  draining: boolean;
}

/** A stream whose hello has been read and checked, but not yet judged by the listener. */
export interface Greeted {
  readonly state: ServerState;
  readonly slot: ClusterSlot;
  readonly link: Link;
  readonly hello: AgentHello;
  /** That opened the stream. */
  readonly certificate: AgentCertificate | undefined;
  readonly peerLimits: PeerLimits;
  readonly protocol: number;
  /** Who gets the frames from now on. */
  readonly onFrame: (handler: (frame: Frame) => void) => void;
}

const LOG_EVERY_MS = 60_000;
const LOG_KEYS = 1000;

/**
 * Counts the end of a stream and logs it: once a minute for a reason and a caller, so that a loop outside fills no disk.
 * `caller` is a cluster once its token was found right, else an address.
 */
export function noteEnd(
  state: ServerState,
  end: StreamEnd,
  caller: string,
  data: Readonly<Record<string, unknown>>,
): void {
  // What a peer says in a goodbye is its own word: it must not make ever new counters.
  const reason = end.code === 'done' ? 'Closed' : end.reason;
  state.ended.set(reason, (state.ended.get(reason) ?? 0) + 1);
  const { clock, log } = state.deps;
  const now = clock.monotonic();
  const key = `${reason} ${caller}`;
  const last = state.logged.get(key);
  if (last !== undefined && now - last < LOG_EVERY_MS) return;
  if (state.logged.size >= LOG_KEYS) state.logged.clear();
  state.logged.set(key, now);
  const line = { reason: end.reason, detail: end.message, ...data };
  if (end.code === 'done' || end.code === 'unavailable') log.info('relay: a stream has ended', line);
  else log.warn('relay: a stream has ended', line);
}
