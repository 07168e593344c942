import { isJsonObject, type JsonObject, type JsonValue, objectOf, objectsOf, textOf } from '../../../../model/json.ts';
import { metadataOf } from '../../../../model/object-key.ts';
import { withoutStamp } from '../stamp.ts';

/** Metadata that only the API server sets and that carries no information about the object. */
export const SERVERS_OWN: readonly string[] = [
  'creationTimestamp',
  'deletionGracePeriodSeconds',
  'generation',
  'managedFields',
  'resourceVersion',
  'selfLink',
  'uid',
];
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/**
 * The part of a live object that is kept: without stamp, the server's own metadata and the values of a Secret. Pods and Nodes
 * of others lose the fields that no part of fleetrelay reads and those that change all the time.
 */
export function trimObject(raw: JsonObject, ours: boolean): JsonObject {
  const { metadata: _metadata, ...rest } = raw;
  return withoutStamp({
    ...(ours ? withoutSecret(rest) : trimKind(rest)),
    metadata: trimMetadata(metadataOf(raw)),
  });
}

function trimMetadata(metadata: JsonObject): JsonObject {
  const kept = Object.fromEntries(Object.entries(metadata).filter(([name]) => !SERVERS_OWN.includes(name)));
  if (!isJsonObject(kept.annotations)) return kept;
  const { [LAST_APPLIED]: _lastApplied, ...annotations } = kept.annotations;
  return { ...kept, annotations };
}

function trimKind(value: JsonObject): JsonObject {
  if (value.apiVersion !== 'v1') return value;
  switch (value.kind) {
    case 'Pod':
      return { ...value, spec: trimPodSpec(objectOf(value.spec)), status: trimPodStatus(objectOf(value.status)) };
    case 'Node':
      return { ...value, status: trimNodeStatus(objectOf(value.status)) };
    default:
      return withoutSecret(value);
  }
}

function withoutSecret(value: JsonObject): JsonObject {
  if (value.apiVersion !== 'v1' || value.kind !== 'Secret') return value;
  const { data: _data, stringData: _stringData, ...named } = value;
  return named;
}

const POD_SPEC: readonly string[] = ['hostNetwork', 'nodeName', 'serviceAccountName', 'subdomain', 'hostname'];
const CONTAINER: readonly string[] = ['name', 'image', 'ports', 'readinessProbe', 'restartPolicy'];
const POD_STATUS: readonly string[] = ['phase', 'podIP', 'podIPs', 'hostIP', 'reason'];
const CONTAINER_STATUS: readonly string[] = ['name', 'ready', 'started'];
const NODE_STATUS: readonly string[] = ['addresses'];

function trimPodSpec(spec: JsonObject): JsonObject {
  return {
    ...pick(spec, POD_SPEC),
    containers: objectsOf(spec.containers).map((container) => pick(container, CONTAINER)),
    ...(spec.initContainers === undefined
      ? {}
      : { initContainers: objectsOf(spec.initContainers).map((container) => pick(container, CONTAINER)) }),
  };
}

function trimPodStatus(status: JsonObject): JsonObject {
  return {
    ...pick(status, POD_STATUS),
    conditions: conditions(status.conditions),
    ...(status.containerStatuses === undefined
      ? {}
      : { containerStatuses: objectsOf(status.containerStatuses).map((one) => pick(one, CONTAINER_STATUS)) }),
  };
}

/** Without the heartbeat of the node's conditions. */
function trimNodeStatus(status: JsonObject): JsonObject {
  return { ...pick(status, NODE_STATUS), conditions: conditions(status.conditions) };
}

function conditions(value: JsonValue | undefined): readonly JsonObject[] {
  return objectsOf(value).map((one) => ({
    type: textOf(one.type),
    status: textOf(one.status),
    reason: textOf(one.reason),
  }));
}

function pick(value: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.filter((name) => value[name] !== undefined).map((name) => [name, value[name]]));
}
