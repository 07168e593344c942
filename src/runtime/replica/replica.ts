import type { AgentHello, AgentHolding } from '../../model/agent.ts';
import { type AdmissionPosition, comparePositions } from '../../model/output.ts';
import type { Clock } from '../../ports/clock.ts';
import type { AgentSession, HelloDecision } from '../../relay/session.ts';
import type { Ledger } from '../ledger/ledger.ts';

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
  judge(hello: AgentHello): HelloDecision | undefined;
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

/** For so long after the store was lost, or is new, the first word of each cluster counts. */
const RECOVERY_MS = 24 * 60 * 60 * 1000;

/**
 * The admission that an agent states, if the fleet is to be raised above it; undefined: it is not. One agent must not move
 * what all clusters depend on. So that counts only shortly after the store was lost, when nothing else tells what was
 * admitted before (the clock of this server may be behind that of the last one), and once for each cluster: at the first
 * hello, before the cluster is registered.
 */
export function firstClaim(
  { ledger, clock }: { readonly ledger: Pick<Ledger, 'epoch' | 'registration'>; readonly clock: Clock },
  { hello }: AgentSession,
  { admitted }: AgentHolding,
): AdmissionPosition | undefined {
  const isRecent = Math.abs(clock.now() - ledger.epoch()) <= RECOVERY_MS;
  return isRecent && ledger.registration(hello.cluster) === undefined ? admitted : undefined;
}

/** Why an agent that states a later admission is sent nothing; undefined: it does not. */
export function behindAgent(ours: AdmissionPosition, agents: AdmissionPosition | undefined): string | undefined {
  if (agents === undefined || comparePositions(ours, agents) >= 0) return undefined;
  return `ServerBehind: what the cluster holds was computed from the admission ${displayAdmission(agents)}, as its agent states, and this server is at ${displayAdmission(ours)}; it sends the cluster nothing until it has caught up. A server that starts admits in a new epoch once it has read every source`;
}

/** An admission for people. */
function displayAdmission({ epoch, sequence }: AdmissionPosition): string {
  return `(${epoch}, ${sequence})`;
}
