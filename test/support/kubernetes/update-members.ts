import type { JsonObject } from '../../../src/model/text/json.ts';

/** Versions of objects of one kind; each is updated to each other one. */
interface UpdateMembers {
  readonly apiVersion: string;
  readonly kind: string;
  readonly isClusterScoped?: true;
  /** The name of the object of a pair of versions; absent: any. */
  readonly nameOf?: (from: number, to: number) => string;
  readonly versions: readonly JsonObject[];
}

const spec = (fixed: JsonObject, ...versions: readonly JsonObject[]): readonly JsonObject[] =>
  versions.map((version) => ({ spec: { ...fixed, ...version } }));
const volume = (...sources: readonly JsonObject[]): readonly JsonObject[] =>
  spec({ capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'] }, ...sources);
const POD_TEMPLATE = {
  metadata: { labels: { app: 'web' } },
  spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'a' }] },
};
const RULES = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }];
const WEBHOOK = {
  ...{ name: 'a.example.com', sideEffects: 'None', admissionReviewVersions: ['v1'], rules: RULES },
  ...{ clientConfig: { url: 'https://a.example.com' }, failurePolicy: 'Ignore' },
  objectSelector: { matchLabels: { no: 'object' } },
};
const LOAD_BALANCER = { type: 'LoadBalancer', ports: [{ port: 80 }] };
const LOCAL = { ...LOAD_BALANCER, externalTrafficPolicy: 'Local' };
const CLAIM = { devices: { requests: [{ name: 'gpu', exactly: { deviceClassName: 'gpu' } }] } };
const OTHER_CLAIM = { devices: { requests: [{ name: 'gpu', exactly: { deviceClassName: 'tpu' } }] } };
const NODE_AFFINITY = (zone: string): JsonObject => ({
  required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: [zone] }] }] },
});

/** Kinds of which a version has a field that never changes, or that an API server fills in. */
export const UPDATE_MEMBERS: readonly UpdateMembers[] = [
  {
    ...{ apiVersion: 'v1', kind: 'Service' },
    versions: [
      ...spec(
        { ports: [{ port: 80 }], selector: { app: 'a' } },
        {},
        { clusterIP: 'None' },
        { clusterIP: 'None', clusterIPs: ['None'] },
        { clusterIP: '10.0.0.77', clusterIPs: ['10.0.0.77'] },
        { clusterIP: '10.0.0.78', clusterIPs: ['10.0.0.78'] },
        { clusterIP: '10.0.0.79' },
        { ipFamilies: ['IPv4'] },
        { ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' },
        { ipFamilyPolicy: 'PreferDualStack' },
        { type: 'ExternalName', externalName: 'a.example.com' },
        LOAD_BALANCER,
        { ...LOAD_BALANCER, loadBalancerClass: 'example.com/a' },
        { ...LOAD_BALANCER, loadBalancerClass: 'example.com/b' },
        { ...LOAD_BALANCER, allocateLoadBalancerNodePorts: false },
        LOCAL,
        { ...LOCAL, healthCheckNodePort: 30_991 },
        { ...LOCAL, healthCheckNodePort: 30_992 },
        { ...LOCAL, loadBalancerSourceRanges: ['10.0.0.0/8'] },
      ),
    ],
  },
  {
    ...{ apiVersion: 'v1', kind: 'PersistentVolume', isClusterScoped: true },
    versions: volume(
      { nfs: { server: 'a', path: '/a' } },
      { nfs: { server: 'b', path: '/a' } },
      { nfs: { server: 'a', path: '/a' }, persistentVolumeReclaimPolicy: 'Delete' },
      { nfs: { server: 'a', path: '/a' }, mountOptions: ['ro'], storageClassName: 'a' },
      { nfs: { server: 'a', path: '/a' }, nodeAffinity: NODE_AFFINITY('a') },
      { nfs: { server: 'a', path: '/a' }, nodeAffinity: NODE_AFFINITY('b') },
      { nfs: { server: 'a', path: '/a' }, claimRef: { namespace: 'a', name: 'b' }, accessModes: ['ReadOnlyMany'] },
      { nfs: { server: 'a', path: '/a' }, capacity: { storage: '2Gi' } },
      { iscsi: { targetPortal: 'a:3260', iqn: 'iqn.2001-04.com.example:a', lun: 0 } },
      { iscsi: { targetPortal: 'a:3260', iqn: 'iqn.2001-04.com.example:a', lun: 1 } },
      { fc: { targetWWNs: ['a'], lun: 0 } },
      { fc: { targetWWNs: ['a'], lun: 1 } },
      { cephfs: { monitors: ['a'] } },
      { rbd: { monitors: ['a'], image: 'a' } },
      { rbd: { monitors: ['a'], image: 'b' } },
      { azureFile: { secretName: 'a', shareName: 'b', secretNamespace: 'c' } },
      { flexVolume: { driver: 'a/b' } },
      { csi: { driver: 'a.example.com', volumeHandle: 'a' } },
      { csi: { driver: 'a.example.com', volumeHandle: 'b' }, volumeMode: 'Block' },
    ),
  },
  {
    ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim' },
    versions: spec(
      { accessModes: ['ReadWriteOnce'], storageClassName: 'a' },
      { resources: { requests: { storage: '1Gi' } } },
      { resources: { requests: { storage: '1Gi' }, limits: { storage: '3Gi' } } },
      { resources: { requests: { storage: '1Gi' } }, storageClassName: 'b' },
      { resources: { requests: { storage: '1Gi' } }, volumeName: 'c' },
      { resources: { requests: { storage: '1Gi' } }, selector: { matchLabels: { a: 'b' } } },
    ),
  },
  {
    ...{ apiVersion: 'v1', kind: 'ResourceQuota' },
    versions: spec(
      {},
      { hard: { pods: '1' } },
      { hard: { pods: '2' } },
      { hard: { pods: '1' }, scopes: ['BestEffort'] },
      { hard: { pods: '1' }, scopes: ['NotBestEffort'] },
      {
        hard: { pods: '1' },
        scopeSelector: { matchExpressions: [{ scopeName: 'PriorityClass', operator: 'In', values: ['a'] }] },
      },
    ),
  },
  {
    ...{ apiVersion: 'v1', kind: 'ReplicationController' },
    versions: spec(
      { template: { ...POD_TEMPLATE, spec: { containers: [{ name: 'main', image: 'a' }] } } },
      {},
      { replicas: 3 },
      { replicas: 1, selector: { app: 'web' } },
      { minReadySeconds: 4 },
    ),
  },
  {
    ...{ apiVersion: 'v1', kind: 'Node', isClusterScoped: true },
    versions: spec(
      {},
      {},
      { providerID: 'a://a' },
      { providerID: 'a://b' },
      { podCIDR: '10.7.0.0/24', podCIDRs: ['10.7.0.0/24'] },
      { podCIDR: '10.8.0.0/24', podCIDRs: ['10.8.0.0/24'] },
      { unschedulable: true },
      { taints: [{ key: 'a', effect: 'NoSchedule' }] },
    ),
  },
  {
    ...{ apiVersion: 'apps/v1', kind: 'ControllerRevision' },
    versions: [
      { revision: 1, data: { a: 'b' } },
      { revision: 1, data: { a: 'c' } },
      { revision: 2, data: { a: 'b' } },
    ],
  },
  {
    ...{ apiVersion: 'batch/v1', kind: 'Job' },
    versions: spec(
      { template: POD_TEMPLATE },
      {},
      { podReplacementPolicy: 'Failed' },
      { activeDeadlineSeconds: 100 },
      { backoffLimit: 2 },
      { ttlSecondsAfterFinished: 5 },
      {
        podFailurePolicy: {
          rules: [{ action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] }],
        },
      },
      { completionMode: 'Indexed', completions: 2, backoffLimitPerIndex: 1 },
      { completionMode: 'Indexed', completions: 2, backoffLimitPerIndex: 2 },
      { completionMode: 'Indexed', completions: 2, backoffLimitPerIndex: 1, maxFailedIndexes: 1 },
      { completionMode: 'Indexed', completions: 2, successPolicy: { rules: [{ succeededCount: 1 }] } },
      { managedBy: 'example.com/a' },
      { managedBy: 'example.com/b' },
    ),
  },
  {
    ...{ apiVersion: 'batch/v1', kind: 'CronJob' },
    versions: spec(
      { schedule: '@daily', jobTemplate: { spec: { template: POD_TEMPLATE } } },
      {},
      { timeZone: 'Etc/UTC' },
      { jobTemplate: { spec: { template: POD_TEMPLATE, backoffLimit: 3, suspend: true } } },
    ),
  },
  {
    ...{ apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler' },
    versions: spec(
      { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'none' }, maxReplicas: 9 },
      {},
      {
        metrics: [
          { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } },
        ],
      },
      {
        metrics: [
          { type: 'Resource', resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '1Gi' } } },
        ],
      },
      { behavior: { scaleDown: { stabilizationWindowSeconds: 10 } } },
      { behavior: { scaleUp: { selectPolicy: 'Disabled' } } },
      { behavior: { scaleDown: { policies: [{ type: 'Pods', value: 1, periodSeconds: 60 }] } } },
    ),
  },
  {
    ...{ apiVersion: 'policy/v1', kind: 'PodDisruptionBudget' },
    versions: spec(
      {},
      { minAvailable: 1, selector: { matchLabels: { a: 'b' } } },
      { maxUnavailable: 1, selector: { matchLabels: { a: 'b' } } },
      { minAvailable: 1, selector: { matchLabels: { a: 'c' } }, unhealthyPodEvictionPolicy: 'AlwaysAllow' },
    ),
  },
  {
    ...{ apiVersion: 'resource.k8s.io/v1', kind: 'ResourceClaim' },
    versions: spec({}, CLAIM, OTHER_CLAIM),
  },
  {
    ...{ apiVersion: 'resource.k8s.io/v1', kind: 'ResourceClaimTemplate' },
    versions: spec({}, { spec: CLAIM }, { spec: OTHER_CLAIM }, { spec: CLAIM, metadata: { labels: { a: 'b' } } }),
  },
  {
    ...{ apiVersion: 'resource.k8s.io/v1', kind: 'DeviceClass', isClusterScoped: true },
    versions: spec(
      {},
      { selectors: [{ cel: { expression: 'true' } }] },
      { selectors: [{ cel: { expression: 'false' } }] },
    ),
  },
  {
    ...{ apiVersion: 'resource.k8s.io/v1', kind: 'ResourceSlice', isClusterScoped: true },
    versions: spec(
      { driver: 'a.example.com', nodeName: 'a', pool: { name: 'a', generation: 1, resourceSliceCount: 1 } },
      {},
      { driver: 'b.example.com' },
      { nodeName: 'b' },
      { pool: { name: 'b', generation: 1, resourceSliceCount: 1 } },
      { pool: { name: 'a', generation: 2, resourceSliceCount: 1 } },
    ),
  },
  {
    ...{ apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', isClusterScoped: true },
    versions: spec(
      {},
      {},
      { attachRequired: false },
      { podInfoOnMount: true },
      { storageCapacity: true },
      { volumeLifecycleModes: ['Ephemeral'] },
      { fsGroupPolicy: 'File' },
      { requiresRepublish: true, tokenRequests: [{ audience: 'a' }] },
      { seLinuxMount: true },
    ),
  },
  {
    ...{ apiVersion: 'storage.k8s.io/v1', kind: 'CSINode', isClusterScoped: true },
    versions: spec(
      {},
      { drivers: [{ name: 'a.example.com', nodeID: 'a' }] },
      { drivers: [{ name: 'a.example.com', nodeID: 'b' }] },
      { drivers: [{ name: 'a.example.com', nodeID: 'a', allocatable: { count: 3 } }] },
      { drivers: [] },
    ),
  },
  {
    ...{ apiVersion: 'storage.k8s.io/v1', kind: 'CSIStorageCapacity' },
    versions: [
      { storageClassName: 'a', capacity: '1Gi' },
      { storageClassName: 'a', capacity: '2Gi' },
      { storageClassName: 'b', capacity: '1Gi' },
      { storageClassName: 'a', capacity: '1Gi', nodeTopology: { matchLabels: { a: 'b' } } },
      { storageClassName: 'a', capacity: '1Gi', nodeTopology: { matchLabels: { a: 'c' } } },
    ],
  },
  {
    ...{ apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', isClusterScoped: true },
    versions: [
      { provisioner: 'a' },
      { provisioner: 'a', mountOptions: ['ro'] },
      { provisioner: 'a', allowVolumeExpansion: true },
      { provisioner: 'a', parameters: { a: 'b' } },
      { provisioner: 'a', reclaimPolicy: 'Retain' },
      { provisioner: 'a', volumeBindingMode: 'WaitForFirstConsumer' },
      { provisioner: 'a', allowedTopologies: [{ matchLabelExpressions: [{ key: 'zone', values: ['a'] }] }] },
    ],
  },
  {
    ...{ apiVersion: 'storage.k8s.io/v1', kind: 'VolumeAttachment', isClusterScoped: true },
    versions: spec(
      { attacher: 'a.example.com', nodeName: 'a', source: { persistentVolumeName: 'a' } },
      {},
      { nodeName: 'b' },
      { attacher: 'b.example.com' },
    ),
  },
  {
    ...{ apiVersion: 'storage.k8s.io/v1', kind: 'VolumeAttributesClass', isClusterScoped: true },
    versions: [
      { driverName: 'a', parameters: { a: 'b' } },
      { driverName: 'b', parameters: { a: 'b' } },
      { driverName: 'a', parameters: { a: 'c' } },
    ],
  },
  {
    ...{ apiVersion: 'networking.k8s.io/v1', kind: 'IPAddress', isClusterScoped: true },
    nameOf: (from, to) => `10.9.${from}.${to}`,
    versions: spec(
      {},
      { parentRef: { resource: 'services', namespace: 'a', name: 'a' } },
      { parentRef: { resource: 'services', namespace: 'a', name: 'b' } },
    ),
  },
  {
    ...{ apiVersion: 'networking.k8s.io/v1', kind: 'ServiceCIDR', isClusterScoped: true },
    versions: spec({}, { cidrs: ['10.77.0.0/24'] }, { cidrs: ['10.78.0.0/24'] }),
  },
  {
    ...{ apiVersion: 'networking.k8s.io/v1', kind: 'IngressClass', isClusterScoped: true },
    versions: spec(
      { controller: 'example.com/a' },
      {},
      { controller: 'example.com/b' },
      { parameters: { apiGroup: 'example.com', kind: 'A', name: 'a' } },
      { parameters: { apiGroup: 'example.com', kind: 'A', name: 'a', scope: 'Cluster' } },
      { parameters: { apiGroup: 'example.com', kind: 'A', name: 'a', scope: 'Namespace', namespace: 'a' } },
    ),
  },
  {
    ...{ apiVersion: 'networking.k8s.io/v1', kind: 'Ingress' },
    versions: spec(
      { defaultBackend: { service: { name: 'a', port: { number: 80 } } } },
      {},
      { ingressClassName: 'a' },
      { ingressClassName: 'b' },
    ),
  },
  {
    ...{ apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', isClusterScoped: true },
    versions: [{ handler: 'a' }, { handler: 'b' }, { handler: 'a', overhead: { podFixed: { cpu: '1m' } } }],
  },
  {
    ...{ apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', isClusterScoped: true },
    versions: [
      { value: 5 },
      { value: 6 },
      { value: 5, preemptionPolicy: 'Never' },
      { value: 5, preemptionPolicy: 'PreemptLowerPriority' },
      { value: 5, description: 'a' },
    ],
  },
  {
    ...{ apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice' },
    versions: [
      { addressType: 'IPv4', endpoints: [{ addresses: ['10.1.1.1'] }], ports: [{ port: 80 }] },
      {
        addressType: 'IPv4',
        endpoints: [{ addresses: ['10.1.1.1'] }],
        ports: [{ port: 80, name: '', protocol: 'TCP' }],
      },
      { addressType: 'IPv4', endpoints: [{ addresses: ['10.1.1.1'] }], ports: [{ port: 80, protocol: 'UDP' }] },
      { addressType: 'FQDN', endpoints: [{ addresses: ['a.example.com'] }], ports: [{ port: 80 }] },
    ],
  },
  {
    ...{ apiVersion: 'flowcontrol.apiserver.k8s.io/v1', kind: 'FlowSchema', isClusterScoped: true },
    versions: spec(
      { priorityLevelConfiguration: { name: 'catch-all' } },
      {},
      { matchingPrecedence: 5000 },
      { distinguisherMethod: { type: 'ByUser' } },
    ),
  },
  {
    ...{ apiVersion: 'flowcontrol.apiserver.k8s.io/v1', kind: 'PriorityLevelConfiguration', isClusterScoped: true },
    versions: spec(
      {},
      { type: 'Limited', limited: { limitResponse: { type: 'Reject' } } },
      { type: 'Limited', limited: { nominalConcurrencyShares: 5, limitResponse: { type: 'Reject' } } },
      { type: 'Limited', limited: { lendablePercent: 5, limitResponse: { type: 'Reject' } } },
      { type: 'Limited', limited: { limitResponse: { type: 'Queue', queuing: { queues: 3 } } } },
      { type: 'Limited', limited: { limitResponse: { type: 'Queue', queuing: { queues: 3, handSize: 2 } } } },
    ),
  },
  {
    ...{ apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingWebhookConfiguration', isClusterScoped: true },
    versions: [
      { webhooks: [WEBHOOK] },
      { webhooks: [{ ...WEBHOOK, matchPolicy: 'Exact' }] },
      { webhooks: [{ ...WEBHOOK, timeoutSeconds: 3 }] },
      { webhooks: [{ ...WEBHOOK, namespaceSelector: { matchLabels: { a: 'b' } } }] },
      { webhooks: [{ ...WEBHOOK, rules: [{ ...RULES[0], scope: 'Namespaced' }] }] },
      { webhooks: [{ ...WEBHOOK, failurePolicy: 'Fail' }] },
    ],
  },
  {
    ...{ apiVersion: 'admissionregistration.k8s.io/v1', kind: 'MutatingWebhookConfiguration', isClusterScoped: true },
    versions: [
      { webhooks: [WEBHOOK] },
      { webhooks: [{ ...WEBHOOK, reinvocationPolicy: 'IfNeeded' }] },
      { webhooks: [{ ...WEBHOOK, matchPolicy: 'Exact', timeoutSeconds: 3 }] },
    ],
  },
  {
    ...{ apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingAdmissionPolicy', isClusterScoped: true },
    versions: spec(
      { matchConstraints: { resourceRules: RULES }, validations: [{ expression: 'true' }] },
      {},
      { failurePolicy: 'Ignore' },
      { matchConstraints: { resourceRules: RULES, matchPolicy: 'Exact' } },
    ),
  },
  {
    ...{
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      isClusterScoped: true,
    },
    versions: spec(
      { validationActions: ['Audit'] },
      { policyName: 'none-a' },
      { policyName: 'none-b' },
      { policyName: 'none-a', paramRef: { name: 'a' } },
    ),
  },
  {
    ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding', isClusterScoped: true },
    versions: [
      { roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'a' } },
      { roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'b' } },
    ],
  },
  {
    ...{ apiVersion: 'v1', kind: 'Pod' },
    versions: spec(
      {},
      { containers: [{ name: 'main', image: 'a' }] },
      { containers: [{ name: 'main', image: 'a' }], activeDeadlineSeconds: 100 },
      { containers: [{ name: 'main', image: 'a' }], activeDeadlineSeconds: 50 },
      { containers: [{ name: 'main', image: 'a' }], tolerations: [{ key: 'a', operator: 'Exists' }] },
      { containers: [{ name: 'main', image: 'a' }], schedulingGates: [{ name: 'a' }] },
      { containers: [{ name: 'main', image: 'a' }], schedulingGates: [{ name: 'a' }], nodeSelector: { a: 'b' } },
      { containers: [{ name: 'main', image: 'a', resources: { requests: { cpu: '1' } } }] },
      { containers: [{ name: 'main', image: 'a' }], terminationGracePeriodSeconds: 5 },
    ),
  },
  {
    ...{ apiVersion: 'v1', kind: 'LimitRange' },
    versions: spec(
      {},
      { limits: [{ type: 'Container', max: { cpu: '2' } }] },
      { limits: [{ type: 'Container', max: { cpu: '2' }, default: { cpu: '1' } }] },
      { limits: [{ type: 'Container', max: { cpu: '2' }, default: { cpu: '1' }, defaultRequest: { cpu: '1' } }] },
    ),
  },
];
