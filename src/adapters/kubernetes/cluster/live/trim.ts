import { metadataOf } from '../../../../model/objects/object-key.ts';
import { withoutSecretValues } from '../../../../model/objects/secret-values.ts';
import { liveMetadata } from '../../../../model/objects/server-fields.ts';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectOf,
  objectsOf,
  textOf,
} from '../../../../model/text/json.ts';
import { withoutStamp } from '../stamp.ts';
import { pick } from './pick.ts';

/** Leaves out what no part of fleetrelay reads of an object of others. Objects of kinds that it does not know stay as they are. */
export type Trim = (value: JsonObject) => JsonObject;

/**
 * The part of a live object that is kept: without stamp, the server's own metadata and the values of a Secret. Objects of
 * others (`trim`) of some kinds lose the fields that no part of fleetrelay reads, and those that change all the time.
 */
export function trimObject(raw: JsonObject, trim?: Trim): JsonObject {
  const { metadata: _metadata, ...rest } = raw;
  const value = { ...rest, metadata: liveMetadata(metadataOf(raw), textOf(raw.kind)) };
  return withoutStamp(trim === undefined ? withoutSecretValues(value) : trimKind(value, trim));
}

function trimKind(value: JsonObject, trim: Trim): JsonObject {
  switch (`${textOf(value.apiVersion)} ${textOf(value.kind)}`) {
    case 'v1 Pod':
      return { ...value, spec: trimPodSpec(objectOf(value.spec)), status: trimPodStatus(objectOf(value.status)) };
    case 'v1 Node':
      return { ...value, status: trimNodeStatus(objectOf(value.status)) };
    case 'apps/v1 ReplicaSet':
    case 'batch/v1 Job':
      return { ...pick(value, TYPE), metadata: pick(metadataOf(value), OWNED) };
    default:
      return withoutSecretValues(trim(value));
  }
}

const TYPE: readonly string[] = ['apiVersion', 'kind'];
/** Labels decide whether the object is discovered. */
const OWNED: readonly string[] = ['name', 'namespace', 'labels', 'ownerReferences'];

const POD_SPEC: readonly string[] = ['hostNetwork', 'nodeName', 'serviceAccountName', 'subdomain', 'hostname'];
const CONTAINER: readonly string[] = ['name', 'image', 'ports', 'readinessProbe', 'restartPolicy'];
const POD_STATUS: readonly string[] = ['phase', 'podIP', 'podIPs', 'hostIP', 'reason'];
const CONTAINER_STATUS: readonly string[] = ['name', 'ready', 'started'];
const NODE_STATUS: readonly string[] = ['addresses'];
const NODE_INFO: readonly string[] = ['kubeletVersion'];
const NODE_CONDITION: readonly string[] = ['type', 'status', 'reason', 'message'];

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
    ...trimStatuses('containerStatuses', status),
    ...trimStatuses('initContainerStatuses', status),
  };
}

function trimStatuses(field: string, { [field]: statuses }: JsonObject): JsonObject {
  return statuses === undefined ? {} : { [field]: objectsOf(statuses).map(trimContainerStatus) };
}

/** Without the messages of its state, which name pauses and addresses. */
function trimContainerStatus(status: JsonObject): JsonObject {
  const { waiting, running, terminated } = objectOf(status.state);
  return {
    ...pick(status, CONTAINER_STATUS),
    ...(isJsonObject(waiting) ? { state: { waiting: pick(waiting, ['reason']) } } : {}),
    ...(isJsonObject(running) ? { state: { running: pick(running, ['startedAt']) } } : {}),
    ...(isJsonObject(terminated)
      ? { state: { terminated: pick(terminated, ['reason', 'exitCode', 'finishedAt']) } }
      : {}),
  };
}

/** Without the heartbeats of the node's conditions. */
function trimNodeStatus(status: JsonObject): JsonObject {
  return {
    ...pick(status, NODE_STATUS),
    nodeInfo: pick(objectOf(status.nodeInfo), NODE_INFO),
    conditions: objectsOf(status.conditions).map((one) => pick(one, NODE_CONDITION)),
  };
}

function conditions(value: JsonValue | undefined): readonly JsonObject[] {
  return objectsOf(value).map((one) => ({
    type: textOf(one.type),
    status: textOf(one.status),
    reason: textOf(one.reason),
  }));
}
