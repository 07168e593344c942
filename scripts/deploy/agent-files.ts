import {
  agentDisruptionBudget,
  agentNamespace,
  agentNetworkPolicies,
  agentRights,
  furtherAgentRights,
  webhookRights,
} from '../../src/compose/manifests/agent-manifests.ts';
import {
  agentArguments,
  agentDeployment,
  WEBHOOK_CONTAINER_PORT,
  webhookArguments,
} from '../../src/compose/manifests/agent-pod.ts';
import {
  AGENT_ACCESS,
  APPLIED,
  DISCOVERY,
  FURTHER,
  OWN_NAMESPACE,
  policyRule,
  WEBHOOK_RIGHTS,
} from '../../src/compose/manifests/agent-rights.ts';
import { installedWebhook, webhookService } from '../../src/compose/manifests/agent-webhook.ts';
import { printYaml } from '../../src/manifest/print-yaml.ts';
import { type JsonObject, objectOf } from '../../src/model/json.ts';

const NAMESPACE = 'fleetrelay';
const BASE = 'deploy/kustomize/agent';
const COMPONENTS = 'deploy/kustomize/components';
const HEADER = '# Generated from src/compose/manifests/. Do not edit; run "npm run generate".\n';

/** Path below the project → text, of everything that is made from the agent's manifests. */
export function agentFiles(): ReadonlyMap<string, string> {
  const files = new Map([
    [`${BASE}/namespace.yaml`, documents([agentNamespace(NAMESPACE)])],
    [`${BASE}/rights.yaml`, documents(agentRights(NAMESPACE))],
    [`${BASE}/deployment.yaml`, documents([agentDeployment({ namespace: NAMESPACE, image: 'fleetrelay', ca: true })])],
    [`${BASE}/network-policies.yaml`, documents(agentNetworkPolicies(NAMESPACE, 9900))],
    [`${BASE}/disruption-budget.yaml`, documents([agentDisruptionBudget(NAMESPACE)])],
    ['deploy/helm/fleetrelay-agent/files/rights.yaml', HEADER + printYaml(chartRights())],
  ]);
  for (const access of AGENT_ACCESS) {
    const folder = `${COMPONENTS}/agent-${access}`;
    const [everywhere, inNamespaces] = partitioned(furtherAgentRights(NAMESPACE, access));
    if (everywhere.length > 0) {
      files.set(`${folder}/rights.yaml`, documents(everywhere));
      files.set(`${folder}/kustomization.yaml`, component({ resources: ['rights.yaml'] }));
    }
    // An overlay moves everything into its own Namespace, so these are a base for an overlay of the other Namespace.
    if (inNamespaces.length > 0) {
      const base = `deploy/kustomize/agent-${access}-namespace`;
      files.set(`${base}/rights.yaml`, documents(inNamespaces));
      files.set(`${base}/kustomization.yaml`, kustomization({ resources: ['rights.yaml'] }));
    }
  }
  files.set(`${COMPONENTS}/agent-public-ca/deployment.yaml`, documents([withoutOwnAuthority()]));
  files.set(`${COMPONENTS}/agent-public-ca/kustomization.yaml`, component({ patches: [{ path: 'deployment.yaml' }] }));
  const webhook = `${COMPONENTS}/agent-webhook`;
  files.set(`${webhook}/rights.yaml`, documents(webhookRights(NAMESPACE)));
  files.set(`${webhook}/service.yaml`, documents(webhookService(NAMESPACE)));
  files.set(`${webhook}/configuration.yaml`, documents([installedWebhook(NAMESPACE)]));
  const patches = [{ target: { kind: 'Deployment', name: 'fleetrelay-agent' }, patch: printYaml(withWebhook()) }];
  const resources = ['rights.yaml', 'service.yaml', 'configuration.yaml'];
  files.set(`${webhook}/kustomization.yaml`, component({ resources, patches }));
  const { webhooks = [] } = installedWebhook('NAMESPACE', 'SERVICE');
  files.set('deploy/helm/fleetrelay-agent/files/webhooks.yaml', HEADER + printYaml({ webhooks }));
  return files;
}

/** A JSON patch of the Deployment. */
function withWebhook(): readonly JsonObject[] {
  const at = '/spec/template/spec/containers/0';
  const args = webhookArguments('fleetrelay:0.1.0').map((value) => ({ op: 'add', path: `${at}/args/-`, value }));
  return [...args, { op: 'add', path: `${at}/ports/-`, value: WEBHOOK_CONTAINER_PORT }];
}

function chartRights(): JsonObject {
  const { secrets, rbac, crds, care, tunnel, webhooks } = FURTHER;
  const groups = {
    ...{ discovery: DISCOVERY, apply: APPLIED, ownNamespace: OWN_NAMESPACE },
    ...{ secrets: secrets.everywhere ?? [], rbac: rbac.everywhere ?? [], crds: crds.everywhere ?? [] },
    ...{ care: care.everywhere ?? [], careNamespaces: care.inNamespaces ?? [] },
    ...{ tunnelKubeSystem: tunnel.inKubeSystem ?? [], webhooks: webhooks.everywhere ?? [] },
    ...{ webhook: WEBHOOK_RIGHTS.everywhere, webhookOwnNamespace: WEBHOOK_RIGHTS.ownNamespace },
  };
  return Object.fromEntries(Object.entries(groups).map(([name, rules]) => [name, rules.map(policyRule)]));
}

/** For a server whose certificate the image trusts by itself. */
function withoutOwnAuthority(): JsonObject {
  const container = {
    name: 'agent',
    args: agentArguments(false),
    volumeMounts: [{ $patch: 'delete', mountPath: '/etc/fleetrelay/ca' }],
  };
  const spec = { containers: [container], volumes: [{ $patch: 'delete', name: 'ca' }] };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'fleetrelay-agent', namespace: NAMESPACE },
    spec: { template: { spec } },
  };
}

function component(content: JsonObject): string {
  return documents([{ apiVersion: 'kustomize.config.k8s.io/v1alpha1', kind: 'Component', ...content }]);
}

function kustomization(content: JsonObject): string {
  return documents([{ apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization', ...content }]);
}

/** Cluster-scoped rights, and those of Namespaces. */
function partitioned(rights: readonly JsonObject[]): readonly [readonly JsonObject[], readonly JsonObject[]] {
  const isInNamespace = ({ metadata }: JsonObject): boolean => objectOf(metadata).namespace !== undefined;
  return [rights.filter((each) => !isInNamespace(each)), rights.filter(isInNamespace)];
}

function documents(objects: readonly JsonObject[]): string {
  return HEADER + objects.map((object) => printYaml(object)).join('---\n');
}
