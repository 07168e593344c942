import { namespaceObstacle } from '../../visibility.ts';
import { failed, type PoolRule } from './look.ts';
import { NODE_KIND } from './node-verdict.ts';

/** A pool has to have its least number of Nodes. Source: Gardener's CheckClusterNodes. */
export const nodesAreEnough: PoolRule = ({ read, reads, cluster, nodesOf }, { name: pool, minimum }) => {
  const unseen = namespaceObstacle(read, reads, cluster, '', NODE_KIND);
  if (unseen !== undefined) return unseen;
  const found = nodesOf(pool);
  if (found >= minimum) return undefined;
  const what = `Not enough worker nodes registered in worker pool "${pool}" to meet minimum desired machine count.`;
  return failed('MissingNodes', `${what} (${found}/${minimum}).`);
};
