import type { DeclarationValues } from './desired.ts';
import type { EngineKind } from './engine-kinds.ts';
import type { ClusterId, ClusterName, Digest } from './ids.ts';
import type { ObjectMeta, Origin, OutputPosition } from './output.ts';

/**
 * One key of one cluster that is accepted, in flight or in the cluster's inventory, until it is reported gone.
 * `removing`: the agent has accepted the removal and has not yet reported the object gone.
 */
export interface LedgerEntry extends ObjectMeta {
  readonly digest: Digest;
  readonly phase: 'accepted' | 'inFlight' | 'removing';
  /**
   * Of what carries the addresses of a service: the name of that service in the same namespace, empty as long as it has
   * no addresses. Absent: it is of another kind, or that is not known.
   */
  readonly serves?: string;
}

/**
 * Who else wants a key, and what that could have been computed from, as far as its entry does not say so: its agent has not
 * been told yet, or has forgotten. Whoever is named has not been read without it since.
 */
export type Contenders = ObjectMeta;

/** A cluster name and the cluster id that it belongs to. */
export interface Registration {
  readonly cluster: ClusterName;
  readonly id: ClusterId;
  /** Registrations of this name that were over when it began. */
  readonly predecessors: number;
  /** The first complete input snapshot has been received; final. */
  readonly warm: boolean;
  /** The highest position ever sent to this cluster. */
  readonly position: OutputPosition;
  /** As last seen: whether its agent was connected, and since when (milliseconds since 1970). */
  readonly connected: boolean;
  readonly since: number;
  /** A person has released the name: the next cluster with another id takes it, and `id` is refused. */
  readonly released: boolean;
  /** Its agent has said that the cluster takes kinds as they are written. */
  readonly kindsAsWritten?: boolean;
}

/** A declaration as it was when it could be read, and where it stood: it stays in force while it cannot be read. */
export type LastKnownGood<Kind extends EngineKind = EngineKind> = {
  [Each in Kind]: {
    readonly kind: Each;
    readonly namespace: string;
    readonly name: string;
    readonly value: DeclarationValues[Each];
    readonly origin: Origin;
  };
}[Kind];

/**
 * What became of a `RemovalApproval` when it was first read; it is not looked at again as long as it says the same.
 * `used`: it has released something. `stale`: nothing of that digest was held before it came. `expired`: it came too late.
 */
export interface ApprovalOutcome {
  readonly digest: Digest;
  readonly outcome: 'used' | 'stale' | 'expired';
}
