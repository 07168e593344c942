import type { ClusterDeclaration, LabelRequirement, LabelSelector } from '../../model/desired.ts';
import type { Entry, Index, Reader } from '../collections/types.ts';
import { type ClusterValue, posting } from '../fleet/clusters.ts';

/** The names of the clusters that a selector selects, in canonical order; reads the narrowest postings it can. */
export function selectClusters(
  selector: LabelSelector,
  read: Reader,
  clusters: Index<ClusterValue>,
): readonly string[] {
  return candidatesOf(selector, read, clusters)
    .filter((entry) => matchesSelector(selector, entry.value.value))
    .map((entry) => entry.key);
}

/** True if the cluster's labels satisfy every part of the selector. */
export function matchesSelector(selector: LabelSelector, cluster: ClusterDeclaration): boolean {
  return (
    Object.entries(selector.matchLabels).every(([key, value]) => cluster.labels[key] === value) &&
    selector.matchExpressions.every((requirement) => matchesRequirement(requirement, cluster.labels))
  );
}

function matchesRequirement(
  { key, operator, values }: LabelRequirement,
  labels: Readonly<Record<string, string>>,
): boolean {
  const value = labels[key];
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
  }
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
