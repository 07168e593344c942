import type { Collection, Derived, Graph, Reader } from '../../../engine/collections/types.ts';
import type { ClusterValue } from '../../../engine/fleet/clusters.ts';
import type { AgentValue, EngineInputs } from '../../../engine/inputs.ts';
import type { KindState } from '../../../model/agent/agent.ts';
import { kindWithoutGroup } from '../../../model/objects/object-key.ts';
import type { JsonValue } from '../../../model/text/json.ts';
import type { BoundShoot } from './binding.ts';
import { careSettingsOf } from './settings.ts';
import type { ConditionFinding } from './thresholds.ts';

/** What {@link obstacleOf} reads. */
export interface ClusterReads {
  readonly clusters: Collection<ClusterValue>;
  readonly agents: Collection<AgentValue>;
  /** By cluster: it has an entry while its input snapshot is here. */
  readonly snapshots: Collection<unknown>;
}

/** Derives the clusters whose input snapshots are here: other than a snapshot it does not change with each delta. */
export function deriveSnapshotsHere(graph: Graph, { snapshots }: Pick<EngineInputs, 'snapshots'>): Derived<true> {
  return graph.derive<unknown, true>({
    name: 'snapshotsOfShoots',
    from: snapshots,
    compute: ({ key }, _read, emit) => emit('', key, true),
  });
}

/**
 * Why nothing of a Shoot can be judged, as a sentence; undefined: something can. `wasSeenAsleep`: no agent has to be known,
 * because the clusters of such a Shoot may be away when everything else is lost.
 */
export function obstacleOf(
  read: Reader,
  { cluster, seed, elected }: BoundShoot,
  reads: ClusterReads,
  wasSeenAsleep = false,
): string | undefined {
  if (elected !== undefined) return `Shoot ${elected} is bound to cluster ${cluster} already`;
  for (const name of seed === undefined ? [cluster] : [cluster, seed]) {
    if (read.get(reads.clusters, '', name) === undefined) return `no KubernetesCluster ${name} is declared`;
    if (wasSeenAsleep) continue;
    const agent = read.get(reads.agents, '', name);
    if (agent === undefined || (!agent.connected && agent.since === 0)) {
      return `the agent of cluster ${name} has never connected`;
    }
    // Without it every kind would look empty.
    if (read.get(reads.snapshots, '', name) === undefined) return `no input snapshot of cluster ${name} is here`;
  }
  return undefined;
}

/** The reason of a condition that could not be judged. */
export const CHECK_ERROR = 'ConditionCheckError';

/** A check that could not be made. */
export function notChecked(message: string): ConditionFinding {
  return { outcome: 'unknown', reason: CHECK_ERROR, message };
}

/** Whether it is a finding of {@link notChecked}: it says nothing about the Shoot. */
export function isNotChecked({ outcome, reason }: ConditionFinding): boolean {
  return outcome === 'unknown' && reason === CHECK_ERROR;
}

/** The finding for a kind (`group/Kind`) that the policy excludes. */
function excludedKind(cluster: string, kind: string): ConditionFinding {
  const name = kindWithoutGroup(kind);
  return notChecked(`${name} of cluster ${cluster} is left out of discovery by the FleetPolicy`);
}

const LOWER_CASE = new Map<string, string>();

/** The same text each time: the engine keeps it for each cluster. The kinds are those that checks name. */
function lowerCase(kind: string): string {
  const known = LOWER_CASE.get(kind) ?? kind.toLowerCase();
  LOWER_CASE.set(kind, known);
  return known;
}

/**
 * The finding that follows if the kind (`group/Kind`) cannot be read in the cluster, or in the given Namespace of it. A kind
 * that the cluster never had is empty.
 */
export function kindObstacle(
  read: Reader,
  kinds: Collection<KindState>,
  cluster: string,
  kind: string,
  namespace = '',
): ConditionFinding | undefined {
  // A directory that has only unreadable files of a kind knows the kind by the name of their folder, in lower case.
  const found = read.get(kinds, cluster, kind) ?? read.get(kinds, cluster, lowerCase(kind));
  const refusal = found?.unlisted?.[namespace];
  const name = kindWithoutGroup(kind);
  if (refusal !== undefined) {
    return notChecked(`${name} in namespace ${namespace} of cluster ${cluster} cannot be listed: ${refusal}`);
  }
  if (found === undefined || found.state === 'complete') return undefined;
  if (found.state === 'offered') {
    const why = 'the FleetPolicy leaves it out, or its agent has not been told yet to report it';
    return notChecked(`${name} of cluster ${cluster} is not discovered: ${why}`);
  }
  const why = found.message === '' ? '' : `: ${found.message}`;
  return notChecked(`${name} of cluster ${cluster} cannot be listed${why}`);
}

/** What {@link namespaceObstacle} reads. */
export interface NamespaceReads extends Pick<EngineInputs, 'kinds' | 'live'> {
  readonly settings: Collection<JsonValue>;
}

/**
 * The finding that follows if a kind (`group/Kind`) cannot be read in a Namespace of a cluster, or the policy leaves objects of
 * it out. The Namespace of cluster-scoped kinds is empty.
 */
export function namespaceObstacle(
  read: Reader,
  { settings, kinds, live }: NamespaceReads,
  cluster: string,
  namespace: string,
  kind: string,
): ConditionFinding | undefined {
  const policy = careSettingsOf(read, settings);
  const { excludedNamespaces, excludedKinds, selectsNamespaces, selectsObjects } = policy;
  const place = namespace === '' ? `cluster ${cluster}` : `namespace ${namespace} of cluster ${cluster}`;
  // Also if the cluster does not have the kind, as far as is known.
  if (excludedKinds.includes(kind)) return excludedKind(cluster, kind);
  if (excludedNamespaces.includes(namespace)) return notChecked(`${place} is left out of discovery by the FleetPolicy`);
  // Agents do not report a Namespace that is not selected either.
  const isIn = () => read.get(live, cluster, `${NAMESPACE_KIND}//${namespace}`) !== undefined;
  if (selectsNamespaces && namespace !== '' && !isIn()) {
    return notChecked(`${place} is not discovered: the FleetPolicy selects namespaces by their labels`);
  }
  if (selectsObjects) {
    return notChecked(`${place} is not discovered completely: the FleetPolicy selects objects by their labels`);
  }
  return kindObstacle(read, kinds, cluster, kind, namespace);
}

const NAMESPACE_KIND = '/Namespace';
