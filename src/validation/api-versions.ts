import { type JsonObject, objectOf, objectsOf, textOf } from '../model/text/json.ts';

/** What became of an API version of a kind. Versions are minor versions of Kubernetes: 22 is 1.22. */
export interface ApiVersionFate {
  /** The first version that warns of it; undefined: it was removed without. */
  readonly deprecatedIn?: number;
  /** The first version that does not serve it; undefined: no version is named for that. */
  readonly removedIn?: number;
  /** What to write instead, as words for a hint. */
  readonly instead?: string;
}

/** `kinds`, deprecated in, removed in, and the API version (or other words) to use instead. */
type Row = readonly [kinds: string, deprecatedIn: number, removedIn: number, instead: string];

const DYNAMIC_RESOURCES = 'DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice';
const ADMISSION_POLICIES = 'ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding';
const MUTATING_POLICIES = 'MutatingAdmissionPolicy MutatingAdmissionPolicyBinding';
const FLOWS = 'FlowSchema PriorityLevelConfiguration';
const REVIEWS = 'LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview';
const ROLES = 'ClusterRole ClusterRoleBinding Role RoleBinding';

/**
 * Facts of the deprecation guide (https://kubernetes.io/docs/reference/using-api/deprecation-guide/) and of the
 * prerelease-lifecycle markers in the Go module k8s.io/api, by apiVersion.
 */
const FATES: Readonly<Record<string, readonly Row[]>> = {
  'admissionregistration.k8s.io/v1alpha1': [
    [ADMISSION_POLICIES, 29, 32, 'admissionregistration.k8s.io/v1'],
    [MUTATING_POLICIES, 35, 38, 'admissionregistration.k8s.io/v1'],
  ],
  'admissionregistration.k8s.io/v1beta1': [
    ['MutatingWebhookConfiguration ValidatingWebhookConfiguration', 16, 22, 'admissionregistration.k8s.io/v1'],
    [ADMISSION_POLICIES, 31, 34, 'admissionregistration.k8s.io/v1'],
    [MUTATING_POLICIES, 37, 40, 'admissionregistration.k8s.io/v1'],
  ],
  'apiextensions.k8s.io/v1beta1': [['CustomResourceDefinition', 16, 22, 'apiextensions.k8s.io/v1']],
  'apiregistration.k8s.io/v1beta1': [['APIService', 19, 22, 'apiregistration.k8s.io/v1']],
  'apps/v1beta1': [['ControllerRevision Deployment StatefulSet', 8, 16, 'apps/v1']],
  'apps/v1beta2': [['ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet', 9, 16, 'apps/v1']],
  'auditregistration.k8s.io/v1alpha1': [['AuditSink', 19, 19, 'an audit policy file of the API server']],
  'authentication.k8s.io/v1alpha1': [['SelfSubjectReview', 29, 32, 'authentication.k8s.io/v1']],
  'authentication.k8s.io/v1beta1': [
    ['TokenReview', 19, 22, 'authentication.k8s.io/v1'],
    ['SelfSubjectReview', 30, 33, 'authentication.k8s.io/v1'],
  ],
  'authorization.k8s.io/v1beta1': [[REVIEWS, 19, 22, 'authorization.k8s.io/v1']],
  'autoscaling/v2beta1': [['HorizontalPodAutoscaler', 22, 25, 'autoscaling/v2']],
  'autoscaling/v2beta2': [['HorizontalPodAutoscaler', 23, 26, 'autoscaling/v2']],
  'batch/v1beta1': [['CronJob', 21, 25, 'batch/v1']],
  'batch/v2alpha1': [['CronJob', 21, 21, 'batch/v1']],
  'certificates.k8s.io/v1alpha1': [
    ['ClusterTrustBundle', 34, 37, 'certificates.k8s.io/v1beta1'],
    ['PodCertificateRequest', 35, 35, 'certificates.k8s.io/v1beta1'],
  ],
  'certificates.k8s.io/v1beta1': [
    ['CertificateSigningRequest', 19, 22, 'certificates.k8s.io/v1'],
    ['ClusterTrustBundle', 37, 40, ''],
    ['PodCertificateRequest', 38, 41, ''],
  ],
  'coordination.k8s.io/v1alpha1': [['LeaseCandidate', 32, 32, 'coordination.k8s.io/v1beta1']],
  'coordination.k8s.io/v1alpha2': [['LeaseCandidate', 35, 38, 'coordination.k8s.io/v1beta1']],
  'coordination.k8s.io/v1beta1': [
    ['Lease', 19, 22, 'coordination.k8s.io/v1'],
    ['LeaseCandidate', 36, 39, ''],
  ],
  'discovery.k8s.io/v1alpha1': [['EndpointSlice', 17, 19, 'discovery.k8s.io/v1']],
  'discovery.k8s.io/v1beta1': [['EndpointSlice', 21, 25, 'discovery.k8s.io/v1']],
  'events.k8s.io/v1beta1': [['Event', 22, 25, 'events.k8s.io/v1']],
  'extensions/v1beta1': [
    ['DaemonSet Deployment ReplicaSet', 8, 16, 'apps/v1'],
    ['Ingress', 14, 22, 'networking.k8s.io/v1'],
    ['NetworkPolicy', 9, 16, 'networking.k8s.io/v1'],
    ['PodSecurityPolicy', 10, 16, 'labels of Pod Security Admission on the namespace'],
  ],
  'flowcontrol.apiserver.k8s.io/v1alpha1': [[FLOWS, 20, 23, 'flowcontrol.apiserver.k8s.io/v1']],
  'flowcontrol.apiserver.k8s.io/v1beta1': [[FLOWS, 23, 26, 'flowcontrol.apiserver.k8s.io/v1']],
  'flowcontrol.apiserver.k8s.io/v1beta2': [[FLOWS, 26, 29, 'flowcontrol.apiserver.k8s.io/v1']],
  'flowcontrol.apiserver.k8s.io/v1beta3': [[FLOWS, 29, 32, 'flowcontrol.apiserver.k8s.io/v1']],
  'networking.k8s.io/v1alpha1': [
    ['ClusterCIDR', 29, 29, ''],
    ['IPAddress ServiceCIDR', 34, 34, 'networking.k8s.io/v1'],
  ],
  'networking.k8s.io/v1beta1': [
    ['Ingress IngressClass', 19, 22, 'networking.k8s.io/v1'],
    ['IPAddress ServiceCIDR', 34, 37, 'networking.k8s.io/v1'],
  ],
  'node.k8s.io/v1alpha1': [['RuntimeClass', 20, 24, 'node.k8s.io/v1']],
  'node.k8s.io/v1beta1': [['RuntimeClass', 22, 25, 'node.k8s.io/v1']],
  'policy/v1beta1': [
    ['PodDisruptionBudget', 21, 25, 'policy/v1'],
    ['PodSecurityPolicy', 21, 25, 'labels of Pod Security Admission on the namespace'],
  ],
  'rbac.authorization.k8s.io/v1alpha1': [[ROLES, 17, 22, 'rbac.authorization.k8s.io/v1']],
  'rbac.authorization.k8s.io/v1beta1': [[ROLES, 17, 22, 'rbac.authorization.k8s.io/v1']],
  'resource.k8s.io/v1alpha1': [
    ['PodScheduling ResourceClaim ResourceClaimTemplate ResourceClass', 27, 27, 'resource.k8s.io/v1'],
  ],
  'resource.k8s.io/v1alpha2': [
    [
      'PodSchedulingContext ResourceClaim ResourceClaimTemplate ResourceClass ResourceSlice',
      31,
      31,
      'resource.k8s.io/v1',
    ],
  ],
  'resource.k8s.io/v1alpha3': [
    [DYNAMIC_RESOURCES, 34, 34, 'resource.k8s.io/v1'],
    ['DeviceTaintRule', 36, 39, 'resource.k8s.io/v1beta2'],
  ],
  'resource.k8s.io/v1beta1': [[DYNAMIC_RESOURCES, 35, 38, 'resource.k8s.io/v1']],
  'resource.k8s.io/v1beta2': [[DYNAMIC_RESOURCES, 36, 39, 'resource.k8s.io/v1']],
  'scheduling.k8s.io/v1alpha1': [
    ['PriorityClass', 14, 22, 'scheduling.k8s.io/v1'],
    ['Workload', 36, 36, 'scheduling.k8s.io/v1alpha2'],
  ],
  'scheduling.k8s.io/v1beta1': [['PriorityClass', 14, 22, 'scheduling.k8s.io/v1']],
  'settings.k8s.io/v1alpha1': [['PodPreset', 20, 20, 'a mutating admission policy']],
  'storage.k8s.io/v1alpha1': [
    ['CSIStorageCapacity VolumeAttachment', 21, 24, 'storage.k8s.io/v1'],
    ['VolumeAttributesClass', 32, 35, 'storage.k8s.io/v1'],
  ],
  'storage.k8s.io/v1beta1': [
    ['CSIDriver StorageClass VolumeAttachment', 19, 22, 'storage.k8s.io/v1'],
    ['CSINode', 17, 22, 'storage.k8s.io/v1'],
    ['CSIStorageCapacity', 24, 27, 'storage.k8s.io/v1'],
    ['VolumeAttributesClass', 34, 37, 'storage.k8s.io/v1'],
  ],
  'storagemigration.k8s.io/v1alpha1': [['StorageVersionMigration', 35, 35, 'storagemigration.k8s.io/v1beta1']],
};

/** Versions that warn although none is named that removes them. */
const DEPRECATED_ONLY: Readonly<Record<string, ApiVersionFate>> = {
  'v1/ComponentStatus': { deprecatedIn: 19 },
  'v1/Endpoints': { deprecatedIn: 33, instead: 'EndpointSlice of discovery.k8s.io/v1' },
};

/** Returns when an API version of a kind was deprecated and removed; undefined: neither is known of it. */
export function apiVersionFate(apiVersion: string, kind: string): ApiVersionFate | undefined {
  // An apiVersion such as `constructor` is no row.
  const row = Object.hasOwn(FATES, apiVersion)
    ? FATES[apiVersion]?.find(([kinds]) => kinds.split(' ').includes(kind))
    : undefined;
  if (row === undefined) return DEPRECATED_ONLY[`${apiVersion}/${kind}`];
  const [, deprecatedIn, removedIn, instead] = row;
  return { deprecatedIn, removedIn, ...(instead === '' ? {} : { instead }) };
}

/** The versions whose replacement has the same fields with the same meaning, by the deprecation guide. */
const SAME_IN_REPLACEMENT: Readonly<Record<string, string>> = {
  'batch/v1beta1': 'CronJob',
  'coordination.k8s.io/v1beta1': 'Lease',
  'node.k8s.io/v1beta1': 'RuntimeClass',
  'rbac.authorization.k8s.io/v1beta1': ROLES,
  'scheduling.k8s.io/v1beta1': 'PriorityClass',
  'storage.k8s.io/v1beta1': 'CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment',
};

/** Whether the object means the same with the API version that replaces its own, so that no other field must change. */
export function isSameInReplacement(object: JsonObject): boolean {
  const { apiVersion, kind, spec } = object;
  // An empty selector selects no Pod in policy/v1beta1 and all Pods in policy/v1.
  if (apiVersion === 'policy/v1beta1' && kind === 'PodDisruptionBudget') {
    const { matchLabels, matchExpressions } = objectOf(objectOf(spec).selector);
    return Object.keys(objectOf(matchLabels)).length > 0 || objectsOf(matchExpressions).length > 0;
  }
  const version = textOf(apiVersion);
  if (!Object.hasOwn(SAME_IN_REPLACEMENT, version)) return false;
  return SAME_IN_REPLACEMENT[version]?.split(' ').includes(textOf(kind)) === true;
}
