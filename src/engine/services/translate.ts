import type { LiveObject } from '../../model/agent.ts';
import { objectDigest } from '../../model/digest.ts';
import { SERVICE_NAME_LABEL } from '../../model/endpoints.ts';
import type { ClusterName, Digest } from '../../model/ids.ts';
import { type JsonObject, type JsonValue, objectOf, objectsOf, textOf } from '../../model/json.ts';
import { type ObjectKey, objectKey, objectRefOf } from '../../model/object-key.ts';
import { ownLabels } from './live-services.ts';
import { labelValue, mirroredName } from './names.ts';

/** An object that stands in another cluster for one that lives in this one. */
export interface MirroredObject {
  readonly key: ObjectKey;
  readonly value: JsonObject;
  readonly digest: Digest;
  /** The live object that it stands for. */
  readonly of: ObjectKey;
  /** Of a slice: the mirrored Service that its addresses belong to. */
  readonly requires?: ObjectKey;
}

/** Annotations and labels that belong to the object's own cluster or to its author. */
const LEFT_BEHIND = /^(kubectl\.kubernetes\.io\/last-applied-configuration$|([^/]*\.)?fleetrelay\.dev\/)/;

/** The Service and EndpointSlices that make a live Service known elsewhere: headless, with the addresses of its own. */
export function mirrorOf(
  cluster: ClusterName,
  service: LiveObject,
  slices: readonly LiveObject[],
): readonly MirroredObject[] {
  const { namespace, name } = objectRefOf(service.key);
  const labels = { [ownLabels.backend]: labelValue(cluster), [ownLabels.service]: labelValue(name) };
  const serviceName = mirroredName(cluster, name);
  const metadata = objectOf(service.value.metadata);
  const annotations = portable(metadata.annotations);
  const made: JsonObject = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: serviceName,
      namespace,
      labels: { ...portable(metadata.labels), ...labels },
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    },
    spec: {
      type: 'ClusterIP',
      clusterIP: 'None',
      ports: objectsOf(objectOf(service.value.spec).ports).map((port) =>
        picked(port, ['name', 'port', 'protocol', 'appProtocol']),
      ),
    },
  };
  const standIn = mirrored(made, service.key);
  return [
    standIn,
    ...slices.map((slice) => ({
      ...mirrored(sliceOf(cluster, slice, serviceName, labels), slice.key),
      requires: standIn.key,
    })),
  ];
}

function sliceOf(
  cluster: ClusterName,
  { key, value }: LiveObject,
  serviceName: string,
  labels: Readonly<Record<string, string>>,
): JsonObject {
  const { namespace, name } = objectRefOf(key);
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: mirroredName(cluster, name),
      namespace,
      // Without a manager of its own, the cluster's controllers would take the slice for one of theirs and delete it.
      labels: {
        ...labels,
        [SERVICE_NAME_LABEL]: serviceName,
        'endpointslice.kubernetes.io/managed-by': 'fleetrelay.dev',
      },
    },
    addressType: textOf(value.addressType) === '' ? 'IPv4' : textOf(value.addressType),
    // A node or a Pod of that name means something else over there.
    endpoints: objectsOf(value.endpoints).map((endpoint) =>
      picked(endpoint, ['addresses', 'conditions', 'hostname', 'zone']),
    ),
    ports: objectsOf(value.ports).map((port) => picked(port, ['name', 'port', 'protocol', 'appProtocol'])),
  };
}

function mirrored(value: JsonObject, of: ObjectKey): MirroredObject {
  const { group, kind } = objectRefOf(of);
  const { namespace, name } = objectOf(value.metadata);
  const key = objectKey({ group, kind, namespace: textOf(namespace), name: textOf(name) });
  return { key, value, digest: objectDigest(value), of };
}

/** Leaves out members that an API server would refuse: live state of a directory can have a number as a label. */
function portable(labels: JsonValue | undefined): JsonObject {
  const isPortable = ([name, value]: readonly [string, JsonValue | undefined]): boolean =>
    typeof value === 'string' && !LEFT_BEHIND.test(name);
  return Object.fromEntries(Object.entries(objectOf(labels)).filter(isPortable));
}

function picked(from: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = from[name];
      return value === undefined || value === null ? [] : [[name, value] as const];
    }),
  );
}
