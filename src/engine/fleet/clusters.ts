import type { ClusterChoice } from '../../model/fleet/desired.ts';
import type { ClusterName } from '../../model/fleet/ids.ts';
import { type LabelSelector, matchesLabels } from '../../model/objects/label-selector.ts';
import { compareText } from '../../model/text/json.ts';
import { suggestion } from '../../model/text/messages.ts';
import type { Collection, Derived, Entry, Graph, Index, Reader } from '../collections/types.ts';
import type { AgentValue } from '../inputs.ts';
import { type Declarations, type Declared, declaredOf } from './declared.ts';

/** A registered cluster. Partition empty, key its name. */
export type ClusterValue = Declared<'KubernetesCluster'>;

/** Derives the registered clusters. */
export function deriveClusters(graph: Graph, declarations: Declarations): Derived<ClusterValue> {
  return graph.derive<ClusterValue, ClusterValue>({
    name: 'clusters',
    ...declaredOf(declarations, 'KubernetesCluster'),
    compute: ({ key, value }, _read, emit) => emit('', key, value),
  });
}

/** What decisions depend on of a registered cluster. Partition empty, key its name. */
export interface TargetValue extends Pick<AgentValue, 'ownNamespace' | 'objectBytes' | 'takesStatuses'> {
  /** Its objects go to an API server. So it counts as long as its agent has not said otherwise. */
  readonly hasApiServer: boolean;
}

/** Derives what decisions read of each registered cluster: its labels and its connection change without them. */
export function deriveTargets(
  graph: Graph,
  clusters: Collection<ClusterValue>,
  agents: Collection<AgentValue>,
): Derived<TargetValue> {
  return graph.derive<ClusterValue, TargetValue>({
    name: 'targets',
    from: clusters,
    reads: [agents],
    compute: ({ key }, read, emit) => {
      const { ownNamespace, objectBytes, takesStatuses, kindsAsWritten = false } = read.get(agents, '', key) ?? {};
      emit('', key, {
        hasApiServer: !kindsAsWritten,
        ...(ownNamespace === undefined ? {} : { ownNamespace }),
        ...(objectBytes === undefined ? {} : { objectBytes }),
        ...(takesStatuses === undefined ? {} : { takesStatuses }),
      });
    },
  });
}

/** Indexes clusters by {@link clusterGroup}. */
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

/** What {@link chooseClusters} returns. */
interface ChosenClusters {
  /** In canonical order. */
  readonly clusters: readonly ClusterName[];
  /** Listed names that no KubernetesCluster has, in canonical order. */
  readonly unknown: readonly string[];
  /** There is a selector, and it matches no cluster. */
  readonly selectsNone: boolean;
}

/** The registered clusters that are chosen. */
export function chooseClusters(
  { names, selector }: ClusterChoice,
  read: Reader,
  clusters: Index<ClusterValue>,
): ChosenClusters {
  const isKnown = (name: string): boolean => read.members(clusters, clusterGroup.name(name)).length > 0;
  const known = names.filter(isKnown);
  const selected = selector === undefined ? [] : selectClusters(selector, read, clusters);
  return {
    clusters: [...new Set([...known, ...selected])].sort(compareText),
    unknown: names.filter((name) => !known.includes(name)),
    selectsNone: selector !== undefined && selected.length === 0,
  };
}

/** Above this number of clusters none is suggested: each suggestion compares all names. */
const MOST_COMPARED = 200;

/** Suggests a registered cluster for an unknown name. */
export function clusterHint(name: string, clusters: Derived<ClusterValue>): { readonly hint?: string } {
  if (clusters.size('') > MOST_COMPARED) return {};
  const near = suggestion(
    name,
    [...clusters.entries('')].map(({ key }) => key),
  );
  return near === undefined ? {} : { hint: `did you mean ${near}?` };
}

function selectClusters(selector: LabelSelector, read: Reader, clusters: Index<ClusterValue>): readonly ClusterName[] {
  return read
    .members(clusters, smallestGroup(selector))
    .filter((entry) => matchesLabels(selector, entry.value.value.labels))
    .map((entry) => entry.value.value.name);
}

/** A group that contains all clusters that the selector matches. */
function smallestGroup({ matchLabels, matchExpressions }: LabelSelector): string {
  const [label] = Object.entries(matchLabels);
  if (label !== undefined) return clusterGroup.label(label[0], label[1]);
  const positive = matchExpressions.find(({ operator }) => operator === 'Exists' || operator === 'In');
  if (positive === undefined) return clusterGroup.all;
  const { key, operator, values } = positive;
  const [value] = values;
  return operator === 'In' && value !== undefined && values.length === 1
    ? clusterGroup.label(key, value)
    : clusterGroup.labelKey(key);
}

/** Indexes declarations by the listed names of clusters that no KubernetesCluster has. */
export function indexUnknownClusters<Value extends { readonly unknownClusters: readonly string[] }>(
  graph: Graph,
  declared: Collection<Value>,
): Index<Value> {
  return graph.index(`${declared.name}ByUnknownCluster`, declared, ({ value }) => value.unknownClusters);
}

/** The entries of {@link indexUnknownClusters} with the unknown name. Cost follows their number. */
export function unknownClustersOf<Value>(
  index: Index<Value>,
): readonly { readonly name: string; readonly entry: Entry<Value> }[] {
  return [...index.groups()].flatMap((name) => index.members(name).map((entry) => ({ name, entry })));
}
