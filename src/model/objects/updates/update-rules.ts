import { type JsonObject, type JsonValue, objectOf, objectsOf } from '../../text/json.ts';
import { type Defaults, POD_DEFAULTS, within } from './defaults.ts';
import { keptOfJob, keptOfService, needsNodePorts } from './kept-fields.ts';

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
  /** Values that a field has while a manifest leaves it out. The parts of a field come after the field. */
  readonly defaults?: Defaults;
  /**
   * The new version with what stays of the older one although the manifest leaves it out. `live`: the older version with its defaults;
   * `before`: as it was declared.
   */
  readonly kept?: (live: JsonObject, after: JsonObject, before: JsonObject) => JsonObject;
}

/** What can change of the Pods of a Job that has not begun. */
const SUSPENDED = [
  'spec.template.metadata.annotations',
  'spec.template.metadata.labels',
  'spec.template.spec.affinity',
  'spec.template.spec.nodeSelector',
  'spec.template.spec.schedulingGates',
  'spec.template.spec.tolerations',
];

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
  [
    'podReplacementPolicy',
    ({ podFailurePolicy }) => (podFailurePolicy === undefined ? 'TerminatingOrFailed' : 'Failed'),
  ],
  ...within('template.spec', POD_DEFAULTS),
];

/** Of a webhook, as `webhooks.*`. */
const WEBHOOK: Defaults = [
  ['failurePolicy', 'Fail'],
  ['matchPolicy', 'Equivalent'],
  ['namespaceSelector', {}],
  ['objectSelector', {}],
  ['timeoutSeconds', 10],
  ['rules.*.scope', '*'],
];
const SCALING: Defaults = [
  ['scaleUp', {}],
  ['scaleUp.stabilizationWindowSeconds', 0],
  ['scaleUp.selectPolicy', 'Max'],
  [
    'scaleUp.policies',
    [
      { type: 'Pods', value: 4, periodSeconds: 15 },
      { type: 'Percent', value: 100, periodSeconds: 15 },
    ],
  ],
  ['scaleDown', {}],
  ['scaleDown.selectPolicy', 'Max'],
  ['scaleDown.policies', [{ type: 'Percent', value: 100, periodSeconds: 15 }]],
];
const CPU = { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } };

/** By `group/Kind`; from the validation and the defaults of kube-apiserver 1.36. */
export const UPDATE_RULES: Readonly<Record<string, UpdateRule>> = {
  'admissionregistration.k8s.io/MutatingWebhookConfiguration': {
    defaults: [...within('webhooks.*', WEBHOOK), ['webhooks.*.reinvocationPolicy', 'Never']],
  },
  'admissionregistration.k8s.io/ValidatingAdmissionPolicy': {
    defaults: [
      ['spec.failurePolicy', 'Fail'],
      ['spec.matchConstraints.matchPolicy', 'Equivalent'],
      ['spec.matchConstraints.namespaceSelector', {}],
      ['spec.matchConstraints.objectSelector', {}],
      ['spec.matchConstraints.resourceRules.*.scope', '*'],
    ],
  },
  'admissionregistration.k8s.io/ValidatingWebhookConfiguration': { defaults: within('webhooks.*', WEBHOOK) },
  'apps/ControllerRevision': { fixed: ['data'] },
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
      'spec.minReadySeconds',
      'spec.ordinals',
      'spec.persistentVolumeClaimRetentionPolicy',
      'spec.replicas',
      'spec.revisionHistoryLimit',
      'spec.template',
      'spec.updateStrategy',
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
      'spec.backoffLimitPerIndex',
      'spec.completionMode',
      'spec.completions',
      'spec.managedBy',
      'spec.podFailurePolicy',
      'spec.selector',
      'spec.successPolicy',
      'spec.template',
    ],
    defaults: within('spec', JOB),
    kept: keptOfJob,
  },
  '/PersistentVolume': {
    fixed: ['spec'],
    except: [
      'spec.accessModes',
      'spec.capacity',
      'spec.claimRef',
      'spec.mountOptions',
      'spec.nodeAffinity',
      'spec.persistentVolumeReclaimPolicy',
      'spec.storageClassName',
      'spec.volumeAttributesClassName',
    ],
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
  '/LimitRange': {
    defaults: [
      ['spec.limits.*.default', ({ type, max }) => (type === 'Container' ? max : undefined)],
      ['spec.limits.*.defaultRequest', ({ type, default: most }) => (type === 'Container' ? most : undefined)],
    ],
  },
  '/Node': { once: ['spec.podCIDR', 'spec.podCIDRs', 'spec.providerID'] },
  '/Pod': {
    fixed: ['spec'],
    except: ['spec.containers.*.image', 'spec.initContainers.*.image', 'spec.tolerations'],
    once: ['spec.tolerations'],
    defaults: within('spec', POD_DEFAULTS),
  },
  '/ReplicationController': { defaults: [['spec.replicas', 1], ...within(TEMPLATE, POD_DEFAULTS)] },
  '/ResourceQuota': { fixed: ['spec.scopes'] },
  '/Secret': { fixed: ['type'], defaults: [['type', 'Opaque']] },
  '/Service': {
    whileSet: ['spec.clusterIP', 'spec.healthCheckNodePort'],
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
  'autoscaling/HorizontalPodAutoscaler': {
    defaults: [['spec.minReplicas', 1], ['spec.metrics', [CPU]], ...within('spec.behavior', SCALING)],
  },
  'discovery.k8s.io/EndpointSlice': { fixed: ['addressType'], defaults: [['ports.*.protocol', 'TCP']] },
  'flowcontrol.apiserver.k8s.io/FlowSchema': { defaults: [['spec.matchingPrecedence', 1000]] },
  'flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration': {
    defaults: [
      ['spec.limited.nominalConcurrencyShares', 30],
      ['spec.limited.lendablePercent', 0],
      ['spec.limited.limitResponse.queuing.queues', 64],
      ['spec.limited.limitResponse.queuing.handSize', 8],
      ['spec.limited.limitResponse.queuing.queueLengthLimit', 50],
    ],
  },
  'networking.k8s.io/IngressClass': {
    fixed: ['spec.controller'],
    defaults: [['spec.parameters.scope', 'Cluster']],
  },
  'networking.k8s.io/IPAddress': { fixed: ['spec.parentRef'] },
  'networking.k8s.io/NetworkPolicy': {
    defaults: [
      ['spec.policyTypes', ({ egress }) => (egress === undefined ? ['Ingress'] : ['Ingress', 'Egress'])],
      ['spec.ingress.*.ports.*.protocol', 'TCP'],
      ['spec.egress.*.ports.*.protocol', 'TCP'],
    ],
  },
  'networking.k8s.io/ServiceCIDR': { fixed: ['spec.cidrs'] },
  'node.k8s.io/RuntimeClass': { fixed: ['handler'] },
  'rbac.authorization.k8s.io/ClusterRoleBinding': ROLE_BINDING,
  'rbac.authorization.k8s.io/RoleBinding': ROLE_BINDING,
  'resource.k8s.io/ResourceClaim': { fixed: ['spec'] },
  'resource.k8s.io/ResourceClaimTemplate': { fixed: ['spec'] },
  'resource.k8s.io/ResourceSlice': {
    fixed: [
      'spec.allNodes',
      'spec.driver',
      'spec.nodeName',
      'spec.nodeSelector',
      'spec.perDeviceNodeSelection',
      'spec.pool.name',
    ],
  },
  'scheduling.k8s.io/PriorityClass': {
    fixed: ['value', 'preemptionPolicy'],
    defaults: [['preemptionPolicy', 'PreemptLowerPriority']],
  },
  'storage.k8s.io/CSIDriver': {
    fixed: ['spec.attachRequired', 'spec.volumeLifecycleModes'],
    defaults: [
      ['spec.attachRequired', true],
      ['spec.fsGroupPolicy', 'ReadWriteOnceWithFSType'],
      ['spec.podInfoOnMount', false],
      ['spec.requiresRepublish', false],
      ['spec.seLinuxMount', false],
      ['spec.storageCapacity', false],
      ['spec.volumeLifecycleModes', ['Persistent']],
    ],
  },
  'storage.k8s.io/CSINode': { fixed: ['spec.drivers.*.nodeID', 'spec.drivers.*.topologyKeys'] },
  'storage.k8s.io/CSIStorageCapacity': { fixed: ['nodeTopology', 'storageClassName'] },
  'storage.k8s.io/StorageClass': {
    fixed: ['parameters', 'provisioner', 'reclaimPolicy', 'volumeBindingMode'],
    defaults: [
      ['reclaimPolicy', 'Delete'],
      ['volumeBindingMode', 'Immediate'],
    ],
  },
  'storage.k8s.io/VolumeAttachment': { fixed: ['spec'] },
  'storage.k8s.io/VolumeAttributesClass': { fixed: ['driverName', 'parameters'] },
};

function rolling({ type }: JsonObject): JsonValue | undefined {
  return type === 'RollingUpdate' ? {} : undefined;
}

/** Kinds whose data cannot change once `immutable` is true. */
const SEALABLE = ['/ConfigMap', '/Secret'];
const SEALED_FIELDS = ['binaryData', 'data', 'immutable'];

/** The rule for an update of an object, both versions with their defaults. */
export function updateRuleOf(kind: string, before: JsonObject, after: JsonObject): UpdateRule {
  const rule = UPDATE_RULES[kind] ?? {};
  const { fixed = [], except = [] } = rule;
  if (SEALABLE.includes(kind) && before.immutable === true) return { ...rule, fixed: [...fixed, ...SEALED_FIELDS] };
  const [older, newer] = [objectOf(before.spec), objectOf(after.spec)];
  if (kind === '/Service') return { ...rule, fixed: hasLoadBalancers(older, newer) ? ['spec.loadBalancerClass'] : [] };
  if (kind === '/Pod') {
    const onlyAdded = isGated(older) ? ['spec.affinity', 'spec.nodeSelector'] : [];
    const more = [...changeableOfPod(older, newer), ...onlyAdded];
    return { ...rule, except: [...except, ...more], once: [...(rule.once ?? []), ...onlyAdded] };
  }
  if (kind !== 'batch/Job') return rule;
  const isElastic = newer.completionMode === 'Indexed' && newer.completions === newer.parallelism;
  return {
    ...rule,
    except: [...except, ...(isElastic ? ['spec.completions'] : []), ...(older.suspend === true ? SUSPENDED : [])],
  };
}

function hasLoadBalancers(...specs: readonly JsonObject[]): boolean {
  return specs.every(({ type }) => type === 'LoadBalancer');
}

/** Whether a Pod waits at gates: it is not scheduled yet. */
function isGated({ schedulingGates }: JsonObject): boolean {
  return objectsOf(schedulingGates).length > 0;
}

/** What else can change of a Pod: a deadline can come earlier, and gates can open. */
function changeableOfPod(older: JsonObject, newer: JsonObject): readonly string[] {
  const [was, is] = [older, newer].map(({ activeDeadlineSeconds: seconds }) =>
    typeof seconds === 'number' ? seconds : Number.POSITIVE_INFINITY,
  ) as [number, number];
  const [gates, left] = [objectsOf(older.schedulingGates), objectsOf(newer.schedulingGates)];
  const isOpened = left.every(({ name }) => gates.some((gate) => gate.name === name));
  return [...(is <= was ? ['spec.activeDeadlineSeconds'] : []), ...(isOpened ? ['spec.schedulingGates'] : [])];
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
