import type { Entry } from '../../../../../engine/collections/types.ts';
import { given } from '../../../../../model/values/given.ts';
import type { WorkerPool } from '../../../model/shoot.ts';
import { namespaceObstacle } from '../../visibility.ts';
import { poolOf } from './cared-clusters.ts';
import { type ClusterRule, causedBy, failed, type Look, MOST_NAMED_NODES } from './look.ts';
import type { NodeVerdict } from './node-verdict.ts';
import { CONFIG_NAMESPACE, SECRET_KIND } from './pool-configs.ts';

/** Each Node has to have applied its config. Source: Gardener's OperatingSystemConfigUpdatedForAllWorkerPools. */
export const configsAreApplied: ClusterRule = (look) => {
  const { read, reads, cluster, shoot } = look;
  const unseen = namespaceObstacle(read, reads, cluster, CONFIG_NAMESPACE, SECRET_KIND);
  const parts = shoot.pools.map((pool) => problemsOfPool(look, pool, unseen === undefined));
  const count = parts.reduce((sum, part) => sum + part.count, 0);
  if (count === 0) return unseen;
  const named = parts.flatMap((part) => part.first).slice(0, MOST_NAMED_NODES);
  const more = count > named.length ? [`and ${count - named.length} more`] : [];
  const [cause] = parts.flatMap((part) => part.cause ?? []);
  const message = errorList(count, [...named, ...more]);
  return failed('OperatingSystemConfigOutdated', message, cause === undefined ? {} : causedBy(cause));
};

/** What is wrong in one pool. */
interface PoolProblems {
  readonly count: number;
  readonly first: readonly string[];
  /** The first Node with a problem; absent: there is none. */
  readonly cause?: Entry<NodeVerdict>;
}

function problemsOfPool(look: Look, { name: pool }: WorkerPool, isSeen: boolean): PoolProblems {
  const { read, reads, cluster } = look;
  if (poolOf(read, reads, cluster, pool)?.config === undefined) {
    const missing = `missing operating system config secret metadata for worker pool "${pool}"`;
    return isSeen ? { count: 1, first: [missing] } : { count: 0, first: [] };
  }
  const nodes = look.first('config', MOST_NAMED_NODES, pool);
  return {
    count: look.count('config', pool),
    first: nodes.flatMap(({ value }) => value.config ?? []),
    ...given({ cause: nodes[0] }),
  };
}

/** The form of several errors in Gardener's texts. Source: go-multierror's ListFormatFunc. */
function errorList(count: number, lines: readonly string[]): string {
  return `${count} error${count === 1 ? '' : 's'} occurred:\n\t${lines.map((line) => `* ${line}`).join('\n\t')}\n\n`;
}
