import { agentAdditions, agentWebhook } from '../../domains/installation.ts';
import { engineGroups } from '../../model/fleet/engine-kinds.ts';
import { merged } from '../../model/values/merged.ts';
import { AGENT_CREDENTIALS, AGENT_LEASE } from '../agent/names.ts';
import { type Permission, type RoleRights, rulesOf } from './permission.ts';

/** Name of the agent's Deployment and ServiceAccount, and how the names of its other objects begin. */
export const AGENT_NAME = 'fleetrelay-agent';

/** The choice that binds the agent to the ClusterRole of this name. */
export const CLUSTER_ADMIN = 'cluster-admin';

/** The choice to let the agent write in all Namespaces; without it they are named. */
export const ALL_NAMESPACES = 'all-namespaces';

/** The Namespaces in which an agent may write: those with these names, or all of them. */
export type WritableNamespaces = readonly string[] | 'all';

/** ClusterRoles with this label (value `"true"`) widen what the agent may do. */
export const WIDEN_LABEL = 'rbac.fleetrelay.dev/aggregate-to-agent';

const ISTIO = 'networking.istio.io security.istio.io telemetry.istio.io gateway.networking.k8s.io';

/** What is discovered: read only, everywhere in the cluster. */
export const DISCOVERY: readonly Permission[] = rulesOf(`
  read | core | namespaces nodes pods serviceaccounts services | Input snapshot: what runs and where. Namespaces also for the stop button and for the cluster id (the UID of \`kube-system\`).
  read | apps | daemonsets deployments replicasets statefulsets | Input snapshot: workloads.
  read | batch | jobs | Input snapshot: which CronJob a Pod belongs to.
  read | networking.k8s.io | networkpolicies | Input snapshot: network policies.
  read | autoscaling | horizontalpodautoscalers | The replicas of what an autoscaler targets are left to it.
  read | discovery.k8s.io | endpointslices | Input snapshot: which endpoints of a Service are ready.
  read | apiextensions.k8s.io | customresourcedefinitions | A kind that is installed later is noticed at once.
  read | apiregistration.k8s.io | apiservices | A kind of an aggregated API that appears or goes away is noticed at once.
  read | ${ISTIO} | * | Input snapshot: Istio and the Gateway API, where they are installed.
  read | cilium.io | ciliumnetworkpolicies ciliumclusterwidenetworkpolicies | Input snapshot: Cilium's network policies, where they are installed.
  read | ${engineGroups.join(' ')} | * | Input snapshot: the kinds that fleetrelay itself reads, where they are installed.
`);

/** What may be applied and removed, without a further choice, in the Namespaces in which the agent may write, and read for its health. */
export const APPLIED: readonly Permission[] = rulesOf(`
  apply | core | configmaps limitranges persistentvolumeclaims resourcequotas serviceaccounts services | Applied kinds of the core group. No Secrets: that is a choice of its own.
  apply | apps | daemonsets deployments statefulsets | Applied workloads. A user who may write a workload may read, through it, the Secrets of its namespace.
  apply | batch | cronjobs jobs | Applied workloads that end.
  apply | autoscaling | horizontalpodautoscalers | Applied autoscalers.
  apply | policy | poddisruptionbudgets | Applied disruption budgets.
  apply | networking.k8s.io | ingresses networkpolicies | Applied ingress and network rules.
  apply | discovery.k8s.io | endpointslices | Endpoints of services of other clusters.
  apply | ${ISTIO} | * | Applied configuration of Istio and the Gateway API.
  apply | cilium.io | ciliumnetworkpolicies | Applied network policies of Cilium.
  create patch | events.k8s.io | events | Events that tell of drift of an applied object.
  list | core | events | The health of an applied Pod that no node can take: whether an autoscaler adds nodes for it. Pods themselves need a rule of their own (see "More rights").
`);

/** To apply the Namespaces themselves in which the agent may write. Every agent may read Namespaces. */
const NAMESPACES: readonly Permission[] = rulesOf(
  `create patch delete | core | namespaces | Namespaces that the desired state declares, of those in which the agent may write. One is removed only when nothing of the fleet is left in it. \`create\` counts for server-side apply, which names it.`,
);

/** In the agent's own namespace. The `create` of a POST cannot be tied to a name, and the pieces of the inventory have made-up ones. */
export const OWN_NAMESPACE: readonly Permission[] = [
  ...leaseRights(AGENT_LEASE),
  ...rulesOf(`
  get list create update delete | core | configmaps | The inventory: \`fleetrelay-inventory\` and its pieces. ${agentAdditions.flatMap(({ records = {} }) => Object.values(records)).join(' ')}
  get create patch update | core | secrets=${AGENT_CREDENTIALS} | The client certificate, its key and the roots of the server: this one Secret, which the replicas share. \`create\` counts for what is made by server-side apply, which names it.
`),
];

/** The Namespace of a cluster's own parts. */
export const KUBE_SYSTEM = 'kube-system';

/** What the choices of the person who installs an agent add; `cluster-admin` adds a binding to the ClusterRole of that name instead. */
const CHOICES: Readonly<Record<string, RoleRights>> = merged('choice of rights', [
  [
    'fleetrelay',
    {
      secrets: {
        whereWritable: rulesOf(
          `apply | core | secrets | Applied Secrets. RBAC cannot tell them from others: the agent may then read every Secret of these Namespaces, though it asks only for those with the label of its fleet.`,
        ),
      },
      rbac: {
        whereWritable: rulesOf(
          `apply | rbac.authorization.k8s.io | rolebindings roles | Applied roles and bindings. Without \`escalate\` and \`bind\`: the API server lets the agent grant only what it may do itself.`,
        ),
        everywhere: rulesOf(
          `apply | rbac.authorization.k8s.io | clusterrolebindings clusterroles | Applied ClusterRoles and their bindings. The policy refuses them to an agent that may write in all Namespaces.`,
        ),
      },
      crds: {
        everywhere: rulesOf(
          `apply | apiextensions.k8s.io | customresourcedefinitions | Applied CustomResourceDefinitions. Their objects need a rule of their own (see "More rights").`,
        ),
      },
    },
  ],
  ...agentAdditions.map(({ name, choices }) => [name, choices] as const),
]);

/** More than an agent may do by itself; each is the choice of the person who installs it. */
export const AGENT_ACCESS: readonly string[] = [...Object.keys(CHOICES), CLUSTER_ADMIN];

/** The roles that an agent has in any case, by what follows {@link AGENT_NAME} in their names. */
export const BASE_ROLES: Readonly<Record<string, RoleRights>> = {
  discovery: { everywhere: DISCOVERY },
  own: { ownNamespace: OWN_NAMESPACE },
  namespaces: { writableNamespaces: NAMESPACES },
  apply: { whereWritable: APPLIED },
};

/** The role of an agent that serves an admission webhook. */
export const WEBHOOK_ROLE = 'webhook';

/** All roles that an agent can have, by what follows {@link AGENT_NAME} in their names. */
export const ROLES: Readonly<Record<string, RoleRights>> = merged('role of an agent', [
  ['every agent', BASE_ROLES],
  ['a choice', CHOICES],
  ['the webhook', { [WEBHOOK_ROLE]: agentWebhook?.rights ?? {} }],
]);

/** To elect a leader by one Lease. The `create` of a POST cannot be tied to its name. */
export function leaseRights(name: string): readonly Permission[] {
  return rulesOf(`
  create | coordination.k8s.io | leases | The lease of the leader election, made on first start.
  get update | coordination.k8s.io | leases=${name} | To take, renew and give back that lease, and no other.
`);
}
