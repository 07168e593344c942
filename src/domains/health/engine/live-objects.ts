import type { Collection, Derived, Graph, Index } from '../../../engine/collections/types.ts';
import type { LiveObject } from '../../../model/agent/agent.ts';
import type { engineKinds } from '../../../model/fleet/engine-kinds.ts';
import { SERVICE_NAME_LABEL } from '../../../model/objects/endpoints.ts';
import { annotationOf, labelsOf, metadataOf, type ObjectKey, objectRefOf } from '../../../model/objects/object-key.ts';
import { type JsonObject, type JsonValue, objectOf, objectsOf, textOf } from '../../../model/text/json.ts';
import { createSharing } from '../../../model/values/shared-values.ts';
import { isPort, type Tags } from '../model/dataplane.ts';

/** The kinds of live objects that data planes are computed from, by `group/Kind`. */
export const liveKinds = {
  dataplane: 'kuma.io/Dataplane',
  insight: 'kuma.io/DataplaneInsight',
  node: '/Node',
  pod: '/Pod',
  service: '/Service',
  slice: 'discovery.k8s.io/EndpointSlice',
  namespace: '/Namespace',
  replicaSet: 'apps/ReplicaSet',
  job: 'batch/Job',
} as const satisfies Readonly<Record<string, (typeof engineKinds)['Dataplane']['discovers'][number]>>;

/** Tests keys for an object of one of the kinds. */
export function isOfKind(...kinds: readonly string[]): (key: string) => boolean {
  const prefixes = kinds.map((kind) => `${kind}/`);
  return (key) => prefixes.some((prefix) => key.startsWith(prefix));
}

/** The key of an object of a kind. */
export function keyOfKind(kind: string, namespace: string, name: string): ObjectKey {
  return `${kind}/${namespace}/${name}` as ObjectKey;
}

/** A Service that selects Pods, or whose EndpointSlices name them. Partition: cluster. Key: its object. Scope: its cluster. */
export interface ServiceFacts {
  readonly namespace: string;
  readonly name: string;
  /** Empty: its EndpointSlices name its Pods. */
  readonly selector: Readonly<Record<string, string>>;
  readonly isHeadless: boolean;
  /** The value of {@link ZONE_PROXY_LABEL}; absent: its ports are inbounds of Pods, not listeners of zone proxies. */
  readonly zoneProxy?: string;
  /** Those for TCP. */
  readonly ports: readonly ServicePort[];
}

/** A port of a Service. */
export interface ServicePort {
  readonly port: number;
  /** A port of the Pod, or the name of one. */
  readonly target: number | string;
  readonly protocol: string;
}

/** What the Pods of a cluster are joined with. */
export type LiveFacts = ReturnType<typeof deriveLiveFacts>;

/**
 * Derives of live objects what the rules read of them, so that a change of anything else, such as the status of a
 * ReplicaSet, wakes no Pod.
 */
export function deriveLiveFacts(graph: Graph, live: Collection<LiveObject>) {
  const services = graph.derive<LiveObject, ServiceFacts>({
    name: 'dataplaneServices',
    from: live,
    keys: isOfKind(liveKinds.service),
    compute: ({ partition, key, value: { value } }, _read, emit) => {
      const facts = serviceFacts(key as ObjectKey, value);
      if (facts !== undefined) emit(partition, key, facts);
    },
  });
  const named = deriveNamedPods(graph, live, services);
  const owners = graph.derive<LiveObject, Owner>({
    name: 'dataplaneOwners',
    from: live,
    keys: isOfKind(liveKinds.replicaSet, liveKinds.job),
    compute: ({ partition, key, value: { value } }, _read, emit) => {
      const owner = ownerOf(value);
      if (owner !== undefined) emit(partition, key, owner);
    },
  });
  const meshes = graph.derive<LiveObject, string>({
    name: 'dataplaneNamespaces',
    from: live,
    keys: isOfKind(liveKinds.namespace),
    compute: ({ partition, key, value: { value } }, _read, emit) => {
      const mesh = meshOf(value);
      if (mesh !== '') emit(partition, key, mesh);
    },
  });
  return {
    /** Services with a selector; groups of {@link selectedBy}. */
    selecting: graph.index('selectingServices', services, ({ partition, value: { namespace, selector } }) => {
      const [pair] = Object.entries(selector).sort();
      return pair === undefined ? [] : [selectedBy(partition, namespace, pair[0], pair[1])];
    }),
    services,
    ...named,
    derived: [services, named.slices, owners, meshes] as const,
    /** The controllers of ReplicaSets and Jobs, by the key of these. */
    owners,
    /** The meshes that Namespaces name for their Pods. */
    meshes,
  };
}

/** The tags that a live Node gives to the inbounds of its Pods. */
export function topologyOf(node: JsonObject): Tags {
  const labels = Object.entries(textMembers(labelsOf(node)));
  return Object.fromEntries(labels.filter(([label]) => TOPOLOGY_LABELS.has(label)));
}

/** The labels of Nodes that Kuma copies unless it is configured otherwise. */
const TOPOLOGY_LABELS: ReadonlySet<string> = new Set([
  'kubernetes.io/hostname',
  'topology.kubernetes.io/region',
  'topology.kubernetes.io/zone',
]);

/** The group of the Services with this pair in their selectors. */
export function selectedBy(cluster: string, namespace: string, key: string, value: string): string {
  return `${cluster}/${namespace}/${key}=${value}`;
}

/** The Pods that the EndpointSlices of a Service without selector name. Partition: cluster. Key: the slice. */
interface NamedPods {
  readonly service: ObjectKey;
  readonly pods: readonly { readonly name: string; readonly uid: string }[];
}

function deriveNamedPods(graph: Graph, live: Collection<LiveObject>, services: Derived<ServiceFacts>) {
  const slices = graph.derive<LiveObject, NamedPods>({
    name: 'dataplaneSlices',
    from: live,
    keys: isOfKind(liveKinds.slice),
    reads: [services],
    compute: ({ partition, key, value: { value } }, read, emit) => {
      const { namespace } = objectRefOf(key as ObjectKey);
      const service = keyOfKind(liveKinds.service, namespace, textOf(labelsOf(value)[SERVICE_NAME_LABEL]));
      const facts = read.get(services, partition, service);
      if (facts === undefined || Object.keys(facts.selector).length > 0) return;
      const pods = objectsOf(value.endpoints).flatMap(({ targetRef }) => {
        const { kind, namespace: its = namespace, name, uid } = objectOf(targetRef);
        return kind === 'Pod' && its === namespace ? [{ name: textOf(name), uid: textOf(uid) }] : [];
      });
      if (pods.length > 0) emit(partition, key, { service, pods });
    },
  });
  /** Groups of {@link namedAs} and {@link namingIn}. */
  const naming: Index<NamedPods> = graph.index('slicesNamingPods', slices, ({ partition, key, value: { pods } }) => {
    const { namespace } = objectRefOf(key as ObjectKey);
    return [namingIn(partition, namespace), ...pods.map((pod) => namedAs(partition, namespace, pod))];
  });
  return { slices, naming };
}

/** The group of all slices of a namespace that name Pods. */
export function namingIn(cluster: string, namespace: string): string {
  return `${cluster}/${namespace}`;
}

/** The group of the slices that name a Pod by its UID, or if they do not know that, by its name. */
export function namedAs(
  cluster: string,
  namespace: string,
  { name, uid }: { readonly name: string; readonly uid: string },
): string {
  return uid === '' ? `${cluster}/${namespace}/name:${name}` : `${cluster}/${namespace}/uid:${uid}`;
}

function serviceFacts(key: ObjectKey, value: JsonObject): ServiceFacts | undefined {
  const spec = objectOf(value.spec);
  if (spec.type === 'ExternalName' || ENABLED.has(annotationOf(value, 'kuma.io/ignore'))) return undefined;
  const { namespace, name } = objectRefOf(key);
  const ports = objectsOf(spec.ports).flatMap((one) => portOf(one, value));
  const isHeadless = spec.clusterIP === 'None';
  const zoneProxy = labelsOf(value)[ZONE_PROXY_LABEL];
  const facts = {
    namespace,
    name,
    selector: sharedSelector(textMembers(spec.selector)),
    isHeadless,
    ports: sharedPorts(ports),
  };
  return zoneProxy === undefined ? facts : { ...facts, zoneProxy: textOf(zoneProxy) };
}

/** Most Services of a fleet have one of few lists of ports, and the copies of a Service in many clusters one selector. */
const sharedSelector = createSharing<ServiceFacts['selector']>();
const sharedPorts = createSharing<ServiceFacts['ports']>();

/** The label of a Service that leads to zone proxies: `ingress` or `egress`. */
export const ZONE_PROXY_LABEL = 'k8s.kuma.io/zone-proxy-type';

/** Values of annotations of Kuma that switch something on. */
export const ENABLED: ReadonlySet<string> = new Set(['true', 'yes', 'enabled']);
const PROTOCOLS: ReadonlySet<string> = new Set(['http', 'http2', 'tcp', 'tls', 'grpc', 'kafka', 'mysql']);

function portOf({ protocol = 'TCP', port, targetPort = port, appProtocol }: JsonObject, service: JsonObject) {
  if (protocol !== 'TCP' || typeof port !== 'number' || !isPort(port)) return [];
  const target = typeof targetPort === 'number' ? targetPort : textOf(targetPort);
  if (typeof target === 'number' && !isPort(target)) return [];
  const known = PROTOCOLS.has(textOf(appProtocol).toLowerCase()) ? textOf(appProtocol) : '';
  const written = known || annotationOf(service, `${port}.service.kuma.io/protocol`) || 'tcp';
  return [{ port, target, protocol: written.toLowerCase() }];
}

/** The members that are text. */
export function textMembers(value: JsonValue | undefined): Readonly<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const [name, member] of Object.entries(objectOf(value))) if (typeof member === 'string') texts[name] = member;
  return texts;
}

/** The controller of an object. */
export interface Owner {
  readonly kind: string;
  readonly name: string;
}

/** The controller of an object, else its first owner; undefined: it has none. */
export function ownerOf(value: JsonObject): Owner | undefined {
  const owners = objectsOf(metadataOf(value).ownerReferences);
  const owner = owners.find(({ controller }) => controller === true) ?? owners[0];
  return owner === undefined ? undefined : { kind: textOf(owner.kind), name: textOf(owner.name) };
}

/** The mesh that a label or else an annotation of an object names; empty: neither does. */
export function meshOf(value: JsonObject): string {
  return textOf(labelsOf(value)['kuma.io/mesh']) || annotationOf(value, 'kuma.io/mesh');
}
