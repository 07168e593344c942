import type { Clock } from '../../ports/clock.ts';
import type { ApprovalRecord } from '../ledger/records.ts';

/**
 * The approvals that have ended, as the leader has written them. If the store becomes an older copy, it has them again as not ended,
 * and the leader that knows better may be lost as well. A missing record says nothing: the store may have lost it.
 */
export function createFollowedApprovals(clock: Pick<Clock, 'now'>) {
  /** When they expire, by address and time of the grant. */
  const ended = new Map<string, number>();
  return {
    /** Undefined: there is no record. The leader deletes one when it expires. */
    replicate: (cluster: string, key: string, record: ApprovalRecord | undefined): void => {
      for (const [oldest, expiresAt] of ended) {
        if (expiresAt > clock.now()) break;
        ended.delete(oldest);
      }
      if (record?.ended === true) ended.set(endedKey(cluster, key, record), record.expiresAt);
    },
    hasEnded: (cluster: string, key: string, record: ApprovalRecord): boolean =>
      ended.has(endedKey(cluster, key, record)),
  };
}

function endedKey(cluster: string, key: string, { grantedAt }: ApprovalRecord): string {
  return `${addressOf(cluster, key)}\u0000${grantedAt}`;
}

/** The address of the approval of an object. */
export function addressOf(cluster: string, key: string): string {
  return `${cluster}\u0000${key}`;
}
