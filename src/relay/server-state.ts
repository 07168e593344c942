import type { HoldingHead } from '../../generated/relay_pb.ts';
import { type AgentHello, KEEPS_KINDS, TAKES_SUSPENDED } from '../model/agent/agent.ts';
import { type ClusterId, type ClusterName, type Digest, type FleetName, parseClusterName } from '../model/fleet/ids.ts';
import type { RelayTls } from '../model/fleet/relay-config.ts';
import { createBudget, createLineLimit, type Rate } from '../model/limits/rate-limit.ts';
import { unreachable } from '../model/values/result.ts';
import type { CertificateAuthority, CertificateExpiry, ServerRoots } from '../ports/certificate-authority.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { ServerTransport, StreamEnd } from '../ports/transport.ts';
import { addressOfPeer } from './caller.ts';
import { DEFAULT_LIMITS, type RelayLimits } from './limits.ts';
import type { Link } from './link.ts';
import type {
  AgentCertificate,
  AgentListener,
  AgentSession,
  HelloDecision,
  RelayRefusal,
  ReportedHolding,
} from './session.ts';
import type { Transfers } from './transfer.ts';
import { createTransferMemory } from './transfer-memory.ts';
import type { Acceptances } from './trust/acceptances.ts';
import type { RevokedCertificates } from './trust/revoked-certificates.ts';
import type { StepTags } from './trust/step-tags.ts';
import type { TokenGenerations } from './trust/tokens.ts';
import type { UsedTokens } from './trust/used-tokens.ts';
import { type Frame, type FrameInit, limitsInit, type PeerLimits } from './wire/frames.ts';
import { digestBytes } from './wire/scalars.ts';

/** What the server's end needs. */
export interface RelayServerDeps {
  readonly transport: ServerTransport;
  readonly clock: Clock;
  readonly log: Log;
  /** Issues certificates to agents; absent: agents cannot enrol at this server. */
  readonly authority?: CertificateAuthority;
  readonly tags: StepTags;
  /** The current generation of the tokens of each cluster; absent: no token was ever renewed. */
  readonly generations?: TokenGenerations;
  /** Which single-use tokens were used; absent: no single-use token is valid. */
  readonly usedTokens?: UsedTokens;
  /** Which agents with the shared token a person has accepted; absent: none. */
  readonly acceptances?: Acceptances;
  /** The client certificates that were revoked; absent: none. */
  readonly revoked?: RevokedCertificates;
  /** The roots that agents are sent; absent: none. */
  readonly roots?: ServerRoots;
  /** For metrics. */
  readonly expiries?: () => readonly CertificateExpiry[];
}

/** Settings of the server's end. */
export interface RelayServerOptions {
  /** Relay secrets from which tokens may be derived; more than one during a rotation. */
  readonly tokens: readonly Uint8Array[];
  /**
   * What opens a stream. `mtls`: a client certificate. `tls` (default): the cluster's token, or a certificate where the server
   * issues them. `insecure`: a token or nothing; a wrong token is refused.
   */
  readonly mode?: RelayTls['mode'];
  /** One token for all clusters: it enrols a name that is not bound, and opens no stream. */
  readonly sharedToken?: string;
  /** The fleet of this server; sent to every agent. */
  readonly fleet: FleetName;
  /** Of this program. */
  readonly version: string;
  readonly limits?: Partial<RelayLimits>;
}

/** An admitted Pull stream. */
export interface PullStream {
  readonly hello: AgentHello;
  readonly link: Link;
  readonly transfers: Transfers;
  readonly session: AgentSession;
  /** The certificate that opened it. */
  readonly certificate: AgentCertificate | undefined;
  /** Resolves true when the agent has sent its holding, false if the stream ends first. */
  readonly established: PromiseWithResolvers<boolean>;
  phase: 'greeting' | 'established' | 'gone';
  /** The holding that the agent sends after it has refused a delta; undefined if none is due. */
  owedHolding: PromiseWithResolvers<ReportedHolding | undefined> | undefined;
  /** The owed holding has not begun to arrive. */
  holdingDue: boolean;
  /** The delta that is being sent. */
  sending: Promise<unknown> | undefined;
}

/** The streams of one cluster. */
export interface ClusterSlot {
  readonly cluster: ClusterName;
  /** Streams that the transport has open, in any state. */
  streams: number;
  pull: PullStream | undefined;
  push: Link | undefined;
  /** The newest certificate that this server issued while the cluster had streams. */
  renewed: { readonly clusterId: ClusterId; readonly issuedAt: number; readonly expiresAt: number } | undefined;
}

/** Counters since the start, for metrics. */
export function noCounts() {
  return {
    bytesIn: 0,
    bytesOut: 0,
    outputsAccepted: 0,
    outputsRejected: 0,
    inputDeltas: 0,
    /** Steps of inputs that were above a quota. */
    inputDeltasRefused: 0,
    results: 0,
    /** Tokens that were wrong or not the newest, on streams and in registrations. */
    wrongTokens: 0,
  };
}

/** The one mutable state of a relay server. */
export type ServerState = ReturnType<typeof createServerState>;

/** The state of a server without streams. */
export function createServerState(deps: RelayServerDeps, options: RelayServerOptions, listener: AgentListener) {
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  return {
    deps,
    options,
    listener,
    limits,
    memory: createTransferMemory({ clock: deps.clock, bytes: limits.sessionsBytes, patienceMs: limits.stallMs }),
    slots: new Map<ClusterName, ClusterSlot>(),
    counts: noCounts(),
    /** Ended streams by reason. */
    ended: new Map<string, number>(),
    /** Registrations by outcome. */
    registrations: new Map<string, number>(),
    /** By cluster. */
    ofClusters: {
      /** Streams that were opened. */
      streams: new Map<string, number>(),
      /** Bytes that were received on its streams. */
      bytesIn: new Map<string, number>(),
      /** Records of transfers, and frames, that were decoded. */
      decoded: new Map<string, number>(),
      /** Results of keys that were never sent. */
      unknownResults: new Map<string, number>(),
      /** Enrolments of a cluster that had enrolled before. */
      enrolledAgain: new Map<string, number>(),
    },
    /** What clusters may open and have decoded. They outlast the streams of a cluster. */
    budgets: {
      streams: createBudget(deps.clock.monotonic, limits.streams),
      decoding: createBudget(deps.clock.monotonic, limits.decoding),
    },
    /** Of the lines about ended streams, by reason and caller. */
    isLineDue: createLineLimit(deps.clock.monotonic, ENDS_LOGGED),
    /** Of those about callers that are not authenticated, by reason: they have as many addresses as they like. */
    isStrangerLineDue: createLineLimit(deps.clock.monotonic, STRANGERS_LOGGED),
    /** Callers with a wrong token whose answer is delayed. */
    delayed: 0,
    draining: false,
  };
}

/** A stream with a checked hello, before the decision of the listener. */
export interface Greeted {
  readonly state: ServerState;
  readonly slot: ClusterSlot;
  readonly link: Link;
  readonly hello: AgentHello;
  /** On Pull: the inventory that the hello claims. */
  readonly claim: HoldingHead | undefined;
  /** The certificate that opened the stream. */
  readonly certificate: AgentCertificate | undefined;
  readonly peerLimits: PeerLimits;
  readonly protocol: number;
  /** Sets the receiver of all further frames. */
  readonly onFrame: (handler: (frame: Frame) => void) => void;
}

/** The answer to an admitted hello; `inputDigest` on Push, `holdingKnown` on Pull. */
export function welcomeFrame(
  { state, protocol }: Greeted,
  { inputDigest, ...known }: { readonly inputDigest?: Digest; readonly holdingKnown?: boolean },
): FrameInit {
  const { fleet, version } = state.options;
  const offered = { capabilities: [KEEPS_KINDS, TAKES_SUSPENDED], limits: limitsInit(state.limits) };
  const input = inputDigest === undefined ? {} : { inputDigest: digestBytes(inputDigest) };
  return { case: 'welcome', value: { protocol, fleet, version, ...offered, ...input, ...known } };
}

/** The end of the stream of an agent that is not admitted. */
export function endOfDecision({
  type,
  reason,
  message,
}: Exclude<HelloDecision, { readonly type: 'admitted' }>): StreamEnd {
  const codes = { retry: 'unavailable', refused: 'refused', unproven: 'unauthenticated' } as const;
  return { code: codes[type], reason, message };
}

/** Names that a counter has at most: where tokens prove nothing, a caller can invent names of clusters. */
const MOST_NAMES = 10_000;

/** Counts events by their name. */
export function count(counts: Map<string, number>, name: string, number = 1): void {
  if (counts.size >= MOST_NAMES && !counts.has(name)) return;
  counts.set(name, (counts.get(name) ?? 0) + number);
}

/** Reasons for which an agent ends a stream although nothing is wrong with it: it stops, or the connection is lost. */
const ENDS_OF_CONNECTIONS: readonly string[] = [
  'Closed',
  'Stopping',
  'Reconnecting',
  'ConnectionLost',
  'NoAnswer',
  'NoWelcome',
  'PeerSilent',
  'PeerStalled',
  'TransferStalled',
];
/** Reasons that are told with the code `unavailable`, although trying again does not help by itself. */
const STANDING: readonly string[] = ['RateLimited', 'ObjectTooLarge', 'Internal'];

/** Whether a person may have to do something about the reason for the end of a stream or registration. */
function isRefusal({ code, reason }: StreamEnd): boolean {
  switch (code) {
    case 'refused':
      // An agent with a connection token asks once, and shows its token on its streams then.
      return reason !== 'NotOffered';
    case 'invalid':
      // An agent that ends before it greets looks like one that says nothing: its connection is lost.
      return reason !== 'NoHello';
    case 'unauthenticated':
    case 'exhausted':
      return true;
    case 'unavailable':
      return STANDING.includes(reason);
    case 'done':
      return !ENDS_OF_CONNECTIONS.includes(reason);
    case 'lost':
      return false;
    default:
      return unreachable(code);
  }
}

/** Tells the listener of a refusal, if the caller has given the name of a cluster. */
export function noteRefusal(
  { listener }: ServerState,
  end: StreamEnd,
  caller: Pick<RelayRefusal, 'isProven' | 'wasConnected'> & { readonly claimed: string; readonly peer: string },
): void {
  const { claimed, peer, ...known } = caller;
  const cluster = parseClusterName(claimed);
  if (!cluster.ok || !isRefusal(end)) return;
  // The agent chooses the reason of a goodbye, and must not create new counters: it is in the message.
  const isGoodbye = end.code === 'done';
  const reason = isGoodbye ? 'EndedByAgent' : end.reason;
  const message = isGoodbye ? `${end.reason}: ${end.message}` : end.message;
  listener.refused({ ...known, cluster: cluster.value, reason, message, address: addressOfPeer(peer) });
}

/** Lines about ended streams of one reason and caller: one a minute. */
const ENDS_LOGGED: Rate = { burst: 1, perSecond: 1 / 60 };

/** Lines about ended streams of one reason, of all callers that are not authenticated. */
const STRANGERS_LOGGED: Rate = { burst: 100, perSecond: 1 / 6 };

/**
 * Counts the end of a stream and logs it, at most once a minute per reason and caller, so that a looping peer does not fill
 * the disk; a line says how many were left out before it. `caller` is an authenticated cluster, which `data` has too,
 * else an address; of all addresses together the lines are limited as well.
 */
export function noteEnd(
  state: ServerState,
  end: StreamEnd,
  caller: string,
  data: Readonly<Record<string, unknown>>,
): void {
  // The peer chooses the reason of a goodbye, and must not create new counters.
  const reason = end.code === 'done' ? 'Closed' : end.reason;
  count(state.ended, reason);
  const { log } = state.deps;
  const dueOfCaller = state.isLineDue(`${reason} ${caller}`);
  if (dueOfCaller === undefined) return;
  const due = 'cluster' in data ? dueOfCaller : state.isStrangerLineDue(reason, dueOfCaller.leftOut);
  if (due === undefined) return;
  const line = { reason: end.reason, detail: end.message, ...data, ...due };
  if (end.code === 'done' || end.code === 'unavailable') log.info('relay: a stream has ended', line);
  else log.warn('relay: a stream has ended', line);
}
