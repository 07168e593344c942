import type { Collection, Derived, Graph, Index } from '../collections/types.ts';
import { type Declarations, type Declared, declaredOf } from './declared.ts';

/** A registered cluster. Partition empty, key its name. */
export type ClusterValue = Declared<'KubernetesCluster'>;

/** The registered clusters: as declared, or as last known good while the declaration cannot be read. */
export function deriveClusters(graph: Graph, declarations: Declarations): Derived<ClusterValue> {
  return graph.derive<ClusterValue, ClusterValue>({
    name: 'clusters',
    ...declaredOf(declarations, 'KubernetesCluster'),
    compute: ({ key, value }, _read, emit) => emit('', key, value),
  });
}

/** Groups that selectors read: every cluster, by name, by label and by label key. */
export function indexClusters(graph: Graph, clusters: Collection<ClusterValue>): Index<ClusterValue> {
  return graph.index('clusterIndex', clusters, ({ key: name, value: { value } }) => [
    clusterGroup.all,
    clusterGroup.name(name),
    ...Object.entries(value.labels).flatMap(([key, text]) => [
      clusterGroup.label(key, text),
      clusterGroup.labelKey(key),
    ]),
  ]);
}

/** Names of the groups of {@link indexClusters}. */
export const clusterGroup = {
  all: 'all',
  name: (name: string) => `name:${name}`,
  label: (key: string, value: string) => `label:${key}=${value}`,
  labelKey: (key: string) => `key:${key}`,
} as const;
