import type { Clock } from '../../ports/clock.ts';
import type { ApprovalRecord } from '../ledger/records.ts';

/**
 * The approvals that have ended, as the leader has written them: a store that becomes an older copy has them again as if they had
 * not, and the leader that knows it may be lost with the newer copy. A record that is missing says nothing: the store may have lost it.
 */
export function createFollowedApprovals(clock: Pick<Clock, 'now'>) {
  /** By address, until they expire. */
  const ended = new Map<string, ApprovalRecord>();
  return {
    /** Undefined: there is no record. The leader deletes one when it expires. */
    replicate: (cluster: string, key: string, record: ApprovalRecord | undefined): void => {
      const address = addressOf(cluster, key);
      for (const [oldest, { expiresAt }] of ended) {
        if (expiresAt > clock.now()) break;
        ended.delete(oldest);
      }
      if (record?.ended !== true) {
        if ((ended.get(address)?.expiresAt ?? 0) <= clock.now()) ended.delete(address);
        return;
      }
      ended.delete(address);
      ended.set(address, record);
    },
    hasEnded: (cluster: string, key: string, { digest, by, expiresAt }: ApprovalRecord): boolean => {
      const last = ended.get(addressOf(cluster, key));
      return last?.digest === digest && last.by === by && last.expiresAt === expiresAt;
    },
  };
}

/** The address of the approval of an object. */
export function addressOf(cluster: string, key: string): string {
  return `${cluster}\u0000${key}`;
}
