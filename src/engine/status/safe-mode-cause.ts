import type { KindState } from '../../model/agent.ts';
import type { LedgerEntry } from '../../model/ledger.ts';
import type { Collection, Index } from '../collections/types.ts';
import type { DomainParts } from '../domain.ts';
import type { SafeModeValue, UnseenValue } from '../fleet/safe-mode.ts';
import type { Lookups } from './lookups.ts';

/** A cluster that something waits for, because it cannot be seen. */
export interface SafeModeCause {
  readonly cluster: string;
  /** Constant word. */
  readonly reason: 'SnapshotMissing' | 'AssumedWarm' | 'KindsUnknown';
  /** What is held, and the ways out. */
  readonly message: string;
}

/** What is asked of a cluster that cannot be seen. */
export interface SafeModeReads {
  readonly mode: Collection<SafeModeValue>;
  readonly unseen: Collection<UnseenValue>;
  readonly ledgerByScope: Index<LedgerEntry>;
  /** The domains that read clusters. */
  readonly readers: readonly Reading[];
}

type Reading = NonNullable<DomainParts['reading']>;

/** The domains that read clusters. */
export function readersOf(domains: readonly { readonly parts: DomainParts }[]): readonly Reading[] {
  return domains.flatMap(({ parts: { reading } }) => reading ?? []);
}

/** Why something waits for a cluster; undefined if nothing does. */
export function causeOf(
  look: Pick<Lookups, 'count'>,
  { ledgerByScope, readers }: Pick<SafeModeReads, 'ledgerByScope' | 'readers'>,
  mode: SafeModeValue,
  cluster: string,
  { snapshot, unknownKinds }: UnseenValue,
): SafeModeCause | undefined {
  const isRead = look.count(ledgerByScope, cluster) > 0;
  if (snapshot === 'missing' && mode.inForce !== 'none') {
    const message = `no input snapshot of it is here: ${whatIsHeld(mode)}. ${waysOut(cluster)}`;
    return { cluster, reason: 'SnapshotMissing', message };
  }
  if (snapshot === 'assumedWarm' && mode.inForce !== 'none' && (isRead || mode.inForce === 'strict')) {
    const message = `it was known before the store was lost, and no input snapshot of it is here: what clusters hold already stays as it is. ${waysOut(cluster)}`;
    return { cluster, reason: 'AssumedWarm', message };
  }
  const reading = readers.filter(({ clusters }) => look.count(clusters, cluster) > 0);
  if (unknownKinds.length === 0 || !(isRead || reading.length > 0)) return undefined;
  // What it holds was read once; no domain reads it now.
  const leaveOut = (reading.length > 0 ? reading : readers).map(({ wayOut }) => wayOut).join(', or ');
  const message = `${unknownKinds.map(kindText).join('; ')}: what is computed from it stays as it is. Let its agent list the kind, or ${leaveOut}`;
  return { cluster, reason: 'KindsUnknown', message };
}

function whatIsHeld({ declared, inForce }: SafeModeValue): string {
  if (inForce === 'strict') return 'no object of any cluster is changed';
  const held = 'what could have been computed from it stays as it is';
  return declared === 'off' ? `${held} until the safe start window is over` : held;
}

function waysOut(cluster: string): string {
  return `Ways out: bring its agent back; deregister it (fleetrelay cluster deregister ${cluster}); or set spec.skipWarming: true in its KubernetesCluster`;
}

function kindText({ kind, state, message }: KindState): string {
  const name = kind.slice(kind.indexOf('/') + 1);
  if (state === 'offered') return `${name} of it is left out of discovery`;
  return `${name} of it cannot be listed${message === '' ? '' : ` (${message})`}`;
}
