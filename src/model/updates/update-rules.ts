import { type JsonObject, type JsonValue, objectOf, objectsOf, textOf } from '../json.ts';
import { type Defaults, POD_DEFAULTS, within } from './defaults.ts';

/** What an API server does with an update of one kind. Fields as `spec.ports.*.protocol`; `*` stands for each item of a list. */
export interface UpdateRule {
  /** Fields that never change, with all that is below them. */
  readonly fixed?: readonly string[];
  /** Fields below them that can change. */
  readonly except?: readonly string[];
  /** Fields that never change once they are set. */
  readonly once?: readonly string[];
  /** Fields that never change while both versions have them. */
  readonly whileSet?: readonly string[];
  /** Values that a field has while a manifest leaves it out, those of a part after the part itself. */
  readonly defaults?: Defaults;
  /**
   * The new version with what stays of the older one although the manifest leaves it out. `live`: the older version with its defaults;
   * `before`: as it was declared.
   */
  readonly kept?: (live: JsonObject, after: JsonObject, before: JsonObject) => JsonObject;
}

/** What can change of the Pods of a Job that has not begun. */
const SUSPENDED = [
  ...['spec.template.metadata.annotations', 'spec.template.metadata.labels', 'spec.template.spec.affinity'],
  ...['spec.template.spec.nodeSelector', 'spec.template.spec.schedulingGates', 'spec.template.spec.tolerations'],
];

/** Stands for an address that an API server has chosen. */
const ALLOCATED = '(allocated)';
const TEMPLATE = 'spec.template.spec';
const RBAC = 'rbac.authorization.k8s.io';
const ROLE_BINDING: UpdateRule = {
  fixed: ['roleRef'],
  defaults: [
    ['roleRef.apiGroup', RBAC],
    ['subjects.*.apiGroup', ({ kind }) => (kind === 'User' || kind === 'Group' ? RBAC : undefined)],
  ],
};
const HISTORY: Defaults = [['spec.revisionHistoryLimit', 10]];
const JOB: Defaults = [
  ['completions', ({ parallelism }) => (parallelism === undefined ? 1 : undefined)],
  ['parallelism', 1],
  ['backoffLimit', 6],
  ['completionMode', 'NonIndexed'],
  ['suspend', false],
  ...within('template.spec', POD_DEFAULTS),
];

/** By `group/Kind`; from the validation and the defaults of kube-apiserver 1.36. */
export const UPDATE_RULES: Readonly<Record<string, UpdateRule>> = {
  'apps/DaemonSet': {
    fixed: ['spec.selector'],
    defaults: [
      ...HISTORY,
      ['spec.updateStrategy', {}],
      ['spec.updateStrategy.type', 'RollingUpdate'],
      ['spec.updateStrategy.rollingUpdate', rolling],
      ['spec.updateStrategy.rollingUpdate.maxUnavailable', 1],
      ['spec.updateStrategy.rollingUpdate.maxSurge', 0],
      ...within(TEMPLATE, POD_DEFAULTS),
    ],
  },
  'apps/Deployment': {
    fixed: ['spec.selector'],
    defaults: [
      ...HISTORY,
      ['spec.replicas', 1],
      ['spec.progressDeadlineSeconds', 600],
      ['spec.strategy', {}],
      ['spec.strategy.type', 'RollingUpdate'],
      ['spec.strategy.rollingUpdate', rolling],
      ['spec.strategy.rollingUpdate.maxUnavailable', '25%'],
      ['spec.strategy.rollingUpdate.maxSurge', '25%'],
      ...within(TEMPLATE, POD_DEFAULTS),
    ],
  },
  'apps/ReplicaSet': {
    fixed: ['spec.selector'],
    defaults: [['spec.replicas', 1], ...within(TEMPLATE, POD_DEFAULTS)],
  },
  'apps/StatefulSet': {
    fixed: ['spec'],
    except: [
      ...['spec.minReadySeconds', 'spec.ordinals', 'spec.persistentVolumeClaimRetentionPolicy', 'spec.replicas'],
      ...['spec.revisionHistoryLimit', 'spec.template', 'spec.updateStrategy'],
    ],
    defaults: [
      ...HISTORY,
      ['spec.replicas', 1],
      ['spec.podManagementPolicy', 'OrderedReady'],
      ['spec.persistentVolumeClaimRetentionPolicy', {}],
      ['spec.persistentVolumeClaimRetentionPolicy.whenDeleted', 'Retain'],
      ['spec.persistentVolumeClaimRetentionPolicy.whenScaled', 'Retain'],
      ['spec.updateStrategy', {}],
      ['spec.updateStrategy.rollingUpdate', ({ type }) => (type === undefined ? {} : undefined)],
      ['spec.updateStrategy.type', 'RollingUpdate'],
      ['spec.updateStrategy.rollingUpdate.partition', 0],
      ['spec.volumeClaimTemplates.*.spec.volumeMode', 'Filesystem'],
      ...within(TEMPLATE, POD_DEFAULTS),
    ],
  },
  'batch/CronJob': {
    defaults: [
      ['spec.concurrencyPolicy', 'Allow'],
      ['spec.suspend', false],
      ['spec.successfulJobsHistoryLimit', 3],
      ['spec.failedJobsHistoryLimit', 1],
      ...within('spec.jobTemplate.spec.template.spec', POD_DEFAULTS),
    ],
  },
  'batch/Job': {
    fixed: [
      ...['spec.backoffLimitPerIndex', 'spec.completionMode', 'spec.completions', 'spec.managedBy'],
      ...['spec.podFailurePolicy', 'spec.selector', 'spec.successPolicy', 'spec.template'],
    ],
    defaults: within('spec', JOB),
    kept: keptOfJob,
  },
  '/PersistentVolume': {
    fixed: ['spec.csi', 'spec.hostPath', 'spec.nfs', 'spec.local', 'spec.volumeMode'],
    once: ['spec.nodeAffinity'],
    defaults: [
      ['spec.persistentVolumeReclaimPolicy', 'Retain'],
      ['spec.volumeMode', 'Filesystem'],
    ],
  },
  '/PersistentVolumeClaim': {
    fixed: ['spec'],
    except: ['spec.resources.requests', 'spec.volumeAttributesClassName', 'spec.volumeName'],
    once: ['spec.volumeName'],
    defaults: [['spec.volumeMode', 'Filesystem']],
  },
  '/Pod': {
    fixed: ['spec'],
    except: [
      ...['spec.activeDeadlineSeconds', 'spec.containers.*.image', 'spec.initContainers.*.image', 'spec.tolerations'],
    ],
    defaults: within('spec', POD_DEFAULTS),
  },
  '/Secret': { fixed: ['type'], defaults: [['type', 'Opaque']] },
  '/Service': {
    whileSet: ['spec.clusterIP'],
    defaults: [
      ['spec.type', 'ClusterIP'],
      ['spec.sessionAffinity', 'None'],
      ['spec.sessionAffinityConfig', ({ sessionAffinity }) => (sessionAffinity === 'ClientIP' ? {} : undefined)],
      ['spec.sessionAffinityConfig.clientIP', {}],
      ['spec.sessionAffinityConfig.clientIP.timeoutSeconds', 10_800],
      ['spec.internalTrafficPolicy', ({ type }) => (type === 'ExternalName' ? undefined : 'Cluster')],
      ['spec.externalTrafficPolicy', (spec) => (needsNodePorts(spec) ? 'Cluster' : undefined)],
      ['spec.allocateLoadBalancerNodePorts', ({ type }) => (type === 'LoadBalancer' ? true : undefined)],
      ['spec.ports.*.protocol', 'TCP'],
      ['spec.ports.*.targetPort', ({ port }) => port],
    ],
    kept: keptOfService,
  },
  'apiextensions.k8s.io/CustomResourceDefinition': {
    fixed: ['spec.group', 'spec.scope', 'spec.names.kind', 'spec.names.plural'],
  },
  'autoscaling/HorizontalPodAutoscaler': { defaults: [['spec.minReplicas', 1]] },
  'discovery.k8s.io/EndpointSlice': { fixed: ['addressType'] },
  'networking.k8s.io/IngressClass': { fixed: ['spec.controller'] },
  'networking.k8s.io/NetworkPolicy': {
    defaults: [
      ['spec.policyTypes', ({ egress }) => (egress === undefined ? ['Ingress'] : ['Ingress', 'Egress'])],
      ['spec.ingress.*.ports.*.protocol', 'TCP'],
      ['spec.egress.*.ports.*.protocol', 'TCP'],
    ],
  },
  'node.k8s.io/RuntimeClass': { fixed: ['handler'] },
  'rbac.authorization.k8s.io/ClusterRoleBinding': ROLE_BINDING,
  'rbac.authorization.k8s.io/RoleBinding': ROLE_BINDING,
  'scheduling.k8s.io/PriorityClass': {
    fixed: ['value', 'preemptionPolicy'],
    defaults: [['preemptionPolicy', 'PreemptLowerPriority']],
  },
  'storage.k8s.io/StorageClass': {
    fixed: ['parameters', 'provisioner', 'reclaimPolicy', 'volumeBindingMode'],
    defaults: [
      ['reclaimPolicy', 'Delete'],
      ['volumeBindingMode', 'Immediate'],
    ],
  },
  'storage.k8s.io/VolumeAttributesClass': { fixed: ['driverName', 'parameters'] },
};

function rolling({ type }: JsonObject): JsonValue | undefined {
  return type === 'RollingUpdate' ? {} : undefined;
}

function needsNodePorts({ type }: JsonObject): boolean {
  return type === 'NodePort' || type === 'LoadBalancer';
}

/** Addresses and node ports stay while the type of the Service needs them. */
function keptOfService(live: JsonObject, after: JsonObject): JsonObject {
  const [older, newer] = [objectOf(live.spec), objectOf(after.spec)];
  const addressOf = ({ type, clusterIP }: JsonObject, otherwise: JsonValue) =>
    type === 'ExternalName' ? undefined : (clusterIP ?? otherwise);
  const address = addressOf(older, ALLOCATED) ?? ALLOCATED;
  // A Service without address has no node ports: its manifest wants another one then.
  const clusterIP = addressOf(newer, address === 'None' && needsNodePorts(newer) ? ALLOCATED : address);
  const ports = new Map(objectsOf(older.ports).map((port) => [portName(port), port.nodePort]));
  const keepsPorts = needsNodePorts(older) && needsNodePorts(newer) && newer.ports !== undefined;
  return {
    ...after,
    spec: {
      ...newer,
      ...(clusterIP === undefined ? {} : { clusterIP }),
      ...(keepsPorts
        ? {
            ports: objectsOf(newer.ports).map((port) => ({
              ...defined({ nodePort: ports.get(portName(port)) }),
              ...port,
            })),
          }
        : {}),
    },
  };
}

/** Of two defaults that depend on each other an API server keeps the one that no manifest has declared. */
function keptOfJob(live: JsonObject, after: JsonObject, before: JsonObject): JsonObject {
  const declared = [objectOf(before.spec), objectOf(after.spec)];
  const stays = Object.entries(objectOf(live.spec)).filter(
    ([name]) => ['completions', 'parallelism'].includes(name) && declared.every((spec) => spec[name] === undefined),
  );
  return stays.length === 0 ? after : { ...after, spec: { ...objectOf(after.spec), ...Object.fromEntries(stays) } };
}

function portName({ port, protocol = 'TCP' }: JsonObject): string {
  return `${textOf(protocol)} ${String(port)}`;
}

function defined(value: { readonly nodePort: JsonValue | undefined }): JsonObject {
  return value.nodePort === undefined ? {} : { nodePort: value.nodePort };
}

/** Kinds whose data cannot change once `immutable` is true. */
const SEALABLE = ['/ConfigMap', '/Secret'];
const SEALED_FIELDS = ['binaryData', 'data', 'immutable'];

/** The rule for an update of an object, both versions with their defaults. */
export function updateRuleOf(kind: string, before: JsonObject, after: JsonObject): UpdateRule {
  const rule = UPDATE_RULES[kind] ?? {};
  const { fixed = [], except = [] } = rule;
  if (SEALABLE.includes(kind) && before.immutable === true) return { ...rule, fixed: [...fixed, ...SEALED_FIELDS] };
  if (kind !== 'batch/Job') return rule;
  const [older, newer] = [objectOf(before.spec), objectOf(after.spec)];
  const isElastic = newer.completionMode === 'Indexed' && newer.completions === newer.parallelism;
  return {
    ...rule,
    except: [...except, ...(isElastic ? ['spec.completions'] : []), ...(older.suspend === true ? SUSPENDED : [])],
  };
}

/** The kinds with a strategy that can be a rolling update. An API server keeps defaults of that, and refuses them with another type. */
const STRATEGIES: ReadonlyMap<
  string,
  { readonly field: string; readonly defaultsOf: readonly (string | undefined)[] }
> = new Map([
  // It has defaults with these types, as a manifest says them.
  ['apps/Deployment', { field: 'strategy', defaultsOf: ['RollingUpdate', undefined] }],
  ['apps/StatefulSet', { field: 'updateStrategy', defaultsOf: [undefined] }],
]);

/** The field whose change is refused because a default of the older version stays; undefined: none is. */
export function refusedByDefault(kind: string, before: JsonObject, after: JsonObject): string | undefined {
  const strategy = STRATEGIES.get(kind);
  if (strategy === undefined || !endsRollingUpdates(kind, after)) return undefined;
  const { type, rollingUpdate } = objectOf(objectOf(before.spec)[strategy.field]);
  const stays = rollingUpdate === undefined && strategy.defaultsOf.some((each) => each === type);
  return stays ? `spec.${strategy.field}.type` : undefined;
}

function endsRollingUpdates(kind: string, { spec }: JsonObject): boolean {
  const { type, rollingUpdate } = objectOf(objectOf(spec)[STRATEGIES.get(kind)?.field ?? '']);
  return type !== undefined && type !== 'RollingUpdate' && rollingUpdate === undefined;
}

/** Whether a refusal names something that stays of an older version: a new object of this manifest would not have it. */
export function isOfOlderVersion(kind: string, manifest: JsonObject, refusal: string): boolean {
  if (kind === '/Service')
    return objectOf(manifest.spec).clusterIP === undefined && /clusterIPs?\b.*None/.test(refusal);
  return endsRollingUpdates(kind, manifest) && /rollingUpdate/.test(refusal);
}
