import { engineKindOf, engineKindRow } from '../fleet/engine-kinds.ts';
import type { ObjectRef } from './object-key.ts';

/** Whether objects of a kind lie in a namespace. */
export type KindScope = 'Namespaced' | 'Cluster';

/** Kinds of Kubernetes and the Gateway API, by group. */
const CLUSTER_SCOPED: Readonly<Record<string, string>> = {
  '': 'ComponentStatus Namespace Node PersistentVolume',
  'admissionregistration.k8s.io':
    'MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration ' +
    'ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration',
  'apiextensions.k8s.io': 'CustomResourceDefinition',
  'apiregistration.k8s.io': 'APIService',
  'certificates.k8s.io': 'CertificateSigningRequest ClusterTrustBundle',
  'flowcontrol.apiserver.k8s.io': 'FlowSchema PriorityLevelConfiguration',
  'gateway.networking.k8s.io': 'GatewayClass',
  'networking.k8s.io': 'IngressClass IPAddress ServiceCIDR',
  'node.k8s.io': 'RuntimeClass',
  'rbac.authorization.k8s.io': 'ClusterRole ClusterRoleBinding',
  'resource.k8s.io': 'DeviceClass ResourceSlice',
  'scheduling.k8s.io': 'PriorityClass',
  'storage.k8s.io': 'CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass',
};

const NAMESPACED: Readonly<Record<string, string>> = {
  '':
    'Binding ConfigMap Endpoints Event LimitRange PersistentVolumeClaim Pod PodTemplate ReplicationController ' +
    'ResourceQuota Secret Service ServiceAccount',
  apps: 'ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet',
  autoscaling: 'HorizontalPodAutoscaler',
  batch: 'CronJob Job',
  'coordination.k8s.io': 'Lease',
  'discovery.k8s.io': 'EndpointSlice',
  'events.k8s.io': 'Event',
  'gateway.networking.k8s.io': 'BackendTLSPolicy GRPCRoute Gateway HTTPRoute ReferenceGrant',
  'networking.k8s.io': 'Ingress NetworkPolicy',
  policy: 'PodDisruptionBudget',
  'rbac.authorization.k8s.io': 'Role RoleBinding',
  'resource.k8s.io': 'ResourceClaim ResourceClaimTemplate',
  'storage.k8s.io': 'CSIStorageCapacity',
};

/** By `group/Kind`. */
const SCOPES: ReadonlyMap<string, KindScope> = new Map([
  ...scopesOf(CLUSTER_SCOPED, 'Cluster'),
  ...scopesOf(NAMESPACED, 'Namespaced'),
]);

function scopesOf(
  kinds: Readonly<Record<string, string>>,
  scope: KindScope,
): readonly (readonly [string, KindScope])[] {
  return Object.entries(kinds).flatMap(([group, names]) =>
    names.split(' ').map((kind) => [`${group}/${kind}`, scope] as const),
  );
}

/** Whether the word means a kind that Kubernetes or the Gateway API defines. */
export function isBuiltInWord(word: string): boolean {
  return [...SCOPES.keys()].some((name) => {
    const [group = '', kind = ''] = name.split('/');
    return isKindWord(word, { group, kind });
  });
}

/** The scope of a kind that Kubernetes or the Gateway API defines; undefined for all others. */
export function builtInKindScope(group: string, kind: string): KindScope | undefined {
  return SCOPES.get(`${group}/${kind}`);
}

const GROUPS: ReadonlySet<string> = new Set([...Object.keys(CLUSTER_SCOPED), ...Object.keys(NAMESPACED)]);

/** Whether Kubernetes or the Gateway API defines kinds in the group. */
export function isBuiltInGroup(group: string): boolean {
  return GROUPS.has(group);
}

/** The short names that kubectl has for kinds of Kubernetes and the Gateway API, by group. */
const SHORT_NAMES: Readonly<Record<string, string>> = {
  '':
    'cs=ComponentStatus cm=ConfigMap ep=Endpoints ev=Event limits=LimitRange ns=Namespace no=Node pv=PersistentVolume ' +
    'pvc=PersistentVolumeClaim po=Pod rc=ReplicationController quota=ResourceQuota svc=Service sa=ServiceAccount',
  'apiextensions.k8s.io': 'crd=CustomResourceDefinition crds=CustomResourceDefinition',
  apps: 'ds=DaemonSet deploy=Deployment rs=ReplicaSet sts=StatefulSet',
  autoscaling: 'hpa=HorizontalPodAutoscaler',
  batch: 'cj=CronJob',
  'certificates.k8s.io': 'csr=CertificateSigningRequest',
  'events.k8s.io': 'ev=Event',
  'gateway.networking.k8s.io': 'btlspolicy=BackendTLSPolicy gtw=Gateway gc=GatewayClass refgrant=ReferenceGrant',
  'networking.k8s.io': 'ip=IPAddress ing=Ingress netpol=NetworkPolicy',
  policy: 'pdb=PodDisruptionBudget',
  'scheduling.k8s.io': 'pc=PriorityClass',
  'storage.k8s.io': 'sc=StorageClass vac=VolumeAttributesClass',
};

/**
 * Whether a word names a kind, as for kubectl. A word is `KIND` or `KIND.GROUP`; KIND is the kind, its plural or a short
 * name, in any case. A word without a group names kinds of every group.
 */
export function isKindWord(word: string, { group, kind }: Pick<ObjectRef, 'group' | 'kind'>): boolean {
  const written = word.toLowerCase();
  const dot = written.indexOf('.');
  if (dot >= 0 && written.slice(dot + 1) !== group) return false;
  const head = dot < 0 ? written : written.slice(0, dot);
  const engineKind = engineKindOf(group, kind);
  if (engineKind === undefined) {
    const isShort = SHORT_NAMES[group]?.split(' ').includes(`${head}=${kind}`) === true;
    return isShort || [kind.toLowerCase(), pluralOf(kind.toLowerCase())].includes(head);
  }
  const { plural, shortNames } = engineKindRow(engineKind);
  return [kind.toLowerCase(), plural, ...shortNames].includes(head);
}

/** The plural of a lower-case kind in URLs, by the convention of all built-in kinds. */
function pluralOf(word: string): string {
  if (word === 'endpoints') return word;
  if (/(s|x|z|ch|sh)$/.test(word)) return `${word}es`;
  return /[^aeiou]y$/.test(word) ? `${word.slice(0, -1)}ies` : `${word}s`;
}
