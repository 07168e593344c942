import type { Digest } from '../model/fleet/ids.ts';
import type { AdmissionPosition } from '../model/fleet/output.ts';
import type { ObjectKey } from '../model/objects/object-key.ts';
import type { BucketedMap } from '../model/values/bucketed-map.ts';
import type { AgentSession } from '../relay/session.ts';

/** The live pull session of one cluster. */
export interface ClusterSession {
  readonly session: AgentSession;
  /** Digest of the agent's inventory: the next delta starts from it. */
  holds: Digest;
  /** By the ledger as of the last commit, for the digest of the next delta. Absent: no delta was made yet. */
  entries?: SessionEntries;
  /** The admission that the inventory was computed from; undefined: the agent does not report one. */
  admitted?: AdmissionPosition | undefined;
  /** Why the cluster is sent nothing now. */
  obstacle?: string | undefined;
  /** A delta was sent and is not answered. */
  inFlight: boolean;
  /** Number of deltas rejected in a row. */
  rejections: number;
  /** What the agent has reported or answered is staged and not committed: the next delta cannot be computed yet. */
  isStaging: boolean;
  /** Nothing is sent for a while after a rejection. */
  isPaused: boolean;
}

/** The digests of what a cluster holds or is being sent. */
export type SessionEntries = BucketedMap<ObjectKey, Digest>;

/** The agents that are connected to this process, by cluster name. */
export type Sessions = Map<string, ClusterSession>;
