import { given } from '../../values/given.ts';

/** Labels of an object or of its namespace. */
type Labels = Readonly<Record<string, string>>;

/** One resource in one version that a cluster needs to run or to wake up. */
export interface Matcher {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  /** Empty for the resource itself. */
  readonly subresource: string;
  readonly isClusterScoped: boolean;
  /** Of the namespaces that matter; undefined: any, or none. */
  readonly namespaceLabels?: Labels;
  /** Of the objects that matter; undefined: any. */
  readonly objectLabels?: Labels;
}

const KUBE_SYSTEM: Labels = {
  'shoot.gardener.cloud/no-cleanup': 'true',
  'gardener.cloud/purpose': 'kube-system',
  'kubernetes.io/metadata.name': 'kube-system',
};
const DEFAULT: Labels = { 'kubernetes.io/metadata.name': 'default' };
const SYSTEM_POD: Labels = { 'shoot.gardener.cloud/no-cleanup': 'true', origin: 'gardener' };

interface Row {
  /** `GROUP/VERSION`; the core group is `/v1`. */
  readonly versions: readonly string[];
  /** `RESOURCE` or `RESOURCE/SUBRESOURCE`. */
  readonly resources: readonly string[];
  readonly isClusterScoped?: boolean;
  /** A matcher for each. */
  readonly namespaces?: readonly Labels[];
  readonly objectLabels?: Labels;
}

const RBAC = ['v1', 'v1alpha1', 'v1beta1'].map((version) => `rbac.authorization.k8s.io/${version}`);

const ROWS: readonly Row[] = [
  { versions: ['/v1'], resources: ['pods', 'pods/status'], namespaces: [KUBE_SYSTEM], objectLabels: SYSTEM_POD },
  { versions: ['/v1'], resources: ['configmaps', 'secrets', 'serviceaccounts'], namespaces: [KUBE_SYSTEM] },
  { versions: ['/v1'], resources: ['endpoints', 'services', 'services/status'], namespaces: [DEFAULT, KUBE_SYSTEM] },
  { versions: ['/v1'], resources: ['nodes', 'nodes/status'], isClusterScoped: true },
  {
    versions: ['/v1'],
    resources: ['namespaces', 'namespaces/status'],
    isClusterScoped: true,
    namespaces: [KUBE_SYSTEM],
    objectLabels: KUBE_SYSTEM,
  },
  {
    versions: ['apps/v1', 'apps/v1beta1', 'apps/v1beta2', 'extensions/v1beta1'],
    resources: [
      'controllerrevisions',
      'daemonsets',
      'daemonsets/status',
      'deployments',
      'deployments/scale',
      'replicasets',
      'replicasets/status',
      'replicasets/scale',
    ],
    namespaces: [KUBE_SYSTEM],
  },
  {
    versions: ['extensions/v1beta1', 'networking.k8s.io/v1', 'networking.k8s.io/v1beta1'],
    resources: ['networkpolicies'],
    namespaces: [KUBE_SYSTEM],
  },
  { versions: ['coordination.k8s.io/v1', 'coordination.k8s.io/v1beta1'], resources: ['leases'] },
  { versions: RBAC, resources: ['clusterroles', 'clusterrolebindings'], isClusterScoped: true },
  { versions: RBAC, resources: ['roles', 'rolebindings'], namespaces: [KUBE_SYSTEM] },
  {
    versions: ['apiextensions.k8s.io/v1', 'apiextensions.k8s.io/v1beta1'],
    resources: ['customresourcedefinitions', 'customresourcedefinitions/status'],
    isClusterScoped: true,
  },
  {
    versions: ['apiregistration.k8s.io/v1', 'apiregistration.k8s.io/v1beta1'],
    resources: ['apiservices', 'apiservices/status'],
    isClusterScoped: true,
  },
  {
    versions: ['certificates.k8s.io/v1'],
    resources: [
      'certificatesigningrequests',
      'certificatesigningrequests/status',
      'certificatesigningrequests/approval',
    ],
    isClusterScoped: true,
  },
  {
    versions: ['scheduling.k8s.io/v1', 'scheduling.k8s.io/v1beta1'],
    resources: ['priorityclasses'],
    isClusterScoped: true,
  },
];

/** What a webhook must not stand in the way of. Source: the matchers of Gardener's care controller. */
export const matchers: readonly Matcher[] = ROWS.flatMap(matchersOf);

/** Leases of kube-system, by which controllers of the control plane elect their leaders. No object among them has labels. */
export const leaseMatchers: readonly Matcher[] = matchersOf({
  versions: ['coordination.k8s.io/v1', 'coordination.k8s.io/v1beta1'],
  resources: ['leases'],
  namespaces: [KUBE_SYSTEM],
  objectLabels: {},
});

function matchersOf({ versions, resources, isClusterScoped = false, namespaces, objectLabels }: Row) {
  return versions.flatMap((apiVersion) =>
    resources.flatMap((written) =>
      (namespaces ?? [undefined]).map((namespaceLabels): Matcher => {
        const [group = '', version = ''] = apiVersion.split('/');
        const [resource = '', subresource = ''] = written.split('/');
        const labels = given({ namespaceLabels, objectLabels });
        return { group, version, resource, subresource, isClusterScoped, ...labels };
      }),
    ),
  );
}
