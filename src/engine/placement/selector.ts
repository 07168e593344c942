import type { ClusterChoice } from '../../model/desired.ts';
import type { ClusterName } from '../../model/ids.ts';
import { compareText } from '../../model/json.ts';
import { type LabelSelector, matchesLabels } from '../../model/label-selector.ts';
import type { Entry, Index, Reader } from '../collections/types.ts';
import { type ClusterValue, clusterGroup } from '../fleet/clusters.ts';

/** The registered clusters that are chosen, and the names that no KubernetesCluster has; both in canonical order. */
export function chooseClusters(
  { names, selector }: ClusterChoice,
  read: Reader,
  clusters: Index<ClusterValue>,
): { readonly clusters: readonly ClusterName[]; readonly unknown: readonly string[] } {
  const known = names.filter((name) => read.members(clusters, clusterGroup.name(name)).length > 0);
  const selected = selector === undefined ? [] : selectClusters(selector, read, clusters);
  return {
    clusters: [...new Set([...known, ...selected])].sort(compareText),
    unknown: names.filter((name) => !known.includes(name)),
  };
}

/** The names of the clusters that a selector selects, in canonical order; reads the smallest group it can. */
function selectClusters(selector: LabelSelector, read: Reader, clusters: Index<ClusterValue>): readonly ClusterName[] {
  return candidatesOf(selector, read, clusters)
    .filter((entry) => matchesLabels(selector, entry.value.value.labels))
    .map((entry) => entry.value.value.name);
}

function candidatesOf(
  selector: LabelSelector,
  read: Reader,
  clusters: Index<ClusterValue>,
): readonly Entry<ClusterValue>[] {
  const [label] = Object.entries(selector.matchLabels);
  if (label !== undefined) return read.members(clusters, clusterGroup.label(label[0], label[1]));
  for (const { key, operator, values } of selector.matchExpressions) {
    if (operator === 'Exists') return read.members(clusters, clusterGroup.labelKey(key));
    if (operator === 'In' && values.length === 1 && values[0] !== undefined) {
      return read.members(clusters, clusterGroup.label(key, values[0]));
    }
    if (operator === 'In') return read.members(clusters, clusterGroup.labelKey(key));
  }
  return read.members(clusters, clusterGroup.all);
}
