import { AGENT_PARTS } from '../../src/compose/manifests/agent-manifests.ts';
import { agentArguments, agentDeployment } from '../../src/compose/manifests/agent-pod.ts';
import { agentPolicy, policySpec } from '../../src/compose/manifests/agent-policy.ts';
import { AGENT_ACCESS, ALL_NAMESPACES, ROLES, WEBHOOK_ROLE } from '../../src/compose/manifests/agent-rights.ts';
import { roleObjects } from '../../src/compose/manifests/agent-roles.ts';
import { type Permission, policyRule } from '../../src/compose/manifests/permission.ts';
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
const CHART = 'deploy/helm/fleetrelay-agent/files';
const HEADER = '# Generated from src/compose/manifests/. Do not edit; run "npm run generate".\n';
/** The base: an overlay brings the settings, and says where the agent may write. */
const UNSAID = { namespace: NAMESPACE, cluster: '', server: 'none:9900', image: 'fleetrelay', ca: '', writable: [] };

/** Path below the project → text, of everything that is made from the agent's manifests. */
export function agentFiles(): ReadonlyMap<string, string> {
  const webhook = `${COMPONENTS}/agent-webhook`;
  const patches = [{ target: { kind: 'Deployment', name: 'fleetrelay-agent' }, patch: printYaml(withWebhook()) }];
  const resources = ['rights.yaml', 'service.yaml', 'configuration.yaml'];
  const policy = { serviceAccount: 'ACCOUNT', namespaces: ['NAMESPACES'], webhook: 'NAME', webhookSecret: 'SECRET' };
  const { webhooks = [] } = installedWebhook('NAMESPACE', 'SERVICE');
  return new Map([
    ...AGENT_PARTS.filter(({ name }) => !['settings', 'webhook'].includes(name)).map(
      ({ name, objects }) => [`${BASE}/${name}.yaml`, documents(objects(UNSAID))] as const,
    ),
    // Kustomize itself replaces the pods when the settings change.
    [`${BASE}/deployment.yaml`, documents([agentDeployment(UNSAID)])],
    ...rightsFiles(),
    [`${COMPONENTS}/agent-public-ca/deployment.yaml`, documents([withoutOwnAuthority()])],
    [`${COMPONENTS}/agent-public-ca/kustomization.yaml`, component({ patches: [{ path: 'deployment.yaml' }] })],
    [`${webhook}/rights.yaml`, documents(roleObjects(WEBHOOK_ROLE, UNSAID))],
    [`${webhook}/service.yaml`, documents(webhookService(NAMESPACE))],
    [`${webhook}/configuration.yaml`, documents([installedWebhook(NAMESPACE)])],
    [`${webhook}/kustomization.yaml`, component({ resources, patches })],
    [`${CHART}/rights.yaml`, HEADER + printYaml(chartRights())],
    [`${CHART}/policy.yaml`, HEADER + printYaml({ spec: policySpec(policy) })],
    [`${CHART}/webhooks.yaml`, HEADER + printYaml({ webhooks })],
  ]);
}

/**
 * A component for what an agent may do in the whole cluster. An overlay moves everything into its own Namespace, so what it may do in
 * one Namespace is a base for an overlay of that Namespace.
 */
function rightsFiles(): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  const add = (folder: string, rights: readonly JsonObject[], frame: typeof component): void => {
    if (rights.length === 0) return;
    files.set(`${folder}/rights.yaml`, documents(rights));
    files.set(`${folder}/kustomization.yaml`, frame({ resources: ['rights.yaml'] }));
  };
  const everywhere = (role: string) => roleObjects(role, { ...UNSAID, writable: 'all' });
  const inOne = (role: string) => roleObjects(role, { ...UNSAID, writable: [ONE_NAMESPACE] });
  add(`${COMPONENTS}/agent-${ALL_NAMESPACES}`, ['namespaces', 'apply'].flatMap(everywhere), component);
  for (const role of AGENT_ACCESS) {
    const rights = everywhere(role).filter((each) => !isInNamespace(each));
    add(`${COMPONENTS}/agent-${role}`, rights, component);
  }
  for (const role of ['apply', ...AGENT_ACCESS]) {
    add(`deploy/kustomize/agent-${role}-namespace`, inOne(role).filter(isInNamespace), kustomization);
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

/** The rules of each role by the places in which they hold, as `RoleRights` names them. */
function chartRights(): JsonObject {
  const rights = Object.entries(ROLES).map(([role, places]) => [
    role,
    Object.fromEntries(
      Object.entries(places).map(([place, rules]: [string, readonly Permission[]]) => [place, rules.map(policyRule)]),
    ),
  ]);
  return Object.fromEntries(rights);
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
