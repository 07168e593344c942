import type { Contribution, Derived, Graph } from '../../../../../engine/collections/types.ts';
import type { EngineInputs } from '../../../../../engine/inputs.ts';
import type { LiveObject } from '../../../../../model/agent/agent.ts';
import { annotationOf, labelsOf, metadataOf } from '../../../../../model/objects/object-key.ts';
import { type JsonObject, objectOf, objectsOf, textOf } from '../../../../../model/text/json.ts';
import { bounded } from '../../bounded-text.ts';
import { POOL_LABEL } from './node-verdict.ts';

/** The kind whose metadata say which operating system config a pool should have, and the Namespace of these Secrets. */
export const SECRET_KIND = '/Secret';
export const CONFIG_NAMESPACE = 'kube-system';
/** The labels of these Secrets. */
export const CONFIG_LABELS = { 'gardener.cloud/role': 'operating-system-config' } as const;

/** The operating system config of a pool, by the metadata of its Secret. */
export interface PoolConfig {
  readonly secret: string;
  /** Of the config that the Nodes should have applied. */
  readonly checksum: string;
}

/** Derives the operating system configs of pools. Partition: the cluster. Key: the pool. */
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
