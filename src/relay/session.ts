import type {
  AgentHello,
  AgentHolding,
  HoldingClaim,
  InputDelta,
  InventoryEntry,
  KindState,
  LiveObject,
  ObjectResult,
} from '../model/agent/agent.ts';
import type { AgentSettings } from '../model/agent/agent-settings.ts';
import type { ClusterId, ClusterName, Digest, FleetName } from '../model/fleet/ids.ts';
import type { SequencedDelta } from '../model/fleet/output.ts';
import type { Excess } from '../model/limits/quotas.ts';
import type { TagProof } from './trust/step-tags.ts';

/**
 * The server's decision about a hello or a registration. `retry`: it cannot decide yet, because it is starting; the agent
 * backs off and reconnects. `refused`: the agent reports the reason and retries slowly. `unproven`: its certificate or token
 * is no longer valid; the agent enrols again. No decision makes an agent delete objects.
 */
export type HelloDecision =
  | { readonly type: 'admitted' }
  | { readonly type: 'unproven' | 'retry' | 'refused'; readonly reason: string; readonly message: string };

/** The server's decision about a registration. `registration`: the number to write into the certificate. */
export type RegistrationDecision =
  | {
      readonly type: 'admitted';
      readonly registration?: number;
      /** The name belongs to this cluster id already: its agent has enrolled before. */
      readonly isBound?: true;
    }
  | Exclude<HelloDecision, { readonly type: 'admitted' }>;

/** A client certificate that the server has verified. */
export interface AgentCertificate {
  /** Milliseconds since 1970, in whole seconds. */
  readonly issuedAt: number;
  readonly expiresAt: number;
  /** Lower-case hex. */
  readonly serial: string;
  /** The number of the registration that it was issued for; absent: it contains none. */
  readonly registration?: number;
}

/** An authenticated request for a client certificate. */
export interface RegistrationRequest {
  readonly cluster: ClusterName;
  readonly clusterId: ClusterId;
  /** An enrolment token of the cluster, the shared token of all clusters, or a certificate for this cluster and id. */
  readonly proof: 'token' | 'shared' | 'certificate';
  /** sha256 of the key that the certificate is for (SubjectPublicKeyInfo), in hex. */
  readonly key: string;
  /** The certificate of the proof `certificate`. */
  readonly certificate?: AgentCertificate;
}

/** An inventory as its agent reports it, and what its tag proves of that. */
export interface ReportedHolding extends AgentHolding {
  readonly proof: TagProof;
  /** The entries are those that the server remembers. */
  readonly isKnown: boolean;
}

/** The outcome of sending a delta. `accepted` means verified and durable at the agent, not applied. */
export type SendOutcome =
  | { readonly type: 'accepted' }
  /** The delta does not start from the holding of the agent, or fails its checks. Without a holding the session has ended. */
  | { readonly type: 'rejected'; readonly reason: string; readonly message: string; readonly holding?: ReportedHolding }
  | { readonly type: 'disconnected' };

/** One connected agent, from its pull hello to the end of its pull stream. */
export interface AgentSession {
  readonly hello: AgentHello;
  /** The client certificate that opened the stream; absent: a token or nothing did. */
  readonly certificate?: AgentCertificate;
  /**
   * Sends one delta with its tag, and waits for the answer. One at a time (a programming error otherwise). `provesInventory`:
   * servers of the fleet have sent every object that `delta.to` covers, so the next holding may prove it.
   */
  send(delta: SequencedDelta, provesInventory?: boolean): Promise<SendOutcome>;
  /** Sends the settings of the fleet's policy, if the agent has the capability. */
  settings(settings: AgentSettings): void;
  /** Pings the agent; false: it did not answer in time. */
  probe(): Promise<boolean>;
  /** Ends the session; the agent reconnects soon (`drain`), or slowly and reports the reason (`refused`). */
  close(kind: 'drain' | 'refused', reason: string, message: string): void;
}

/** A stream or a registration that this end or the agent has refused, or that ended because one of them broke a rule. */
export interface RelayRefusal {
  /** The name that the caller gave. */
  readonly cluster: ClusterName;
  /** Constant UpperCamelCase word, chosen by the server; `EndedByAgent`: the message begins with the word of the agent. */
  readonly reason: string;
  readonly message: string;
  /** Of the caller, without the port. */
  readonly address: string;
  /** A token or a certificate of the cluster proves the name. */
  readonly isProven: boolean;
  /** The agent was connected, and its stream has ended for this reason. */
  readonly wasConnected: boolean;
}

/** The owner of a relay server. The calls about one cluster are in order, and must not throw. */
export interface AgentListener {
  /** Awaited before `admit` of a Pull stream. False: the server cannot admit an agent yet, which backs off and reconnects. */
  caughtUp(): Promise<boolean>;
  /** Decides about the hello of each stream, after the token or certificate is verified for the cluster and its id. */
  admit(hello: AgentHello, certificate?: AgentCertificate): HelloDecision;
  /** Decides about a client certificate, after the proof and the request are verified. */
  mayRegister(request: RegistrationRequest): RegistrationDecision;
  /** A client certificate was issued for a registration that {@link mayRegister} has admitted. */
  issued(request: RegistrationRequest, issued: AgentCertificate): void;
  /** It was issued for a token, although the name is bound: its agent has lost its certificate, or another holds its token. */
  enrolledAgain(request: RegistrationRequest, serial: string): void;
  /**
   * The inventory of the cluster as the server remembers it, if it has exactly this digest: then it is what the agent would
   * send. Undefined: it does not.
   */
  remembered(cluster: ClusterName, inventory: Digest): readonly InventoryEntry[] | undefined;
  /** The pull stream is established, and the holding of the agent is known. */
  connected(session: AgentSession, holding: ReportedHolding): void;
  /** The pull stream has ended. */
  disconnected(session: AgentSession, reason: string): void;
  /** A caller was refused, or its stream has ended for a reason that a person may have to end. */
  refused(refusal: RelayRefusal): void;
  /** The highest epoch (milliseconds since 1970) that the fleet is known to have begun. */
  latestEpoch(): number;
  /** Returns how many of the results are about keys that the cluster was never sent, and are dropped. */
  results(cluster: ClusterName, results: readonly ObjectResult[]): number;
  /**
   * Keys and digests of the cluster's input snapshot at the server; empty if it has none. A Push stream begins: the rest
   * of a step that an earlier stream sent is dropped.
   */
  inputDigests(cluster: ClusterName): readonly (readonly [string, Digest])[];
  /** A step was refused because it leads above a quota: the snapshot stays as it was. */
  aboveQuota(cluster: ClusterName, excess: Excess): void;
  /**
   * A verified step of the input snapshot, from the digest of the snapshot at the server. One at a time for each cluster: `taken`
   * is called when all of it is staged, or with what was above a quota, and then it was refused. Never called if the streams of
   * the cluster end before.
   */
  input(cluster: ClusterName, delta: InputDelta, taken: (excess?: Excess) => void): void;
}

/** The owner of a relay client. */
export interface ServerListener {
  /** The current holding of the agent; read where the server does not know it. */
  holding(): AgentHolding;
  /** What the hello says of the holding; read at each connect. */
  claim(): HoldingClaim;
  /** The fleet of the objects that the agent holds; undefined if it holds none. The client ends a link to another fleet. */
  fleet(): FleetName | undefined;
  /** The version of the agent's API server, as `v1.36.3`; read at each connect. Undefined: it is not known, or there is none. */
  kubernetesVersion(): string | undefined;
  /**
   * A delta from a server of this fleet; its objects have the digests that they name. Resolves when it is verified against
   * the inventory and durable, or with the reason for refusing it.
   */
  delta(
    delta: SequencedDelta,
    fleet: FleetName,
  ): Promise<
    { readonly accepted: true } | { readonly accepted: false; readonly reason: string; readonly message: string }
  >;
  /** Settings of the fleet's policy; after each connect and at each change. */
  settings(settings: AgentSettings): void;
  /** The server has the input up to this digest. */
  inputAcknowledged(digest: Digest): void;
  connection(state: ConnectionState): void;
}

/** The state of the link to the server, for people and health. */
export type ConnectionState =
  | { readonly type: 'connecting' }
  | { readonly type: 'connected'; readonly server: string; readonly serverVersion: string }
  | { readonly type: 'waiting'; readonly reason: string; readonly message: string; readonly retryInMs: number };

/** The agent's end of the relay. Connects and reconnects with back-off until it is stopped. */
export interface RelayClient {
  start(listener: ServerListener): void;
  /**
   * Publishes the complete input snapshot. The client computes and sends the difference, and merges newer snapshots while it
   * sends. `changed` names every key that may differ from the snapshot published before; without it all keys are compared.
   */
  publishInput(snapshot: InputSnapshot, changed?: ReadonlySet<string>): void;
  /** Queues results until the server acknowledges them. A newer result of a key replaces a queued one. */
  report(results: readonly ObjectResult[]): void;
  /** Ends the link and opens it again, so that a hello tells the server what the agent holds. Does nothing without a link. */
  reconnect(): void;
  stop(): Promise<void>;
}

/**
 * All live objects of a cluster by key, and the state of each kind. The objects and the list of kinds are immutable. The
 * owner may change the map, if it publishes it again in the same turn. So the client keeps no copy of the map: a step holds
 * the objects that it sends, and the client keeps digests of the objects at the server.
 */
export interface InputSnapshot {
  readonly objects: ReadonlyMap<string, LiveObject>;
  readonly kinds: readonly KindState[];
}

/** The server's end of the relay. */
export interface RelayServer {
  /** Identifies the key that makes tags now: see {@link TagProof}. */
  readonly signer: string;
  /** Starts listening; resolves with the bound address. */
  start(listener: AgentListener): Promise<{ readonly host: string; readonly port: number }>;
  /** Asks every agent to reconnect elsewhere, waits a bounded time for deltas in flight, and closes. */
  drain(): Promise<void>;
}
