import { engineGroups } from '../../model/engine-kinds.ts';
import type { JsonObject } from '../../model/json.ts';
import { AGENT_LEASE } from '../agent/agent-lease.ts';
import { AGENT_CREDENTIALS } from '../agent/agent-secret.ts';

/** A rule of a Role or ClusterRole, and why the agent needs it. */
export interface Permission {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
  /** A sentence for the table in `deploy/README.md`. */
  readonly why: string;
}

/** More than an agent may do by itself; each is the choice of the person who installs it. */
export const AGENT_ACCESS = ['secrets', 'rbac', 'crds', 'cluster-admin'] as const;
export type AgentAccess = (typeof AGENT_ACCESS)[number];

/** ClusterRoles with this label (value `"true"`) widen what the agent may do. */
export const WIDEN_LABEL = 'rbac.fleetrelay.dev/aggregate-to-agent';

const READ = ['get', 'list', 'watch'];
/** Server-side apply is a patch; where nothing is there yet it needs `create` as well. */
const APPLY = ['get', 'list', 'watch', 'create', 'patch', 'delete'];

/** What is discovered: read only, everywhere in the cluster. */
export const DISCOVERY: readonly Permission[] = [
  {
    apiGroups: [''],
    resources: ['namespaces', 'nodes', 'pods', 'serviceaccounts', 'services'],
    verbs: READ,
    why: 'Input snapshot: what runs and where. Namespaces also for the stop button and for the cluster id (the UID of `kube-system`).',
  },
  {
    apiGroups: ['apps'],
    resources: ['daemonsets', 'deployments', 'replicasets', 'statefulsets'],
    verbs: READ,
    why: 'Input snapshot: workloads.',
  },
  {
    apiGroups: ['autoscaling'],
    resources: ['horizontalpodautoscalers'],
    verbs: READ,
    why: 'The replicas of what an autoscaler targets are left to it.',
  },
  {
    apiGroups: ['discovery.k8s.io'],
    resources: ['endpointslices'],
    verbs: READ,
    why: 'Input snapshot: which endpoints of a Service are ready.',
  },
  {
    apiGroups: ['apiextensions.k8s.io'],
    resources: ['customresourcedefinitions'],
    verbs: READ,
    why: 'A kind that is installed later is noticed at once.',
  },
  {
    apiGroups: ['apiregistration.k8s.io'],
    resources: ['apiservices'],
    verbs: READ,
    why: 'A kind of an aggregated API that appears or goes away is noticed at once.',
  },
  {
    apiGroups: ['networking.istio.io', 'security.istio.io', 'telemetry.istio.io', 'gateway.networking.k8s.io'],
    resources: ['*'],
    verbs: READ,
    why: 'Input snapshot: Istio and the Gateway API, where they are installed.',
  },
  {
    apiGroups: ['cilium.io'],
    resources: ['ciliumnetworkpolicies', 'ciliumclusterwidenetworkpolicies'],
    verbs: READ,
    why: "Input snapshot: Cilium's network policies, where they are installed.",
  },
  {
    apiGroups: engineGroups,
    resources: ['*'],
    verbs: READ,
    why: 'Input snapshot: the kinds that fleetrelay itself reads, where they are installed.',
  },
];

/** What may be applied and removed without a further choice. */
export const APPLIED: readonly Permission[] = [
  {
    apiGroups: [''],
    resources: ['configmaps', 'limitranges', 'persistentvolumeclaims', 'resourcequotas', 'serviceaccounts', 'services'],
    verbs: APPLY,
    why: 'Applied kinds of the core group. No Secrets: that is a choice of its own.',
  },
  {
    apiGroups: [''],
    resources: ['namespaces'],
    verbs: APPLY,
    why: 'Namespaces that the desired state declares. One is removed only when nothing of the fleet is left in it.',
  },
  {
    apiGroups: ['apps'],
    resources: ['daemonsets', 'deployments', 'statefulsets'],
    verbs: APPLY,
    why: 'Applied workloads. Whoever may write a workload may read, through it, the Secrets of its namespace.',
  },
  { apiGroups: ['batch'], resources: ['cronjobs', 'jobs'], verbs: APPLY, why: 'Applied workloads that end.' },
  {
    apiGroups: ['autoscaling'],
    resources: ['horizontalpodautoscalers'],
    verbs: APPLY,
    why: 'Applied autoscalers.',
  },
  { apiGroups: ['policy'], resources: ['poddisruptionbudgets'], verbs: APPLY, why: 'Applied disruption budgets.' },
  {
    apiGroups: ['networking.k8s.io'],
    resources: ['ingresses', 'networkpolicies'],
    verbs: APPLY,
    why: 'Applied ingress and network rules.',
  },
  {
    apiGroups: ['discovery.k8s.io'],
    resources: ['endpointslices'],
    verbs: APPLY,
    why: 'Endpoints of services of other clusters.',
  },
  {
    apiGroups: ['networking.istio.io', 'security.istio.io', 'telemetry.istio.io', 'gateway.networking.k8s.io'],
    resources: ['*'],
    verbs: APPLY,
    why: 'Applied configuration of Istio and the Gateway API.',
  },
  {
    apiGroups: ['cilium.io'],
    resources: ['ciliumnetworkpolicies'],
    verbs: APPLY,
    why: 'Applied network policies of Cilium.',
  },
];

/** In the agent's own namespace. The `create` of a POST cannot be tied to a name, and the pieces of the inventory have made-up ones. */
export const OWN_NAMESPACE: readonly Permission[] = [
  ...leaseRights(AGENT_LEASE),
  {
    apiGroups: [''],
    resources: ['configmaps'],
    verbs: ['get', 'list', 'create', 'update', 'delete'],
    why: 'The inventory: `fleetrelay-inventory` and its pieces.',
  },
  {
    apiGroups: [''],
    resources: ['secrets'],
    resourceNames: [AGENT_CREDENTIALS],
    verbs: ['get', 'create', 'patch', 'update'],
    why: 'The client certificate, its key and the roots of the server: this one Secret, which the replicas share. `create` counts for what is made by server-side apply, which names it.',
  },
];

/** What each further access adds; `cluster-admin` adds a binding to the ClusterRole of that name instead. */
export const FURTHER: Readonly<Record<Exclude<AgentAccess, 'cluster-admin'>, readonly Permission[]>> = {
  secrets: [
    {
      apiGroups: [''],
      resources: ['secrets'],
      verbs: APPLY,
      why: 'Applied Secrets. RBAC cannot tell them from others: the agent may then read every Secret of the cluster, though it asks only for those with the label of its fleet.',
    },
  ],
  rbac: [
    {
      apiGroups: ['rbac.authorization.k8s.io'],
      resources: ['clusterrolebindings', 'clusterroles', 'rolebindings', 'roles'],
      verbs: APPLY,
      why: 'Applied roles and bindings. Without `escalate` and `bind`: the API server lets the agent grant only what it may do itself.',
    },
  ],
  crds: [
    {
      apiGroups: ['apiextensions.k8s.io'],
      resources: ['customresourcedefinitions'],
      verbs: APPLY,
      why: 'Applied CustomResourceDefinitions. Their objects need a rule of their own (see "More rights").',
    },
  ],
};

/** A rule as the API server takes it. */
export function policyRule({ apiGroups, resources, resourceNames, verbs }: Permission): JsonObject {
  return { apiGroups, resources, ...(resourceNames === undefined ? {} : { resourceNames }), verbs };
}

/** To elect a leader by one Lease. The `create` of a POST cannot be tied to its name. */
export function leaseRights(name: string): readonly Permission[] {
  return [
    {
      apiGroups: ['coordination.k8s.io'],
      resources: ['leases'],
      verbs: ['create'],
      why: 'The lease of the leader election, made on first start.',
    },
    {
      apiGroups: ['coordination.k8s.io'],
      resources: ['leases'],
      resourceNames: [name],
      verbs: ['get', 'update'],
      why: 'To take, renew and give back that lease, and no other.',
    },
  ];
}
