import type { AgentHello } from '../../model/agent/agent.ts';
import { type AdmissionPosition, comparePositions } from '../../model/fleet/output.ts';
import type { Receipt } from '../../model/fleet/receipt.ts';
import { repairCommand } from '../../model/text/messages.ts';
import type { AgentSession, HelloDecision, ReportedHolding } from '../../relay/session.ts';

/** The rights and duties of this process as one server of its fleet: the only one, or one of several that share a store. */
export interface Replica {
  /** It judges removals, admits revisions, writes status and takes commands. */
  leads(): boolean;
  /** The position of the staged admission, from which every delta is computed. */
  admitted(): AdmissionPosition;
  /** Agents may connect: the inputs of their outputs are complete. */
  mayStart(): boolean;
  /** What the sources declared first is committed: until then the engine answers as if they declared nothing. Stays true. */
  hasCommitted(): boolean;
  /** Every source has been read and is complete. */
  knowsAll(): boolean;
  /** Whether what is committed of a source was read since this process leads: it is not of an older admission. */
  hasReadAnew(source: string): boolean;
  /** Why a cluster is sent nothing now; undefined: it is; empty: it will be in a moment. */
  obstacle(cluster: string): string | undefined;
  /**
   * Resolves with true when this replica has read everything that other replicas wrote before the call, or if the store does
   * not answer; with false if reading takes longer than an agent waits for an answer.
   */
  caughtUp(): Promise<boolean>;
  /** What another replica means for this hello; undefined: nothing. */
  judge(hello: AgentHello): HelloDecision | undefined;
  /** An agent is connected. Called before its inventory is noted. */
  connected(session: AgentSession, holding: ReportedHolding): void;
  /** Its session is over. Called after that was noted. */
  disconnected(session: AgentSession): void;
  /** Ends the lease of another replica for the cluster: its agent has to connect again. */
  revoke(cluster: string): Receipt;
  /** A person has accepted this revision of a source: tells when a server that starts admits it by itself. */
  accepted(source: string, revision: string): Receipt;
  /** The revision that the source was admitted at last. */
  lastAdmitted(source: string): string | undefined;
  /** Whether another replica of this id lives. */
  isAlive(id: string): boolean;
  view(): ReplicaView;
  /** Called before agents can connect. Rejects if the store does not answer. */
  start(): Promise<void>;
  /** Releases everything that other replicas can take over. */
  stop(): Promise<void>;
}

/** For people. */
export interface ReplicaView {
  readonly id: string;
  readonly leads: boolean;
  /** Null: it is not known. `address`: HOST:PORT or URL of its HTTP; null: it advertises none. */
  readonly leader: { readonly id: string; readonly address: string | null } | null;
  readonly admitted: AdmissionPosition;
  /** Number of servers of the fleet that live, this one included. */
  readonly alive: number;
  /** Why this replica admits or sends nothing new; empty: it does. */
  readonly problem: string;
}

/**
 * The admission that an agent states, if its tag proves that a server of the fleet has sent it: later admissions must come
 * after it, whatever was lost. Otherwise undefined: an agent must not move a number that all clusters depend on.
 */
export function provenAdmission({ admitted, proof }: ReportedHolding): AdmissionPosition | undefined {
  return proof.type === 'nothing' ? undefined : admitted;
}

/** Why an agent that states a later admission than this server's is sent nothing; undefined: it states none. */
export function behindAgent(
  cluster: string,
  ours: AdmissionPosition,
  agents: AdmissionPosition | undefined,
): string | undefined {
  if (agents === undefined || comparePositions(ours, agents) >= 0) return undefined;
  return `ServerBehind: what the cluster holds was computed from the admission ${displayAdmission(agents)}, as its agent states, and this server is at ${displayAdmission(ours)}; it sends the cluster nothing until it has caught up. A server that starts admits in a new epoch once it has read every source. If no server has made that admission, repair the inventory: ${repairCommand(cluster)}`;
}

function displayAdmission({ epoch, sequence }: AdmissionPosition): string {
  return `(${epoch}, ${sequence})`;
}
