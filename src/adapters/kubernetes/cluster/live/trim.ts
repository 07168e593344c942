import { type JsonObject, type JsonValue, objectOf, objectsOf, textOf } from '../../../../model/json.ts';
import { metadataOf } from '../../../../model/object-key.ts';
import { withoutSecretValues, withoutServerFields } from '../../../../model/server-fields.ts';
import { withoutStamp } from '../stamp.ts';

/**
 * The part of a live object that is kept: without stamp, the server's own metadata and the values of a Secret. Pods and Nodes
 * of others lose the fields that no part of fleetrelay reads and those that change all the time.
 */
export function trimObject(raw: JsonObject, ours: boolean): JsonObject {
  const { metadata: _metadata, ...rest } = raw;
  return withoutStamp({
    ...(ours ? withoutSecretValues(rest) : trimKind(rest)),
    metadata: withoutServerFields(metadataOf(raw)),
  });
}

function trimKind(value: JsonObject): JsonObject {
  if (value.apiVersion !== 'v1') return value;
  switch (value.kind) {
    case 'Pod':
      return { ...value, spec: trimPodSpec(objectOf(value.spec)), status: trimPodStatus(objectOf(value.status)) };
    case 'Node':
      return { ...value, status: trimNodeStatus(objectOf(value.status)) };
    default:
      return withoutSecretValues(value);
  }
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
