import { createHash } from 'node:crypto';
import { AGENT_LABELS, agentTemplateLabels } from '../../adapters/kubernetes/agent-labels.ts';
import { agentWebhook } from '../../domains/installation.ts';
import type { JsonObject } from '../../model/text/json.ts';
import { AGENT_CREDENTIALS } from '../agent/names.ts';
import { type AgentPodOptions, agentDeployment } from './agent-pod.ts';
import { agentPolicy, SERVER_NAMESPACE } from './agent-policy.ts';
import {
  AGENT_ACCESS,
  APPLIED,
  DISCOVERY,
  FURTHER,
  KUBE_SYSTEM,
  namespaceRights,
  OWN_NAMESPACE,
  WIDEN_LABEL,
  type WritableNamespaces,
} from './agent-rights.ts';
import { type Permission, policyRule } from './permission.ts';

/** The settings in the manifests of one cluster's agent. */
export interface AgentManifestOptions extends Omit<AgentPodOptions, 'settingsDigest' | 'ca'> {
  /** Name of the cluster, as its KubernetesCluster declares it. */
  readonly cluster: string;
  /** HOST:PORT at which the cluster reaches the management server. */
  readonly server: string;
  /** Token of the cluster; absent: a person makes the Secret `fleetrelay-agent-token` with the key `token`. */
  readonly token?: string | undefined;
  /** Authority of the server's certificate (PEM); absent: those that the image trusts. */
  readonly ca?: string | undefined;
  /** Where the agent may write. */
  readonly writable: WritableNamespaces;
  /** The Namespaces of management servers in this cluster, which the policy protects; absent: the usual one. */
  readonly serverNamespaces?: readonly string[] | undefined;
  /** More than the agent may do by itself. */
  readonly access?: readonly string[];
  /** The Namespaces of `FurtherRights.inNamespaces`, by the access; absent: `kube-system`. */
  readonly accessNamespaces?: Readonly<Record<string, readonly string[]>> | undefined;
}

/**
 * Everything that the agent of a cluster needs there, in the order in which it is to be applied: Namespace, rights,
 * settings, Deployment, network rules, disruption budget, webhook. Applying it again is safe; a change of the settings replaces the
 * pods.
 */
export function agentManifests(options: AgentManifestOptions): readonly JsonObject[] {
  const { namespace, cluster, server, token, ca, access = [], webhook = false } = options;
  const settingsDigest = createHash('sha256')
    .update(JSON.stringify([cluster, server, token, ca]))
    .digest('hex');
  return [
    agentNamespace(namespace),
    // Before the rights that it limits.
    ...(access.includes('cluster-admin')
      ? []
      : agentPolicy({ namespaces: options.serverNamespaces ?? [SERVER_NAMESPACE] })),
    ...agentRights(namespace),
    ...applyRights(namespace, options.writable),
    ...access.flatMap((each) => furtherAgentRights(namespace, each, options)),
    ...(webhook ? webhookRights(namespace) : []),
    inNamespace('v1', 'ConfigMap', namespace, 'fleetrelay-agent-settings', { data: { cluster, server } }),
    ...(ca === undefined
      ? []
      : [inNamespace('v1', 'ConfigMap', namespace, 'fleetrelay-relay-ca', { data: { 'ca.crt': ca } })]),
    ...(token === undefined
      ? []
      : [inNamespace('v1', 'Secret', namespace, 'fleetrelay-agent-token', { stringData: { token } })]),
    agentDeployment({ ...options, ca: ca !== undefined, settingsDigest }),
    ...agentNetworkPolicies(namespace, Number(/:(\d+)$/.exec(server)?.[1] ?? 9900)),
    agentDisruptionBudget(namespace),
    // Last, because from then on labelled Pods wait for the agent.
    ...(webhook ? (agentWebhook?.manifests(namespace) ?? []) : []),
  ];
}

/** The agent's own namespace; it demands the strictest Pod Security level of its pods. */
export function agentNamespace(name: string): JsonObject {
  const level = 'restricted';
  const labels = {
    ...AGENT_LABELS,
    'pod-security.kubernetes.io/enforce': level,
    'pod-security.kubernetes.io/warn': level,
    'pod-security.kubernetes.io/audit': level,
  };
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } };
}

/** ServiceAccount, roles and bindings of every agent: to read, and to write what it keeps for itself. */
export function agentRights(namespace: string): readonly JsonObject[] {
  return [
    inNamespace('v1', 'ServiceAccount', namespace, 'fleetrelay-agent', { automountServiceAccountToken: false }),
    ...clusterRights(namespace, 'fleetrelay-agent-discovery', DISCOVERY),
    // No member `rules`, not even an empty one: the aggregating controller owns it.
    clusterWide('ClusterRole', 'fleetrelay-agent-more', {
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [WIDEN_LABEL]: 'true' } }] },
    }),
    bound(namespace, 'fleetrelay-agent-more'),
    ...rightsIn(namespace, namespace, 'fleetrelay-agent', OWN_NAMESPACE),
  ];
}

/** The rights to write, everywhere or in the named Namespaces, which have to exist. */
export function applyRights(namespace: string, writable: WritableNamespaces): readonly JsonObject[] {
  return [
    ...clusterRights(namespace, 'fleetrelay-agent-namespaces', namespaceRights(writable)),
    ...rightsWhere(writable, namespace, 'fleetrelay-agent-apply', APPLIED),
  ];
}

/** What the webhook adds to them. */
export function webhookRights(namespace: string): readonly JsonObject[] {
  const name = 'fleetrelay-agent-webhook';
  const { everywhere = [], ownNamespace = [] } = agentWebhook?.rights ?? {};
  return [...clusterRights(namespace, name, everywhere), ...rightsIn(namespace, namespace, name, ownNamespace)];
}

/** The Secret that the agent makes for its client certificate. It is not installed, but an uninstallation removes it. */
export function agentOwnSecret(namespace: string): JsonObject {
  return inNamespace('v1', 'Secret', namespace, AGENT_CREDENTIALS, {});
}

/** What one further access adds to them. `accessNamespaces`: see {@link AgentManifestOptions}. */
export function furtherAgentRights(
  namespace: string,
  access: string,
  {
    writable,
    accessNamespaces = {},
  }: { readonly writable: WritableNamespaces; readonly accessNamespaces?: AgentManifestOptions['accessNamespaces'] },
): readonly JsonObject[] {
  const name = furtherRole(access);
  if (access === 'cluster-admin') return [bound(namespace, name, 'cluster-admin')];
  const further = FURTHER[access];
  if (further === undefined) throw new Error(`an agent has no further access ${access}`);
  const { everywhere = [], whereWritable = [], inNamespaces = [], inKubeSystem = [] } = further;
  const isOneRole = writable === 'all';
  return [
    ...clusterRights(namespace, name, isOneRole ? [...everywhere, ...whereWritable] : everywhere),
    ...(isOneRole ? [] : rightsWhere(writable, namespace, name, whereWritable)),
    ...rightsWhere(accessNamespaces[access] ?? [KUBE_SYSTEM], namespace, name, inNamespaces),
    ...rightsWhere([KUBE_SYSTEM], namespace, name, inKubeSystem),
  ];
}

/** The names of all roles and bindings that an installation can have. */
export const AGENT_ROLES: readonly string[] = [
  ...['', '-discovery', '-more', '-namespaces', '-apply', '-webhook'].map((suffix) => `fleetrelay-agent${suffix}`),
  ...AGENT_ACCESS.map(furtherRole),
];

/** The name of the roles and bindings of a further access. */
export function furtherRole(access: string): string {
  return `fleetrelay-agent-${access}`;
}

/** Admits only requests for health and metrics; the agent reaches only DNS, the API server and the relay. */
export function agentNetworkPolicies(namespace: string, relayPort: number): readonly JsonObject[] {
  const tcp = (port: number): JsonObject => ({ protocol: 'TCP', port });
  const policy = (name: string, spec: JsonObject): JsonObject =>
    inNamespace('networking.k8s.io/v1', 'NetworkPolicy', namespace, name, { spec });
  return [
    policy('fleetrelay-agent-default-deny', { podSelector: {}, policyTypes: ['Ingress', 'Egress'] }),
    policy('fleetrelay-agent', {
      podSelector: { matchLabels: agentTemplateLabels },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ from: [{ namespaceSelector: {} }], ports: [tcp(9981)] }],
      egress: [
        { ports: [{ protocol: 'UDP', port: 53 }, tcp(53)] },
        // No selector names the API server, which has no pod; its port is one of these two.
        { ports: [...new Set([443, 6443, relayPort])].map(tcp) },
      ],
    }),
  ];
}

/** A drain evicts at most one agent at a time. */
export function agentDisruptionBudget(namespace: string): JsonObject {
  const spec = {
    maxUnavailable: 1,
    selector: { matchLabels: agentTemplateLabels },
    // An agent without its server is unready; that must not keep a node from being drained.
    unhealthyPodEvictionPolicy: 'AlwaysAllow',
  };
  return inNamespace('policy/v1', 'PodDisruptionBudget', namespace, 'fleetrelay-agent', { spec });
}

const RBAC = 'rbac.authorization.k8s.io';

/** A ClusterRole and its binding; nothing without permissions. */
function clusterRights(namespace: string, name: string, permissions: readonly Permission[]): readonly JsonObject[] {
  return permissions.length === 0 ? [] : [role(name, permissions), bound(namespace, name)];
}

/** A Role in each of the Namespaces, or a ClusterRole for all of them; nothing without permissions. */
function rightsWhere(
  places: WritableNamespaces,
  namespace: string,
  name: string,
  permissions: readonly Permission[],
): readonly JsonObject[] {
  if (permissions.length === 0) return [];
  if (places === 'all') return clusterRights(namespace, name, permissions);
  return [...new Set(places)].flatMap((place) => rightsIn(place, namespace, name, permissions));
}

function role(name: string, permissions: readonly Permission[]): JsonObject {
  return clusterWide('ClusterRole', name, { rules: permissions.map(policyRule) });
}

/** A Role in a Namespace, and its binding to the agent of `namespace`. */
function rightsIn(
  place: string,
  namespace: string,
  name: string,
  permissions: readonly Permission[],
): readonly JsonObject[] {
  return [
    inNamespace(`${RBAC}/v1`, 'Role', place, name, { rules: permissions.map(policyRule) }),
    inNamespace(`${RBAC}/v1`, 'RoleBinding', place, name, {
      roleRef: { apiGroup: RBAC, kind: 'Role', name },
      subjects: subjects(namespace),
    }),
  ];
}

function bound(namespace: string, name: string, clusterRole = name): JsonObject {
  const roleRef = { apiGroup: RBAC, kind: 'ClusterRole', name: clusterRole };
  return clusterWide('ClusterRoleBinding', name, { roleRef, subjects: subjects(namespace) });
}

function subjects(namespace: string): readonly JsonObject[] {
  return [{ kind: 'ServiceAccount', name: 'fleetrelay-agent', namespace }];
}

function clusterWide(kind: string, name: string, content: JsonObject): JsonObject {
  return { apiVersion: `${RBAC}/v1`, kind, metadata: { name, labels: AGENT_LABELS }, ...content };
}

function inNamespace(
  apiVersion: string,
  kind: string,
  namespace: string,
  name: string,
  content: JsonObject,
): JsonObject {
  return { apiVersion, kind, metadata: { name, namespace, labels: AGENT_LABELS }, ...content };
}
