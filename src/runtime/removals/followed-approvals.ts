import type { Clock } from '../../ports/clock.ts';
import type { ApprovalRecord } from '../ledger/records.ts';

/**
 * What is known of the approvals of all processes: a store that becomes an older copy has approvals again that have ended, and the
 * leader that knows it may be lost with the newer copy.
 */
export function createFollowedApprovals(clock: Pick<Clock, 'now'>) {
  const known = new Map<string, Map<string, ApprovalRecord>>();
  /** The last approvals that have ended, by address. */
  const ended = new Map<string, ApprovalRecord>();
  return {
    partitions: (): Iterable<string> => known.keys(),
    entries: (cluster: string): Iterable<{ readonly key: string }> =>
      [...(known.get(cluster)?.keys() ?? [])].map((key) => ({ key })),
    /** Undefined: the approval has ended. */
    replicate: (cluster: string, key: string, record: ApprovalRecord | undefined): void => {
      const approvals = known.get(cluster) ?? new Map<string, ApprovalRecord>();
      const before = approvals.get(key);
      if (record !== undefined) known.set(cluster, approvals.set(key, record));
      if (record !== undefined || before === undefined) return;
      approvals.delete(key);
      if (approvals.size === 0) known.delete(cluster);
      const address = addressOf(cluster, key);
      ended.delete(address);
      for (const [oldest, { expiresAt }] of ended) {
        if (expiresAt > clock.now()) break;
        ended.delete(oldest);
      }
      ended.set(address, before);
    },
    hasEnded: (cluster: string, key: string, { by, expiresAt }: ApprovalRecord): boolean => {
      const last = ended.get(addressOf(cluster, key));
      return last?.by === by && last.expiresAt === expiresAt;
    },
  };
}

/** The address of the approval of an object. */
export function addressOf(cluster: string, key: string): string {
  return `${cluster}\u0000${key}`;
}
