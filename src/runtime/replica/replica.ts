import type { AgentHello, AgentHolding } from '../../model/agent.ts';
import { type AdmissionPosition, comparePositions } from '../../model/output.ts';
import type { Admission, AgentSession } from '../../relay/session.ts';

/** What this process may do as one server of its fleet: the only one, or one of several that share a store. */
export interface Replica {
  /** It judges removals, admits revisions, writes status and takes commands. */
  leads(): boolean;
  /** Of what is staged: every delta is computed from it. */
  admitted(): AdmissionPosition;
  /** Agents may come: what the outputs are computed from is here. */
  mayStart(): boolean;
  /** Every source has been read and is whole. */
  knowsAll(): boolean;
  /** Why a cluster is sent nothing just now; undefined: it is; empty: it will be in a moment. */
  obstacle(cluster: string): string | undefined;
  /** What another replica has to do with this hello; undefined: nothing. */
  judge(hello: AgentHello): Admission | undefined;
  /** An agent is here, and has said what it holds. Comes before anything of that is noted. */
  connected(session: AgentSession, holding: AgentHolding): void;
  /** Its session is over. Comes after that was noted. */
  disconnected(session: AgentSession): void;
  /** Takes a cluster away from whatever replica serves it: its agent has to come anew. */
  takeAway(cluster: string): void;
  /** Whose revision the sources go on from. */
  lastAdmitted(source: string): string | undefined;
  view(): ReplicaView;
  /** Before agents can come. Rejects if the store cannot be read. */
  start(): Promise<void>;
  /** Gives up what others can take over. */
  stop(): Promise<void>;
}

/** For people. */
export interface ReplicaView {
  readonly id: string;
  readonly leads: boolean;
  /** Who leads, as far as is known; `address`: of its HTTP, empty if it says none. */
  readonly leader: { readonly id: string; readonly address: string } | undefined;
  readonly admitted: AdmissionPosition;
  /** Servers of the fleet that are heard, this one among them. */
  readonly alive: number;
  /** Why nothing new is admitted or sent by this replica; empty: it is. */
  readonly trouble: string;
}

/** Why an agent that has seen a later admission is sent nothing; undefined: it has not. */
export function behindAgent(ours: AdmissionPosition, agents: AdmissionPosition | undefined): string | undefined {
  if (agents === undefined || comparePositions(ours, agents) >= 0) return undefined;
  return `ServerBehind: what the cluster holds was computed from the admission ${displayAdmission(agents)}, this server is at ${displayAdmission(ours)}; it sends nothing until it has caught up, or has read every source anew`;
}

/** An admission for people. */
function displayAdmission({ epoch, sequence }: AdmissionPosition): string {
  return `(${epoch}, ${sequence})`;
}
