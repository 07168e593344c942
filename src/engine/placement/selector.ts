import { type LabelSelector, matchesLabels } from '../../model/label-selector.ts';
import type { Entry, Index, Reader } from '../collections/types.ts';
import { type ClusterValue, posting } from '../fleet/clusters.ts';

/** The names of the clusters that a selector selects, in canonical order; reads the narrowest postings it can. */
export function selectClusters(
  selector: LabelSelector,
  read: Reader,
  clusters: Index<ClusterValue>,
): readonly string[] {
  return candidatesOf(selector, read, clusters)
    .filter((entry) => matchesLabels(selector, entry.value.value.labels))
    .map((entry) => entry.key);
}

function candidatesOf(
  selector: LabelSelector,
  read: Reader,
  clusters: Index<ClusterValue>,
): readonly Entry<ClusterValue>[] {
  const [label] = Object.entries(selector.matchLabels);
  if (label !== undefined) return read.members(clusters, posting.label(label[0], label[1]));
  for (const { key, operator, values } of selector.matchExpressions) {
    if (operator === 'Exists') return read.members(clusters, posting.labelKey(key));
    if (operator === 'In' && values.length === 1 && values[0] !== undefined) {
      return read.members(clusters, posting.label(key, values[0]));
    }
    if (operator === 'In') return read.members(clusters, posting.labelKey(key));
  }
  return read.members(clusters, posting.all);
}
