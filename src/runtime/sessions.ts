import type { Digest } from '../model/ids.ts';
import type { AdmissionPosition } from '../model/output.ts';
import type { AgentSession } from '../relay/session.ts';

/** The live pull session of one cluster. */
export interface ClusterSession {
  readonly session: AgentSession;
  /** Digest of what the agent holds: where the next delta starts. */
  holds: Digest;
  /** Of what it holds: the admission that it was computed from; absent: nobody said. */
  admitted?: AdmissionPosition | undefined;
  /** Why it is sent nothing just now. */
  obstacle?: string | undefined;
  /** A delta is on its way and not answered. */
  inFlight: boolean;
  /** Deltas rejected in a row; after one the cluster is left alone for a while. */
  rejections: number;
  heldBack: boolean;
}

/** Which agents are connected to this process, by cluster name. */
export type Sessions = Map<string, ClusterSession>;
