import { pick } from '../../../../adapters/kubernetes/cluster/live/pick.ts';
import { groupOf } from '../../../../model/objects/object-key.ts';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectOf,
  objectsOf,
  textOf,
} from '../../../../model/text/json.ts';

/** What is kept of the objects of a kind, beside type and metadata; conditions are kept without {@link HEARTBEATS}. */
interface KeptFields {
  readonly spec: readonly string[];
  readonly status: readonly string[];
}

/** Times in conditions that change while nothing else does: each change would travel. */
const HEARTBEATS: readonly string[] = ['lastHeartbeatTime', 'lastProbeTime', 'lastUpdateTime'];

const EXTENSION: KeptFields = {
  spec: ['type', 'class', 'purpose'],
  status: ['conditions', 'lastError', 'lastOperation', 'observedGeneration'],
};

/** The kinds of a Seed that the care of Shoots reads, by group. `*`: the other kinds of the group. */
const KEPT: Readonly<Record<string, Readonly<Record<string, KeptFields>>>> = {
  'druid.gardener.cloud': {
    Etcd: { spec: ['replicas'], status: ['conditions', 'lastErrors', 'observedGeneration', 'ready'] },
  },
  'extensions.gardener.cloud': { '*': EXTENSION },
  'machine.sapcloud.io': {
    Machine: { spec: ['providerID'], status: ['conditions', 'currentStatus', 'lastOperation'] },
    MachineDeployment: {
      spec: ['paused', 'replicas'],
      status: [
        'conditions',
        'failedMachines',
        'observedGeneration',
        'preservedFailedReplicas',
        'readyReplicas',
        'replicas',
        'updatedReplicas',
      ],
    },
  },
  'resources.gardener.cloud': {
    ManagedResource: { spec: ['class'], status: ['conditions', 'observedGeneration', 'resources'] },
  },
};

/**
 * An object of others without what the care of Shoots does not read: states and configurations of providers, lists of
 * managed objects, schemas of definitions, and heartbeats. Objects of other kinds stay as they are.
 */
export function trimCareKind(value: JsonObject): JsonObject {
  const kind = textOf(value.kind);
  const group = groupOf(textOf(value.apiVersion));
  if (group === 'apiextensions.k8s.io' && kind === 'CustomResourceDefinition') return trimDefinition(value);
  const kept = KEPT[group]?.[kind] ?? KEPT[group]?.['*'];
  if (kept === undefined) return value;
  return {
    ...pick(value, ['apiVersion', 'kind', 'metadata']),
    spec: pick(objectOf(value.spec), kept.spec),
    ...(isJsonObject(value.status) ? { status: trimStatus(pick(value.status, kept.status)) } : {}),
  };
}

function trimStatus(status: JsonObject): JsonObject {
  const { conditions, currentStatus, lastOperation, resources, ...others } = status;
  const workloads = isAsExpected(objectsOf(conditions)) ? [] : workloadsOf(resources);
  return {
    ...others,
    ...(workloads.length === 0 ? {} : { resources: workloads }),
    ...(conditions === undefined ? {} : { conditions: objectsOf(conditions).map(withoutHeartbeats) }),
    ...(isJsonObject(currentStatus) ? { currentStatus: withoutHeartbeats(currentStatus) } : {}),
    ...(isJsonObject(lastOperation) ? { lastOperation: withoutHeartbeats(lastOperation) } : {}),
  };
}

/** Whether a ManagedResource is as it should be: then no check asks which objects it manages. */
function isAsExpected(conditions: readonly JsonObject[]): boolean {
  return conditions.every(({ type, status }) => status === (type === 'ResourcesProgressing' ? 'False' : 'True'));
}

const WORKLOADS: readonly string[] = ['DaemonSet', 'Deployment', 'StatefulSet'];

/** Of the objects of a ManagedResource only workloads count: others are healthy when they are applied. */
function workloadsOf(resources: JsonValue | undefined): readonly JsonObject[] {
  const named = objectsOf(resources).filter(({ kind }) => WORKLOADS.includes(textOf(kind)));
  return named.map((one) => pick(one, ['kind', 'namespace', 'name']));
}

function withoutHeartbeats(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !HEARTBEATS.includes(name)));
}

/** Without schemas, which are most of a definition, and without the certificate of its conversion webhook. */
function trimDefinition({ spec, status, ...rest }: JsonObject): JsonObject {
  const { versions, conversion, ...others } = objectOf(spec);
  return {
    ...rest,
    spec: {
      ...others,
      versions: objectsOf(versions).map((version) => pick(version, ['name', 'served', 'storage', 'deprecated'])),
      ...(isJsonObject(conversion) ? { conversion: pick(conversion, ['strategy']) } : {}),
    },
    ...(isJsonObject(status) ? { status: pick(status, ['conditions', 'storedVersions']) } : {}),
  };
}
