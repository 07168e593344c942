import type { AgentHello, AgentHolding, InputDelta, KindState, LiveObject, ObjectResult } from '../model/agent.ts';
import type { AgentSettings } from '../model/agent-settings.ts';
import type { ClusterId, ClusterName, Digest, FleetName } from '../model/ids.ts';
import type { SequencedDelta } from '../model/output.ts';

/**
 * What the server says to a hello or a registration. `retry`: it does not know yet (still starting); the agent backs off and
 * comes again. `refused`: it knows, and no; the agent says why and keeps trying slowly. `unproven`: what it has shown does
 * not count any more; the agent enrols again. None of them ever makes an agent delete anything.
 */
export type Admission =
  | { readonly type: 'admitted' }
  | { readonly type: 'unproven'; readonly reason: string; readonly message: string }
  | { readonly type: 'retry'; readonly reason: string; readonly message: string }
  | { readonly type: 'refused'; readonly reason: string; readonly message: string };

/** What the server says to a registration. `registration`: the number of the one that the certificate is to be for. */
export type RegistrationAdmission =
  | { readonly type: 'admitted'; readonly registration?: number }
  | Exclude<Admission, { readonly type: 'admitted' }>;

/** What is known of the certificate that an agent has shown, and that was found right. */
export interface AgentCertificate {
  /** Milliseconds since 1970, in whole seconds. */
  readonly issuedAt: number;
  readonly expiresAt: number;
  /** Lower-case hex. */
  readonly serial: string;
  /** The number of the registration that a relay server has issued it for; absent: it says none. */
  readonly registration?: number;
}

/** Somebody who asks for a client certificate, and has proven itself. */
export interface RegistrationRequest {
  readonly cluster: ClusterName;
  readonly clusterId: ClusterId;
  /** The cluster's own token, the token that all clusters share, or a certificate for this cluster and id. */
  readonly proof: 'token' | 'shared' | 'certificate';
  /** The certificate, if it was that. */
  readonly certificate?: AgentCertificate;
}

/** What became of sending a delta. `accepted` means verified and durable at the agent, not applied. */
export type SendOutcome =
  | { readonly type: 'accepted' }
  /** The agent holds something else than the delta starts from, or the delta failed its checks. */
  | { readonly type: 'rejected'; readonly reason: string; readonly message: string; readonly holding: AgentHolding }
  | { readonly type: 'disconnected' };

/** One connected agent, from its pull hello to the end of its pull stream. */
export interface AgentSession {
  readonly hello: AgentHello;
  /** Sends one delta and waits for the answer. Never more than one at a time (a programming error otherwise). */
  send(delta: SequencedDelta): Promise<SendOutcome>;
  /** Says what the fleet's policy says now; an agent that has not stated that it takes this is told nothing. */
  settings(settings: AgentSettings): void;
  /** Asks the agent for a sign of life; false: it gave none in time. */
  probe(): Promise<boolean>;
  /** Ends the session; the agent reconnects (`drain`) or is told why not (`refused`). */
  close(kind: 'drain' | 'refused', reason: string, message: string): void;
}

/** What the relay server asks and tells its owner; calls of one cluster come in order and must not throw. */
export interface AgentListener {
  /** Judged at each stream's hello, after the token or the certificate was found right for the cluster (and its id). */
  admit(hello: AgentHello, certificate?: AgentCertificate): Admission;
  /** May this agent have a client certificate? Judged after its proof and its request were found right. */
  mayRegister(request: RegistrationRequest): RegistrationAdmission;
  /** The pull stream is up and the agent has said what it holds. */
  connected(session: AgentSession, holding: AgentHolding): void;
  /** The pull stream has ended. */
  disconnected(session: AgentSession, reason: string): void;
  /** The pull stream of an admitted agent has ended before it was up, because the agent broke the protocol. */
  broken(cluster: ClusterName, reason: string): void;
  /** The highest epoch (milliseconds since 1970) that the fleet is known to have begun. */
  latestEpoch(): number;
  results(cluster: ClusterName, results: readonly ObjectResult[]): void;
  /** What of the cluster's input snapshot is here: (key, digest) pairs; empty if nothing. */
  heldInput(cluster: ClusterName): ReadonlyMap<string, Digest>;
  /** A verified step of the input snapshot; its `from` is the digest of what is held. */
  input(cluster: ClusterName, delta: InputDelta): void;
}

/** What the relay client asks and tells the agent. */
export interface ServerListener {
  /** What the agent holds at this moment; asked at each connect. */
  holding(): AgentHolding;
  /** The fleet that what it holds belongs to; undefined if it holds nothing. A server of another one is left. */
  fleet(): FleetName | undefined;
  /** A whole, checked delta from a server of this fleet. Resolves when it is durable, or with the reason for refusing it. */
  delta(
    delta: SequencedDelta,
    fleet: FleetName,
  ): Promise<
    { readonly accepted: true } | { readonly accepted: false; readonly reason: string; readonly message: string }
  >;
  /** What the fleet's policy says; after each connect and at each change. */
  settings(settings: AgentSettings): void;
  /** The server has the input up to this digest. */
  inputAcknowledged(digest: Digest): void;
  connection(state: ConnectionState): void;
}

/** For people and health: what the link to the server is doing. */
export type ConnectionState =
  | { readonly type: 'connecting' }
  | { readonly type: 'connected'; readonly server: string; readonly serverVersion: string }
  | { readonly type: 'waiting'; readonly reason: string; readonly message: string; readonly retryInMs: number };

/** The agent's end of the relay. Connects, resumes and backs off by itself until stopped. */
export interface RelayClient {
  start(listener: ServerListener): void;
  /**
   * States the whole input snapshot as it is now; the client works out and sends the difference, and merges while one is
   * under way. `changed` names every key that may differ from the snapshot stated before, so that working it out costs
   * what changed; without it everything is compared.
   */
  publishInput(snapshot: InputSnapshot, changed?: ReadonlySet<string>): void;
  /** Queues results; the newest per key wins while unsent, and none is lost over a reconnect. */
  report(results: readonly ObjectResult[]): void;
  stop(): Promise<void>;
}

/**
 * All live objects of a cluster by key, and the state of each kind. The objects and the list of kinds never change; the
 * map may, in the turn in which it is stated again with what changed in it. So the client keeps no copy of it: what is
 * under way holds the objects that it sends, and what it knows of the server is a map of digests of its own.
 */
export interface InputSnapshot {
  readonly objects: ReadonlyMap<string, LiveObject>;
  readonly kinds: readonly KindState[];
}

/** The server's end of the relay. */
export interface RelayServer {
  /** Starts listening; resolves with the bound address. */
  start(listener: AgentListener): Promise<{ readonly host: string; readonly port: number }>;
  /** Tells every agent to come again elsewhere, waits for what is in flight (bounded), and closes. */
  drain(): Promise<void>;
}
