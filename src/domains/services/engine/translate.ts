import type { Want } from '../../../engine/placement/wants.ts';
import type { LiveObject } from '../../../model/agent/agent.ts';
import type { ClusterName, Digest } from '../../../model/fleet/ids.ts';
import { REMOVED_AFTER, UPDATED_AFTER } from '../../../model/objects/apply-order.ts';
import { SERVICE_NAME_LABEL } from '../../../model/objects/endpoints.ts';
import { mirrorLabels } from '../../../model/objects/mirror-labels.ts';
import { metadataOf, type ObjectKey, objectKey, objectRefOf } from '../../../model/objects/object-key.ts';
import { objectDigest } from '../../../model/text/digest.ts';
import { type JsonObject, type JsonValue, objectOf, objectsOf, textOf } from '../../../model/text/json.ts';
import { matchesAnyName } from '../../../model/text/name-glob.ts';
import { given } from '../../../model/values/given.ts';
import { createSharing } from '../../../model/values/shared-values.ts';
import type { MirrorCopy } from '../model/mirror.ts';
import { labelValue, mirroredName } from './names.ts';

/** A finished object. */
export type Translated = Pick<Want, 'key' | 'value' | 'digest'>;

/** Annotations and labels that are never copied: they say something of the object's own cluster, its author or mirroring. */
const LEFT_BEHIND =
  /^(kubectl\.kubernetes\.io\/last-applied-configuration$|([^/]*\.)?fleetrelay\.dev\/|gimbal\.projectcontour\.io\/)/;

/**
 * The headless Service that stands for a live Service in other clusters. Programs there act on labels and annotations, so it
 * gets none of its Service but those that the ServiceMirror copies.
 */
export function mirroredService(cluster: ClusterName, { key, value }: LiveObject, copy: MirrorCopy): Translated {
  const { namespace, name } = objectRefOf(key);
  const metadata = metadataOf(value);
  const annotations = copied(copy.annotations, metadata.annotations);
  return headlessService({
    metadata: {
      name: mirroredName(cluster, name),
      namespace,
      labels: { ...copied(copy.labels, metadata.labels), ...labelsFor(cluster, name) },
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    },
    ports: objectsOf(objectOf(value.spec).ports).map((port) => picked(port, PORT)),
  });
}

/** The key of {@link mirroredService}. */
export function mirroredKey(cluster: ClusterName, service: ObjectKey): ObjectKey {
  const { namespace, name } = objectRefOf(service);
  return serviceKey(namespace, mirroredName(cluster, name));
}

/** The key of a Service. */
export function serviceKey(namespace: string, name: string): ObjectKey {
  return objectKey({ group: '', kind: 'Service', namespace, name });
}

/** Whether an endpoint is in the load-balancing set of its service at a port; undefined: it is no inbound of a data plane. */
export type IsInSet = (address: string, port: number) => boolean | undefined;

/** An EndpointSlice with the addresses of a live one at some of its ports. */
export interface MirroredSlice extends Translated {
  /** The slice has no endpoints: another slice has the endpoints of its port while all ports of each endpoint are ready alike. */
  readonly isSpare: boolean;
}

/**
 * The EndpointSlices of a mirrored Service with the addresses of a live slice: one, unless an endpoint is in its set at some
 * ports only. The conditions of an endpoint hold for all ports of its slice, so ports that differ from the first one get
 * slices of their own, which are spare while they do not differ. A slice loses a port or its endpoints only when the slice that gets
 * them is applied.
 */
export function mirroredSlices(
  cluster: ClusterName,
  service: ObjectKey,
  { key, value }: LiveObject,
  isInSet: IsInSet,
): readonly MirroredSlice[] {
  const { namespace, name } = objectRefOf(key);
  const { name: serviceName } = objectRefOf(service);
  const addressType = textOf(value.addressType) === '' ? 'IPv4' : textOf(value.addressType);
  const endpoints = objectsOf(value.endpoints);
  // Only a malformed slice has several ports of one name.
  const ports = [...Map.groupBy(objectsOf(value.ports), (port) => textOf(port.name)).values()].map((alike) => {
    const sets = endpoints.map((endpoint) => setOf(endpoint, alike, isInSet));
    return { alike, sets, isOut: sets.map((set) => set === false) };
  });
  const [first] = ports;
  const differs = ({ isOut }: { readonly isOut: readonly boolean[] }): boolean =>
    isOut.some((is, at) => is !== first?.isOut[at]);
  type Own = Pick<SliceParts, 'name' | 'annotations' | 'endpoints'>;
  const slice = ({ endpoints: its, ...own }: Own, of: readonly JsonObject[]): Translated =>
    endpointSlice({
      ...own,
      namespace,
      service: mirroredName(cluster, serviceName),
      labels: labelsFor(cluster, serviceName),
      addressType,
      endpoints: its,
      ports: of.map((port) => picked(port, PORT)),
    });
  const mainName = mirroredName(cluster, name);
  const others = ports.slice(1).flatMap(({ alike, sets, isOut }) => {
    const isSpare = !differs({ isOut });
    if (isSpare && sets.every((set) => set === undefined)) return [];
    const own: Own = {
      name: mirroredName(cluster, `${name}-${textOf(alike[0]?.name)}`),
      annotations: { [isSpare ? UPDATED_AFTER : REMOVED_AFTER]: mainName },
      endpoints: isSpare ? [] : endpointsOf(endpoints, isOut),
    };
    return [{ ...slice(own, alike), isSpare, name: own.name }];
  });
  const together = ports.filter((port) => !differs(port)).flatMap(({ alike }) => alike);
  const apart = others.flatMap(({ isSpare, name: other }) => (isSpare ? [] : [other]));
  const main: Own = {
    name: mainName,
    ...(apart.length === 0 ? {} : { annotations: { [UPDATED_AFTER]: apart.join(',') } }),
    endpoints: endpointsOf(endpoints, first?.isOut),
  };
  return [{ ...slice(main, together), isSpare: false }, ...others.map(({ name: _, ...other }) => other)];
}

/** As {@link IsInSet}, for an endpoint at ports. False if it is for any of the addresses: clients may use each of them. */
function setOf({ addresses }: JsonObject, ports: readonly JsonObject[], isInSet: IsInSet): boolean | undefined {
  if (!Array.isArray(addresses)) return undefined;
  const sets = ports
    // The inbounds of data planes are for TCP.
    .flatMap(({ port, protocol = 'TCP' }) => (typeof port === 'number' && protocol === 'TCP' ? [port] : []))
    .flatMap((port) => addresses.map((address) => isInSet(textOf(address), port)));
  return sets.find((set) => set === false) ?? sets.find((set) => set !== undefined);
}

/** Nodes and Pods of the same name in another cluster are others. */
const ENDPOINT = ['addresses', 'conditions', 'hostname', 'zone'];

function endpointsOf(endpoints: readonly JsonObject[], isOut: readonly boolean[] = []): readonly JsonObject[] {
  return endpoints.map((endpoint, at) => {
    const kept = picked(endpoint, ENDPOINT);
    return isOut[at] === true
      ? { ...kept, conditions: { ...objectOf(kept.conditions), ...conditionsOf(false) } }
      : kept;
  });
}

/** The conditions of an endpoint by the load-balancing set. */
export function conditionsOf(isInSet: boolean): JsonObject {
  return { ready: isInSet, serving: isInSet };
}

/** A Service without an address of its own. */
export function headlessService({
  metadata,
  ports,
}: {
  readonly metadata: JsonObject;
  readonly ports: JsonValue;
}): Translated {
  const spec = sharedSpec({ type: 'ClusterIP', clusterIP: 'None', ports });
  return finished('', { apiVersion: 'v1', kind: 'Service', metadata, spec });
}

/** Most mirrored Services of a fleet have one of few lists of ports. */
const sharedSpec = createSharing<JsonObject>();

/** What {@link endpointSlice} makes a slice of. */
interface SliceParts {
  readonly namespace: string;
  readonly name: string;
  /** The name of its mirrored Service. */
  readonly service: string;
  readonly labels: JsonObject;
  readonly annotations?: JsonObject | undefined;
  readonly addressType: string;
  readonly endpoints: JsonValue;
  readonly ports: JsonValue;
}

/** An EndpointSlice of a mirrored Service. */
export function endpointSlice({ namespace, name, service, labels, annotations, ...content }: SliceParts): Translated {
  const metadata = {
    name,
    namespace,
    labels: {
      ...labels,
      [SERVICE_NAME_LABEL]: service,
      // Without this label the cluster's controller takes the slice for its own and deletes it.
      'endpointslice.kubernetes.io/managed-by': 'fleetrelay.dev',
    },
    ...given({ annotations }),
  };
  const group = 'discovery.k8s.io';
  return finished(group, { apiVersion: `${group}/v1`, kind: 'EndpointSlice', metadata, ...content });
}

const PORT = ['name', 'port', 'protocol', 'appProtocol'];

/** The labels by which a mirrored object is recognised; see {@link mirrorLabels}. */
export function labelsFor(cluster: string, service: string): Readonly<Record<string, string>> {
  return { [mirrorLabels.backend]: labelValue(cluster), [mirrorLabels.service]: labelValue(service) };
}

function finished(group: string, value: JsonObject): Translated {
  const { namespace, name } = metadataOf(value);
  const key = objectKey({ group, kind: textOf(value.kind), namespace: textOf(namespace), name: textOf(name) });
  const digest: Digest = objectDigest(value);
  return { key, value, digest };
}

/** The members that globs select. Members that are no text, as in the files of a directory cluster, an API server refuses. */
function copied(globs: readonly string[], labels: JsonValue | undefined): JsonObject {
  return Object.fromEntries(
    Object.entries(objectOf(labels)).filter(
      ([name, value]) => typeof value === 'string' && matchesAnyName(globs, name) && !LEFT_BEHIND.test(name),
    ),
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
