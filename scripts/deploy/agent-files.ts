import {
  agentDisruptionBudget,
  agentNamespace,
  agentNetworkPolicies,
  agentRights,
  furtherAgentRights,
} from '../../src/compose/manifests/agent-manifests.ts';
import { agentArguments, agentDeployment } from '../../src/compose/manifests/agent-pod.ts';
import {
  AGENT_ACCESS,
  APPLIED,
  DISCOVERY,
  FURTHER,
  OWN_NAMESPACE,
  policyRule,
} from '../../src/compose/manifests/agent-rights.ts';
import { printYaml } from '../../src/manifest/print-yaml.ts';
import type { JsonObject } from '../../src/model/json.ts';

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
    files.set(`${folder}/rights.yaml`, documents(furtherAgentRights(NAMESPACE, access)));
    files.set(`${folder}/kustomization.yaml`, component({ resources: ['rights.yaml'] }));
  }
  files.set(`${COMPONENTS}/agent-public-ca/deployment.yaml`, documents([withoutOwnAuthority()]));
  files.set(`${COMPONENTS}/agent-public-ca/kustomization.yaml`, component({ patches: [{ path: 'deployment.yaml' }] }));
  return files;
}

function chartRights(): JsonObject {
  const { secrets, rbac, crds } = FURTHER;
  const groups = { discovery: DISCOVERY, apply: APPLIED, ownNamespace: OWN_NAMESPACE, secrets, rbac, crds };
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

function documents(objects: readonly JsonObject[]): string {
  return HEADER + objects.map((object) => printYaml(object)).join('---\n');
}
