import { createHash } from 'node:crypto';
import { AGENT_LABELS, agentTemplateLabels } from '../../adapters/kubernetes/agent-labels.ts';
import { agentWebhook } from '../../domains/installation.ts';
import type { JsonObject } from '../../model/text/json.ts';
import { AGENT_CREDENTIALS } from '../agent/names.ts';
import { agentObject } from './agent-object.ts';
import { agentDeployment } from './agent-pod.ts';
import { agentPolicy } from './agent-policy.ts';
import { AGENT_NAME, CLUSTER_ADMIN } from './agent-rights.ts';
import { type AgentRightsOptions, agentRights } from './agent-roles.ts';

/** The settings in the manifests of one cluster's agent. */
export interface AgentManifestOptions extends AgentRightsOptions {
  /** Name of the cluster, as its KubernetesCluster declares it. */
  readonly cluster: string;
  /** HOST:PORT at which the cluster reaches the management server. */
  readonly server: string;
  /** Image of fleetrelay. */
  readonly image: string;
  /** Token of the cluster; absent: a person makes the Secret `fleetrelay-agent-token` with the key `token`. */
  readonly token?: string | undefined;
  /** Authority of the server's certificate (PEM); absent: those that the image trusts. */
  readonly ca?: string | undefined;
  /** The Namespaces of management servers in this cluster, which the policy protects; absent: the usual one. */
  readonly serverNamespaces?: readonly string[] | undefined;
}

/** A part of an installed agent: objects that are applied one after the other. */
interface AgentPart {
  /** Name of its file in the kustomize base. */
  readonly name: string;
  readonly objects: (options: AgentManifestOptions) => readonly JsonObject[];
  /** Absent: in any case. */
  readonly when?: (options: AgentManifestOptions) => boolean;
}

/**
 * All that an agent needs in its cluster, in the order in which it is applied. It is what `cluster register` applies or prints, what
 * `cluster deregister` removes, and what the kustomize bases and the rights of the chart are made of.
 */
export const AGENT_PARTS: readonly AgentPart[] = [
  { name: 'namespace', objects: ({ namespace }) => [ownNamespace(namespace)] },
  // Before the rights that it limits.
  {
    name: 'policy',
    objects: ({ serverNamespaces: namespaces }) => agentPolicy({ namespaces }),
    when: ({ access = [] }) => !access.includes(CLUSTER_ADMIN),
  },
  { name: 'rights', objects: agentRights },
  { name: 'settings', objects: settings },
  { name: 'deployment', objects: (options) => [agentDeployment({ ...options, settingsDigest: digestOf(options) })] },
  { name: 'network-policies', objects: networkPolicies },
  { name: 'disruption-budget', objects: ({ namespace }) => [disruptionBudget(namespace)] },
  // Last, because from then on labelled Pods wait for the agent.
  {
    name: 'webhook',
    objects: ({ namespace }) => agentWebhook?.manifests(namespace) ?? [],
    when: ({ webhook = false }) => webhook,
  },
];

/** The manifests of the agent of one cluster. Applying them again is safe; a change of the settings replaces the pods. */
export function agentManifests(options: AgentManifestOptions): readonly JsonObject[] {
  return AGENT_PARTS.flatMap(({ objects, when }) => (when?.(options) === false ? [] : objects(options)));
}

/**
 * The objects that an uninstallation removes, in this order, beside the roles. It removes the parts of all options of an
 * installation, and the objects that the agent has made. The Namespace stays: its inventory tells a later agent what it owns.
 */
export function removedManifests(namespace: string): readonly JsonObject[] {
  const options = { namespace, cluster: '', server: 'none:1', image: '', token: '', ca: '', writable: [] };
  const made = [agentObject('v1', 'Secret', AGENT_CREDENTIALS, namespace), ...(agentWebhook?.made(namespace) ?? [])];
  // A webhook that no agent serves would refuse Pods.
  const rank = ({ kind }: JsonObject): number => ['MutatingWebhookConfiguration', 'Deployment', kind].indexOf(kind);
  return [...AGENT_PARTS.flatMap(({ objects }) => objects(options)), ...made]
    .filter((manifest) => manifest.kind !== 'Namespace' && !isRole(manifest))
    .toSorted((a, b) => rank(a) - rank(b));
}

/** Whether a manifest is a role or a binding. */
export function isRole({ apiVersion }: JsonObject): boolean {
  return String(apiVersion).startsWith('rbac.');
}

function digestOf({ cluster, server, token, ca }: AgentManifestOptions): string {
  return createHash('sha256')
    .update(JSON.stringify([cluster, server, token, ca]))
    .digest('hex');
}

function settings({ namespace, cluster, server, token, ca }: AgentManifestOptions): readonly JsonObject[] {
  const rows: readonly (readonly [kind: string, name: string, content: JsonObject, isThere: boolean])[] = [
    ['ConfigMap', `${AGENT_NAME}-settings`, { data: { cluster, server } }, true],
    ['ConfigMap', 'fleetrelay-relay-ca', { data: { 'ca.crt': ca } }, ca !== undefined],
    ['Secret', `${AGENT_NAME}-token`, { stringData: { token } }, token !== undefined],
  ];
  return rows.flatMap(([kind, name, content, isThere]) =>
    isThere ? [agentObject('v1', kind, name, namespace, content)] : [],
  );
}
/** The agent's own namespace; it demands the strictest Pod Security level of its pods. */
function ownNamespace(name: string): JsonObject {
  const levels = ['enforce', 'warn', 'audit'].map((mode) => [`pod-security.kubernetes.io/${mode}`, 'restricted']);
  const labels = { ...AGENT_LABELS, ...Object.fromEntries(levels) };
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } };
}

/** Admits only requests for health and metrics; the agent reaches only DNS, the API server and the relay. */
function networkPolicies({ namespace, server }: AgentManifestOptions): readonly JsonObject[] {
  const policyTypes = ['Ingress', 'Egress'];
  const tcp = (port: number | string): JsonObject => ({ protocol: 'TCP', port });
  const policy = (name: string, spec: JsonObject): JsonObject =>
    agentObject('networking.k8s.io/v1', 'NetworkPolicy', name, namespace, { spec });
  const relayPort = Number(/:(\d+)$/.exec(server)?.[1] ?? 9900);
  return [
    policy(`${AGENT_NAME}-default-deny`, { podSelector: {}, policyTypes }),
    policy(AGENT_NAME, {
      podSelector: { matchLabels: agentTemplateLabels },
      policyTypes,
      ingress: [{ from: [{ namespaceSelector: {} }], ports: [tcp('health')] }],
      egress: [
        { ports: [{ protocol: 'UDP', port: 53 }, tcp(53)] },
        // No selector names the API server, which has no pod; its port is one of these two.
        { ports: [...new Set([443, 6443, relayPort])].map(tcp) },
      ],
    }),
  ];
}

/** A drain evicts at most one agent at a time. */
function disruptionBudget(namespace: string): JsonObject {
  const spec = {
    maxUnavailable: 1,
    selector: { matchLabels: agentTemplateLabels },
    // An agent without its server is unready; that must not keep a node from being drained.
    unhealthyPodEvictionPolicy: 'AlwaysAllow',
  };
  return agentObject('policy/v1', 'PodDisruptionBudget', AGENT_NAME, namespace, { spec });
}
