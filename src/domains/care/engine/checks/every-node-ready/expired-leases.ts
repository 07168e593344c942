import { leaseObstacle, NODE_LEASES } from '../../leases.ts';
import { type ClusterRule, failed } from './look.ts';

/** From this percentage on, the dependency-watchdog may take the cluster for disconnected. */
const MOST_EXPIRED_PERCENT = 20;

/**
 * Few Leases of Nodes may have expired, of all that there are; a Lease without its Node does not count as expired. Source:
 * Gardener's CheckForExpiredNodeLeases.
 */
export const leasesAreRenewed: ClusterRule = ({ read, reads, cluster, count }) => {
  const { ofNodes = 0, leftOut = 0 } = read.get(reads.leaseNumbers, '', cluster) ?? {};
  const all = ofNodes + leftOut;
  const percent = all === 0 ? 0 : Math.floor((100 * count('expiredLease')) / all);
  if (percent < MOST_EXPIRED_PERCENT) return leaseObstacle(read, reads, cluster, NODE_LEASES);
  const what = `${percent}% of all Leases in ${NODE_LEASES} namespace are expired`;
  const then = 'dependency-watchdog-prober might start scaling down controllers';
  return failed('TooManyExpiredNodeLeases', `${what} - ${then}`);
};
