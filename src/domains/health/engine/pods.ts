import type { Collection, Derived, Graph, Reader } from '../../../engine/collections/types.ts';
import type { LiveObject } from '../../../model/agent/agent.ts';
import { type ObjectKey, objectRefOf } from '../../../model/objects/object-key.ts';
import type { JsonValue } from '../../../model/text/json.ts';
import { given } from '../../../model/values/given.ts';
import type { HealthSettings } from '../model/settings.ts';
import type { KnownDataplane, Uncounted } from './dataplanes.ts';
import {
  isOfKind,
  keyOfKind,
  type LiveFacts,
  liveKinds,
  meshOf,
  namedAs,
  namingIn,
  type Owner,
  type ServiceFacts,
  selectedBy,
  topologyOf,
} from './live-objects.ts';
import { type Pod, readPod } from './pod.ts';
import { isDataplane, knownPod, type PodSettings } from './pod-dataplane.ts';

/** The part of the policy that decides which Pods are data planes. */
export function podSettings({ sidecars, podSelector }: HealthSettings): PodSettings {
  return { sidecars, ...given({ podSelector }) };
}

/** What {@link derivePodDataplanes} reads. */
interface PodInputs {
  readonly live: Collection<LiveObject>;
  /** {@link PodSettings}. One entry, key and partition empty. */
  readonly settings: Collection<JsonValue>;
  readonly facts: LiveFacts;
  readonly liveDataplanes: Derived<KnownDataplane | Uncounted>;
}

/** Derives the data planes of Pods that have no readable live Dataplane. */
export function derivePodDataplanes(
  graph: Graph,
  { live, settings, facts, liveDataplanes }: PodInputs,
): Derived<KnownDataplane> {
  const { selecting, services, slices, naming, owners, meshes } = facts;
  return graph.derive<LiveObject, KnownDataplane>({
    name: 'podDataplanes',
    from: live,
    keys: isOfKind(liveKinds.pod),
    reads: [settings, live, liveDataplanes, selecting, services, slices, naming, owners, meshes],
    compute: ({ partition: cluster, key, value: { value } }, read, emit) => {
      const { namespace, name } = objectRefOf(key as ObjectKey);
      const its = read.get(settings, '', '') as unknown as PodSettings | undefined;
      if (its === undefined || !isDataplane(value, its)) return;
      const dataplane = read.get(liveDataplanes, cluster, keyOfKind(liveKinds.dataplane, namespace, name));
      if (dataplane !== undefined && !('uncounted' in dataplane && dataplane.uncounted === 'unreadable')) return;
      const pod = readPod(key as ObjectKey, value);
      const known = knownPod(pod, its, {
        cluster,
        mesh: meshOf(value) || (read.get(meshes, cluster, keyOfKind(liveKinds.namespace, '', namespace)) ?? 'default'),
        services: servicesOf(read, facts, cluster, pod),
        // A derivation from Nodes would cost each Node of a fleet a computation; only Pods with a sidecar need them.
        topology: topologyOf(read.get(live, cluster, keyOfKind(liveKinds.node, '', pod.node))?.value ?? {}),
        // Only a Pod without Service and some gateways are named after their owner.
        workload: () => workloadOf(read, owners, cluster, pod),
      });
      if (known !== undefined) emit(cluster, key, known);
    },
  });
}

/** The Services of a Pod, by name. */
function servicesOf(
  read: Reader,
  { selecting, services, naming }: LiveFacts,
  cluster: string,
  pod: Pod,
): readonly ServiceFacts[] {
  const { namespace, labels } = pod;
  const found = new Map<string, ServiceFacts>();
  for (const [key, value] of Object.entries(labels)) {
    for (const { value: service } of read.members(selecting, selectedBy(cluster, namespace, key, value))) {
      if (isSelected(service, labels)) found.set(service.name, service);
    }
  }
  for (const group of namingGroups(read, naming, cluster, pod)) {
    for (const { value: slice } of read.members(naming, group)) {
      const service = read.get(services, cluster, slice.service);
      if (service !== undefined) found.set(service.name, service);
    }
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Most namespaces have no slice that names Pods: there a Pod need not wait for one. */
function namingGroups(
  read: Reader,
  naming: LiveFacts['naming'],
  cluster: string,
  { namespace, name, uid }: Pod,
): readonly string[] {
  if (read.count(naming, namingIn(cluster, namespace)) === 0) return [];
  const byName = namedAs(cluster, namespace, { name, uid: '' });
  return uid === '' ? [byName] : [byName, namedAs(cluster, namespace, { name, uid })];
}

function isSelected({ selector }: ServiceFacts, labels: Pod['labels']): boolean {
  return Object.entries(selector).every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value);
}

/** The Deployment or CronJob of a Pod, else its owner, else itself. */
function workloadOf(read: Reader, owners: Collection<Owner>, cluster: string, { namespace, name, owner }: Pod): Owner {
  if (owner === undefined) return { kind: 'Pod', name };
  const kind = OWNED.get(owner.kind);
  if (kind === undefined) return owner;
  const above = read.get(owners, cluster, keyOfKind(kind.owned, namespace, owner.name));
  return above?.kind === kind.by ? above : owner;
}

/** By kind of a Pod's owner: its kind in keys, and the kind of its own owner that names the Pod. */
const OWNED: ReadonlyMap<string, { readonly owned: string; readonly by: string }> = new Map([
  ['ReplicaSet', { owned: liveKinds.replicaSet, by: 'Deployment' }],
  ['Job', { owned: liveKinds.job, by: 'CronJob' }],
]);
