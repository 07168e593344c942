import { HEAD_NAME } from '../../adapters/kubernetes/inventory/pieces.ts';
import { agentAdditions, agentWebhook } from '../../domains/installation.ts';
import { type JsonObject, objectOf, objectsOf, textOf } from '../../model/text/json.ts';
import { merged } from '../../model/values/merged.ts';
import { AGENT_CREDENTIALS, AGENT_LEASE } from '../agent/names.ts';
import { agentObject } from './agent-object.ts';
import { AGENT_NAME, KUBE_SYSTEM } from './agent-rights.ts';

/** The kind of {@link agentPolicy}; an API server older than 1.30 does not have it. */
export const POLICY_KIND = 'ValidatingAdmissionPolicy';

/** The Namespace of the management server in the manifests of `deploy/`. */
export const SERVER_NAMESPACE = 'fleetrelay-server';

const POLICIES = agentAdditions.flatMap(({ name, policy }) => (policy === undefined ? [] : [{ name, ...policy }]));
/** What an agent may write in protected Namespaces all the same: variables and their expressions. */
const PERMITTED: Readonly<Record<string, string>> = merged(
  'permission',
  POLICIES.map(({ name, permitted }) => [name, permitted]),
);
/** The ConfigMaps of domains in the agent's namespace. */
const RECORDS = agentAdditions.flatMap(({ records = {} }) => Object.keys(records));

/** Whom the policy judges, and what it protects. */
export interface AgentPolicyOptions {
  /** Of policy and binding. */
  readonly name?: string;
  /** Name of the agent's ServiceAccount; its namespace is protected as well. */
  readonly serviceAccount?: string;
  /** The protected Namespaces besides the agent's own. */
  readonly namespaces?: readonly string[] | undefined;
  /** Name of its MutatingWebhookConfiguration. */
  readonly webhook?: string;
  /** Name of the Secret of its webhook. */
  readonly webhookSecret?: string;
}

/**
 * A ValidatingAdmissionPolicy and its binding (API server 1.30 or later). RBAC can only allow; this refuses what the agent's roles
 * allow too much, such as a Pod in `kube-system` for an agent that may write in all Namespaces. It judges no other user. No right of
 * an agent reaches the policy itself; only `cluster-admin` does.
 */
export function agentPolicy(options: AgentPolicyOptions = {}): readonly JsonObject[] {
  const { name = AGENT_NAME } = options;
  const binding = { policyName: name, validationActions: ['Deny'] };
  const object = (kind: string, spec: JsonObject): JsonObject =>
    agentObject('admissionregistration.k8s.io/v1', kind, name, undefined, { spec });
  return [object(POLICY_KIND, policySpec(options)), object(`${POLICY_KIND}Binding`, binding)];
}

/** Whether a manifest is the policy or its binding. */
export function isPolicy({ kind }: JsonObject): boolean {
  return String(kind).startsWith(POLICY_KIND);
}

/** The Namespaces that a live policy protects besides the agent's own; empty if it has another form. */
export function protectedNamespaces({ spec }: JsonObject): readonly string[] {
  const { expression } = objectsOf(objectOf(spec).variables).find(({ name }) => name === 'isProtected') ?? {};
  const [, names = ''] = /^variables\.place in \[([^\]]*)\]/.exec(textOf(expression)) ?? [];
  return [...names.matchAll(/'([a-z0-9-]+)'/g)].flatMap(([, name]) => name ?? []);
}

/** The `spec` of the policy. */
export function policySpec({
  serviceAccount = AGENT_NAME,
  namespaces = [SERVER_NAMESPACE],
  webhook = agentWebhook?.configuration ?? '',
  webhookSecret = agentWebhook?.secret,
}: AgentPolicyOptions): JsonObject {
  const ours = `request.userInfo.username.matches('^system:serviceaccount:[^:]+:${serviceAccount}$')`;
  return {
    // An error in an expression refuses the request, of this user only.
    failurePolicy: 'Fail',
    matchConstraints: {
      matchPolicy: 'Equivalent',
      resourceRules: [
        // Every subresource, too: exec, ephemeral containers, tokens.
        { apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*/*'] },
      ],
    },
    matchConditions: [{ name: 'our-service-account', expression: ours }],
    variables: Object.entries(variables([...new Set([KUBE_SYSTEM, ...namespaces])], webhookSecret)).map(
      ([variable, expression]) => ({
        name: variable,
        expression,
      }),
    ),
    validations: [
      {
        expression: [
          '!variables.isProtected',
          ...['isOwn', ...Object.keys(PERMITTED)].map((name) => `variables.${name}`),
        ].join(' || '),
        messageExpression:
          "'the agent may not write ' + variables.kind + ' here: the Namespace ' + variables.place + ' is protected'",
        reason: 'Forbidden',
      },
      {
        expression: `${isNot('rbac.authorization.k8s.io', ['clusterroles', 'clusterrolebindings'])} || !variables.reachesSystem`,
        messageExpression:
          "'the agent may write in all Namespaces, so it may not write ' + variables.kind + ': they could pass on rights in protected Namespaces'",
        reason: 'Forbidden',
      },
      ...POLICIES.flatMap(({ validations }) => validations?.(webhook) ?? []),
    ],
  };
}

function variables(namespaces: readonly string[], webhookSecret: string | undefined): Readonly<Record<string, string>> {
  const is = (group: string, resource: string): string =>
    `request.resource.group == '${group}' && request.resource.resource == '${resource}'`;
  const isNamed = (...names: readonly string[]): string => `variables.name in ${list(names)}`;
  const own = {
    kind: "request.resource.resource + (has(request.subResource) ? '/' + request.subResource : '')",
    name: "has(request.name) ? request.name : ''",
    agentNamespace: "request.userInfo.username.split(':')[2]",
    // The Namespace of the object; of a Namespace itself, its name.
    place: `${is('', 'namespaces')} ? variables.name : (has(request.namespace) ? request.namespace : '')`,
    isProtected: `variables.place in ${list(namespaces)} || variables.place == variables.agentNamespace`,
    // What an agent keeps for itself.
    isOwn: `variables.place == variables.agentNamespace && !has(request.subResource) && (${[
      `${is('coordination.k8s.io', 'leases')} && ${isNamed(AGENT_LEASE)}`,
      `${is('', 'secrets')} && ${isNamed(AGENT_CREDENTIALS, ...(webhookSecret === undefined ? [] : [webhookSecret]))}`,
      `${is('', 'configmaps')} && (${[...RECORDS.map((name) => isNamed(name)), `variables.name.startsWith('${HEAD_NAME}')`].join(' || ')})`,
      is('events.k8s.io', 'events'),
    ].join(' || ')})`,
  };
  const later = {
    reachesSystem: `authorizer.group('apps').resource('deployments').namespace('${KUBE_SYSTEM}').check('create').allowed()`,
  };
  return merged('variable of the policy', [
    ...[own, PERMITTED, later].map((each) => ['fleetrelay', each] as const),
    ...POLICIES.map(({ name, variables }) => [name, variables] as const),
  ]);
}

function isNot(group: string, resources: readonly string[]): string {
  return `request.resource.group != '${group}' || !(request.resource.resource in ${list(resources)})`;
}

function list(values: readonly string[]): string {
  return `[${values.map((value) => `'${value}'`).join(', ')}]`;
}
