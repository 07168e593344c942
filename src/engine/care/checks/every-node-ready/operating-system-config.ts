import type { LiveObject } from '../../../../model/agent.ts';
import { type JsonObject, objectOf, objectsOf, textOf } from '../../../../model/json.ts';
import { annotationOf, labelsOf, metadataOf } from '../../../../model/object-key.ts';
import type { WorkerPool } from '../../../../model/shoot.ts';
import type { Contribution, Derived, Entry, Graph } from '../../../collections/types.ts';
import type { EngineInputs } from '../../../inputs.ts';
import { bounded } from '../../bounded-text.ts';
import { namespaceObstacle } from '../gate.ts';
import { type ClusterRule, causedBy, failed, type Look, MOST_NAMED_NODES, type PoolConfig } from './look.ts';
import type { NodeVerdict } from './node-verdict.ts';

/** The kind whose metadata say which operating system config a pool should have, and the Namespace of these Secrets. */
export const SECRET_KIND = '/Secret';
export const CONFIG_NAMESPACE = 'kube-system';
/** The labels of these Secrets. */
export const CONFIG_LABELS = { 'gardener.cloud/role': 'operating-system-config' } as const;

/** The label of Nodes and Secrets that names their pool. */
export const POOL_LABEL = 'worker.gardener.cloud/pool';

/** Derives the operating system configs of pools. Partition: the cluster. Key: the pool; if it has several, the last counts. */
export function deriveConfigs(
  graph: Graph,
  { live }: Pick<EngineInputs, 'live'>,
): Derived<readonly Contribution<PoolConfig>[]> {
  return graph.gather<LiveObject, PoolConfig>({
    name: 'operatingSystemConfigs',
    from: live,
    keys: (key) => key.startsWith(`${SECRET_KIND}/${CONFIG_NAMESPACE}/`),
    compute: ({ partition: cluster, value: { value } }, _read, emit) => {
      const labels = labelsOf(value);
      const pool = labels[POOL_LABEL];
      if (Object.entries(CONFIG_LABELS).some(([label, wanted]) => labels[label] !== wanted)) return;
      if (typeof pool !== 'string') return;
      emit(cluster, pool, {
        secret: textOf(metadataOf(value).name),
        checksum: annotationOf(value, 'checksum/data-script'),
      });
    },
  });
}

/** What is wrong with the operating system config of a Node; undefined: nothing, or the Node is about to be replaced. */
export function configProblem(node: JsonObject, config: PoolConfig): string | undefined {
  const secret = labelsOf(node)['worker.gardener.cloud/gardener-node-agent-secret-name'];
  if (isBeingReplaced(node) || (secret !== undefined && secret !== config.secret)) return undefined;
  const applied = objectOf(metadataOf(node).annotations)['checksum/cloud-config-data'];
  const what = `the last successfully applied operating system config on node "${textOf(metadataOf(node).name)}"`;
  if (applied === undefined) return `${what} hasn't been reported yet`;
  if (applied === config.checksum) return undefined;
  return `${what} is outdated (current: ${bounded(textOf(applied))}, desired: ${bounded(config.checksum)})`;
}

/** In a rolling update machine-controller-manager taints the Nodes of older Machines. */
function isBeingReplaced(node: JsonObject): boolean {
  return objectsOf(objectOf(node.spec).taints).some(
    ({ key, effect }) => key === 'deployment.machine.sapcloud.io/prefer-no-schedule' && effect === 'PreferNoSchedule',
  );
}

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
  if (read.get(reads.configs, cluster, pool) === undefined) {
    const missing = `missing operating system config secret metadata for worker pool "${pool}"`;
    return isSeen ? { count: 1, first: [missing] } : { count: 0, first: [] };
  }
  const nodes = look.first('config', MOST_NAMED_NODES, pool);
  return {
    count: look.count('config', pool),
    first: nodes.flatMap(({ value }) => value.config ?? []),
    ...(nodes[0] === undefined ? {} : { cause: nodes[0] }),
  };
}

/** The form of several errors in Gardener's texts. Source: go-multierror's ListFormatFunc. */
function errorList(count: number, lines: readonly string[]): string {
  return `${count} error${count === 1 ? '' : 's'} occurred:\n\t${lines.map((line) => `* ${line}`).join('\n\t')}\n\n`;
}
