import {
  agentDisruptionBudget,
  agentNamespace,
  agentNetworkPolicies,
  agentRights,
  applyRights,
  furtherAgentRights,
  webhookRights,
} from '../../src/compose/manifests/agent-manifests.ts';
import { agentArguments, agentDeployment } from '../../src/compose/manifests/agent-pod.ts';
import { agentPolicy, policySpec } from '../../src/compose/manifests/agent-policy.ts';
import {
  AGENT_ACCESS,
  ALL_NAMESPACES,
  APPLIED,
  DISCOVERY,
  FURTHER,
  namespaceRights,
  OWN_NAMESPACE,
} from '../../src/compose/manifests/agent-rights.ts';
import { policyRule } from '../../src/compose/manifests/permission.ts';
import {
  healthInstalled,
  installedWebhook,
  webhookService,
} from '../../src/domains/health/compose/installed-webhook.ts';
import { printYaml } from '../../src/manifest/print-yaml.ts';
import { type JsonObject, objectOf } from '../../src/model/text/json.ts';

const NAMESPACE = 'fleetrelay';
/** Stands for the Namespace that an overlay names. */
const ONE_NAMESPACE = 'default';
const BASE = 'deploy/kustomize/agent';
const COMPONENTS = 'deploy/kustomize/components';
const HEADER = '# Generated from src/compose/manifests/. Do not edit; run "npm run generate".\n';

/** Path below the project → text, of everything that is made from the agent's manifests. */
export function agentFiles(): ReadonlyMap<string, string> {
  const files = new Map([
    [`${BASE}/namespace.yaml`, documents([agentNamespace(NAMESPACE)])],
    [`${BASE}/rights.yaml`, documents(agentRights(NAMESPACE))],
    [`${BASE}/policy.yaml`, documents(agentPolicy())],
    [`${BASE}/deployment.yaml`, documents([agentDeployment({ namespace: NAMESPACE, image: 'fleetrelay', ca: true })])],
    [`${BASE}/network-policies.yaml`, documents(agentNetworkPolicies(NAMESPACE, 9900))],
    [`${BASE}/disruption-budget.yaml`, documents([agentDisruptionBudget(NAMESPACE)])],
    ['deploy/helm/fleetrelay-agent/files/rights.yaml', HEADER + printYaml(chartRights())],
  ]);
  for (const [path, text] of rightsFiles()) files.set(path, text);
  files.set(`${COMPONENTS}/agent-public-ca/deployment.yaml`, documents([withoutOwnAuthority()]));
  files.set(`${COMPONENTS}/agent-public-ca/kustomization.yaml`, component({ patches: [{ path: 'deployment.yaml' }] }));
  const webhook = `${COMPONENTS}/agent-webhook`;
  files.set(`${webhook}/rights.yaml`, documents(webhookRights(NAMESPACE)));
  files.set(`${webhook}/service.yaml`, documents(webhookService(NAMESPACE)));
  files.set(`${webhook}/configuration.yaml`, documents([installedWebhook(NAMESPACE)]));
  const patches = [{ target: { kind: 'Deployment', name: 'fleetrelay-agent' }, patch: printYaml(withWebhook()) }];
  const resources = ['rights.yaml', 'service.yaml', 'configuration.yaml'];
  files.set(`${webhook}/kustomization.yaml`, component({ resources, patches }));
  const policy = { serviceAccount: 'ACCOUNT', namespaces: ['NAMESPACES'], webhook: 'NAME', webhookSecret: 'SECRET' };
  files.set('deploy/helm/fleetrelay-agent/files/policy.yaml', HEADER + printYaml({ spec: policySpec(policy) }));
  const { webhooks = [] } = installedWebhook('NAMESPACE', 'SERVICE');
  files.set('deploy/helm/fleetrelay-agent/files/webhooks.yaml', HEADER + printYaml({ webhooks }));
  return files;
}

/**
 * A component for what an agent may do in the whole cluster. An overlay moves everything into its own Namespace, so what it may do in
 * one Namespace is a base for an overlay of that Namespace.
 */
function rightsFiles(): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  const add = (name: string, everywhere: readonly JsonObject[], inOne: readonly JsonObject[]): void => {
    for (const [folder, rights, frame] of [
      [`${COMPONENTS}/agent-${name}`, everywhere.filter((each) => !isInNamespace(each)), component],
      [`deploy/kustomize/agent-${name}-namespace`, inOne.filter(isInNamespace), kustomization],
    ] as const) {
      if (rights.length === 0) continue;
      files.set(`${folder}/rights.yaml`, documents(rights));
      files.set(`${folder}/kustomization.yaml`, frame({ resources: ['rights.yaml'] }));
    }
  };
  add(ALL_NAMESPACES, applyRights(NAMESPACE, 'all'), []);
  add('apply', [], applyRights(NAMESPACE, [ONE_NAMESPACE]));
  for (const access of AGENT_ACCESS) {
    const everywhere = furtherAgentRights(NAMESPACE, access, { writable: 'all' });
    add(access, everywhere, furtherAgentRights(NAMESPACE, access, { writable: [ONE_NAMESPACE] }));
  }
  // For a fleet that an administrator trusts, and for API servers older than 1.30.
  const patches = agentPolicy().map(({ apiVersion, kind, metadata }) => ({
    patch: printYaml({ $patch: 'delete', apiVersion, kind, metadata: { name: objectOf(metadata).name } }),
  }));
  files.set(`${COMPONENTS}/agent-without-policy/kustomization.yaml`, component({ patches }));
  return files;
}

/** A JSON patch of the Deployment. */
function withWebhook(): readonly JsonObject[] {
  const { webhook } = healthInstalled;
  const at = '/spec/template/spec/containers/0';
  const args = (webhook?.args('fleetrelay:0.1.0') ?? []).map((value) => ({ op: 'add', path: `${at}/args/-`, value }));
  return [...args, { op: 'add', path: `${at}/ports/-`, value: webhook?.port ?? {} }];
}

function chartRights(): JsonObject {
  const { webhook } = healthInstalled;
  const { secrets = {}, rbac = {}, crds = {}, care = {}, tunnel = {}, webhooks = {} } = FURTHER;
  const groups = {
    ...{ discovery: DISCOVERY, apply: APPLIED, namespaces: namespaceRights('all'), ownNamespace: OWN_NAMESPACE },
    ...{ secrets: secrets.whereWritable ?? [], rbac: rbac.whereWritable ?? [] },
    ...{ rbacCluster: rbac.everywhere ?? [], crds: crds.everywhere ?? [] },
    ...{ care: care.everywhere ?? [], careNamespaces: care.inNamespaces ?? [] },
    ...{ tunnelKubeSystem: tunnel.inKubeSystem ?? [], webhooks: webhooks.everywhere ?? [] },
    ...{ webhook: webhook?.rights.everywhere ?? [], webhookOwnNamespace: webhook?.rights.ownNamespace ?? [] },
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

function isInNamespace({ metadata }: JsonObject): boolean {
  return objectOf(metadata).namespace !== undefined;
}

function documents(objects: readonly JsonObject[]): string {
  return HEADER + objects.map((object) => printYaml(object)).join('---\n');
}
