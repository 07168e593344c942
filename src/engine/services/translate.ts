import type { LiveObject } from '../../model/agent.ts';
import { objectDigest, sha256 } from '../../model/digest.ts';
import { SERVICE_NAME_LABEL } from '../../model/endpoints.ts';
import type { ClusterName, Digest } from '../../model/ids.ts';
import { type JsonObject, type JsonValue, objectOf, objectsOf, textOf } from '../../model/json.ts';
import { metadataOf, type ObjectKey, objectKey, objectRefOf } from '../../model/object-key.ts';
import type { Collection, Derived, Graph } from '../collections/types.ts';
import type { Want } from '../placement/wants.ts';
import { type LiveServices, ownLabels, slicesOf } from './live-services.ts';
import type { ServiceExport } from './mirrors.ts';

/** The name of this domain. */
export const SERVICES = 'services';

/** Derives the wants of each exported service: a Service and its EndpointSlices. */
export function deriveServiceWants(
  graph: Graph,
  exports: Collection<ServiceExport>,
  live: Collection<LiveObject>,
  { slices }: LiveServices,
): Derived<Want> {
  return graph.derive<ServiceExport, Want>({
    name: 'serviceWants',
    from: exports,
    reads: [live, slices],
    compute: ({ partition, key, value: { from, to, service, origin, identity } }, read, emit) => {
      const object = read.get(live, from, service);
      if (object === undefined) return;
      const { namespace, name } = objectRefOf(service);
      const own = read.members(slices, slicesOf(from, namespace, name)).map(({ value }) => value);
      const declared = { clusters: to, origin, identity, scope: [from], scopeUnknown: false };
      const mirrored = mirroredService(from, object);
      const derived = { domain: SERVICES, standsFor: { cluster: from, key: service } };
      emit(partition, `${key}\u0000${service}`, { ...mirrored, ...declared, derived });
      const requires = { key: mirrored.key, standsFor: derived.standsFor };
      for (const slice of own) {
        const standsFor = { cluster: from, key: slice.key };
        const want = { ...mirroredSlice(from, service, slice), ...declared };
        emit(partition, `${key}\u0000${slice.key}`, { ...want, derived: { domain: SERVICES, standsFor, requires } });
      }
    },
  });
}

type Translated = Pick<Want, 'key' | 'value' | 'digest'>;

/** Annotations and labels of the object's own cluster or of its author. */
const LEFT_BEHIND = /^(kubectl\.kubernetes\.io\/last-applied-configuration$|([^/]*\.)?fleetrelay\.dev\/)/;

/** The headless Service that stands for a live Service in other clusters. */
function mirroredService(cluster: ClusterName, { key, value }: LiveObject): Translated {
  const { namespace, name } = objectRefOf(key);
  const metadata = metadataOf(value);
  const annotations = portable(metadata.annotations);
  return translated(key, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: mirroredName(cluster, name),
      namespace,
      labels: { ...portable(metadata.labels), ...labelsFor(cluster, name) },
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    },
    spec: {
      type: 'ClusterIP',
      clusterIP: 'None',
      ports: objectsOf(objectOf(value.spec).ports).map((port) => picked(port, PORT)),
    },
  });
}

/** The EndpointSlice of a mirrored Service with the addresses of a live slice. */
function mirroredSlice(cluster: ClusterName, service: ObjectKey, { key, value }: LiveObject): Translated {
  const { namespace, name } = objectRefOf(key);
  const { name: serviceName } = objectRefOf(service);
  const addressType = textOf(value.addressType);
  return translated(key, {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: mirroredName(cluster, name),
      namespace,
      labels: {
        ...labelsFor(cluster, serviceName),
        [SERVICE_NAME_LABEL]: mirroredName(cluster, serviceName),
        // Without this label the cluster's controller takes the slice for its own and deletes it.
        'endpointslice.kubernetes.io/managed-by': 'fleetrelay.dev',
      },
    },
    addressType: addressType === '' ? 'IPv4' : addressType,
    // Nodes and Pods of the same name in another cluster are others.
    endpoints: objectsOf(value.endpoints).map((one) => picked(one, ['addresses', 'conditions', 'hostname', 'zone'])),
    ports: objectsOf(value.ports).map((port) => picked(port, PORT)),
  });
}

const PORT = ['name', 'port', 'protocol', 'appProtocol'];

function labelsFor(cluster: ClusterName, service: string): Readonly<Record<string, string>> {
  return { [ownLabels.backend]: labelValue(cluster), [ownLabels.service]: labelValue(service) };
}

function translated(live: ObjectKey, value: JsonObject): Translated {
  const { group, kind } = objectRefOf(live);
  const { namespace, name } = metadataOf(value);
  const key = objectKey({ group, kind, namespace: textOf(namespace), name: textOf(name) });
  const digest: Digest = objectDigest(value);
  return { key, value, digest };
}

/** Removes members that are not text, as in the files of a directory cluster: an API server would refuse them. */
function portable(labels: JsonValue | undefined): JsonObject {
  return Object.fromEntries(
    Object.entries(objectOf(labels)).filter(([name, value]) => typeof value === 'string' && !LEFT_BEHIND.test(name)),
  );
}

function picked(from: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = from[name];
      return value === undefined || value === null ? [] : [[name, value] as const];
    }),
  );
}

/** The limit of a DNS label; longer joined names are shortened. */
const LONGEST = 63;
const HASH = 6;

/**
 * The name of a mirrored object by Gimbal's rule, so that existing routes stay valid: cluster and name, joined by a hyphen.
 * From 63 bytes on, parts beyond their share are cut, the last one first, and end with the beginning of their hash. Different
 * services can get the same name: the caller must detect that.
 */
export function mirroredName(cluster: string, name: string): string {
  return shortened([cluster, name]);
}

/** A name as the value of a label, shortened by the same rule. */
export function labelValue(name: string): string {
  return shortened([name]);
}

function shortened(parts: readonly string[]): string {
  const cut = [...parts];
  const share = Math.floor(LONGEST / parts.length);
  for (let last = cut.length - 1; last >= 0 && cut.join('-').length >= LONGEST; last -= 1) {
    const part = parts[last] ?? '';
    if (part.length > share) cut[last] = part.slice(0, share - HASH) + sha256(part).slice(0, HASH);
  }
  return cut.join('-');
}
