import type { Excess } from '../limits/quotas.ts';
import { given } from '../values/given.ts';
import type { Declaration, GuardLimits } from './desired.ts';
import type { EngineKind } from './engine-kinds.ts';
import type { ClusterId, ClusterName, Digest } from './ids.ts';
import type { ObjectMeta, Origin, OutputPosition } from './output.ts';

/**
 * One key of one cluster that is accepted, in flight or in the cluster's inventory, until the agent reports the object removed.
 * `removing`: the agent has accepted the removal and has not yet reported it complete.
 */
export interface LedgerEntry extends ObjectMeta {
  readonly digest: Digest;
  readonly phase: 'accepted' | 'inFlight' | 'removing';
  /**
   * For an object with the addresses of a service: the name of that service in the same namespace, empty while it has no
   * addresses. Absent: the object is of another kind, or its service is unknown.
   */
  readonly serves?: string;
  /** The name of the domain that made the object; absent: a document declares it, or the maker is not known. */
  readonly madeBy?: string;
  /**
   * Only the agent of the cluster says that a server of the fleet has sent the object. The guards of the fleet do not count it,
   * and it has no status of its own. Absent: the ledger or a tag proves it.
   */
  readonly unproven?: true;
  /**
   * Its removal has passed the guards under these limits, and waits for the last delta of a large change. While a window has it, it
   * counts as sent, unless a limit is tighter by now. Stays when the removal is held or undone: the window then says so.
   */
  readonly leaving?: GuardLimits;
  /** The agent has lost the content: it is sent again as soon as the object is decided. */
  readonly lost?: true;
}

/**
 * What the ledger entry of a key does not name: other sources that declare the key, and clusters that its value may depend on. A
 * source stays until a complete read of it omits the key.
 */
export type Contenders = ObjectMeta;

/** Why an object or a declaration deliberately stays as it is. */
export interface Hold {
  /** Constant UpperCamelCase word. */
  readonly reason: string;
  readonly message: string;
}

/** The binding of a cluster name to a cluster id. */
export interface Registration {
  readonly cluster: ClusterName;
  readonly id: ClusterId;
  /** Number of earlier registrations of this name. */
  readonly predecessors: number;
  /** The first complete input snapshot has been received; never reset. */
  readonly warm: boolean;
  /** The highest position ever sent to this cluster. */
  readonly position: OutputPosition;
  /** Last known state of the agent: connected or not, and since when (milliseconds since 1970). */
  readonly connected: boolean;
  readonly since: number;
  /** A user has released the name: the next cluster with another id gets it, and `id` is refused. */
  readonly released: boolean;
  /** The agent reports that the cluster accepts kinds as they are written. */
  readonly kindsAsWritten?: boolean;
  /** Identifies the key of the tag that its agent holds; absent: none is known. */
  readonly tagKey?: string;
  /** As the agent has reported it at its last connect; absent: it did not. */
  readonly kubernetesVersion?: string;
  /** As the agent has reported it at its last connect; absent: it refuses no objects in its own namespace. */
  readonly ownNamespace?: string;
  /** As the agent has reported it at its last connect: the largest object in bytes that it takes; absent: as the relay carries. */
  readonly objectBytes?: number;
  /** As the agent has reported it at its last connect; absent: it takes no statuses. */
  readonly takesStatuses?: true;
  /** The last step of its input snapshot was refused for this; absent: it was taken. */
  readonly excess?: Excess;
  /** The newest client certificate of its agent; times in milliseconds since 1970. Absent: it has shown none. */
  readonly certificate?: { readonly serial: string; readonly issuedAt: number; readonly expiresAt: number };
}

/** What an agent and its input snapshot say of its cluster, as members of a registration and of the state of the agent. */
export function reportedIn({
  excess,
  ownNamespace,
  objectBytes,
  takesStatuses,
}: { readonly [Name in keyof Reported]?: Reported[Name] | undefined } = {}): Reported {
  return given({ excess, ownNamespace, objectBytes, takesStatuses });
}

type Reported = Pick<Registration, 'excess' | 'ownNamespace' | 'objectBytes' | 'takesStatuses'>;

/** The last known good value of a declaration: it stays in force while its document cannot be read. */
export type LastKnownGood<Kind extends EngineKind = EngineKind> = {
  [Each in Kind]: Omit<Declaration<Each>, 'type' | 'key'> & { readonly origin: Origin };
}[Kind];

/**
 * The outcome of a `RemovalApproval`, decided when it is first read and again only if its digest changes, or if it was `unsigned` and
 * the verdict on it is another one now. `used`: it has released removals. `stale`: no removal with this digest was held before the
 * approval, or its outcome was lost. `expired`: it was read too late. `notCounted`: the RelayConfig lets no file approve. `unsigned`: it lets signed files
 * approve, and this one is not, for `problem`. `waits`: outcomes are lost, and its source was not read completely since.
 */
export interface ApprovalOutcome {
  readonly digest: Digest;
  readonly outcome: 'used' | 'stale' | 'expired' | 'notCounted' | 'unsigned' | 'waits';
  readonly problem?: string;
}
