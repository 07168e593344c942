import { resourcePath } from '../../adapters/kubernetes/api/paths.ts';
import { metadataOf } from '../../model/objects/object-key.ts';
import { type JsonObject, objectsOf } from '../../model/text/json.ts';
import { type KubeReader, OUR_PARTS, RESOURCES, refusalOf } from '../kube.ts';
import { agentObject } from './agent-object.ts';
import {
  AGENT_NAME,
  BASE_ROLES,
  CLUSTER_ADMIN,
  KUBE_SYSTEM,
  ROLES,
  WEBHOOK_ROLE,
  WIDEN_LABEL,
  type WritableNamespaces,
} from './agent-rights.ts';
import { type Permission, policyRule } from './permission.ts';

/** What the rights of an agent depend on. */
export interface AgentRightsOptions {
  /** The agent's own namespace. */
  readonly namespace: string;
  /** Where the agent may write. Named Namespaces have to exist. */
  readonly writable: WritableNamespaces;
  /** More than the agent may do by itself: members of `AGENT_ACCESS`. */
  readonly access?: readonly string[] | undefined;
  /** The Namespaces of `RoleRights.inNamespaces`, by the access; absent: `kube-system`. */
  readonly accessNamespaces?: Readonly<Record<string, readonly string[]>> | undefined;
  /** It serves the admission webhook. */
  readonly webhook?: boolean | undefined;
}

const RBAC = 'rbac.authorization.k8s.io';
const VERSION = `${RBAC}/v1`;
/** The ClusterRole that aggregates others. */
const MORE = 'more';

/** ServiceAccount, roles and bindings of an agent. */
export function agentRights(options: AgentRightsOptions): readonly JsonObject[] {
  const { namespace, access = [], webhook = false } = options;
  const roles = [...Object.keys(BASE_ROLES), ...access, ...(webhook ? [WEBHOOK_ROLE] : [])];
  return [
    agentObject('v1', 'ServiceAccount', AGENT_NAME, namespace, { automountServiceAccountToken: false }),
    // No member `rules`, not even an empty one: the aggregating controller owns it.
    agentObject(VERSION, 'ClusterRole', roleName(MORE), undefined, {
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [WIDEN_LABEL]: 'true' } }] },
    }),
    binding('ClusterRole', roleName(MORE), namespace),
    ...roles.flatMap((role) => roleObjects(role, options)),
  ];
}

/** The objects of one role: ClusterRole and Roles, each with its binding. Throws if there is no such role. */
export function roleObjects(
  role: string,
  { namespace, writable, accessNamespaces = {} }: AgentRightsOptions,
): readonly JsonObject[] {
  const name = roleName(role);
  if (role === CLUSTER_ADMIN) return [binding('ClusterRole', name, namespace, undefined, CLUSTER_ADMIN)];
  const rights = ROLES[role];
  if (rights === undefined) throw new Error(`an agent has no role ${role}`);
  const { everywhere = [], writableNamespaces = [], whereWritable = [] } = rights;
  const isOneRole = writable === 'all';
  const names = isOneRole ? {} : { resourceNames: writable };
  // No names would mean all of them.
  const named = writable.length === 0 ? [] : writableNamespaces.map((rule) => ({ ...rule, ...names }));
  const places = new Map<string, readonly Permission[]>();
  for (const [where, rules = []] of [
    [isOneRole ? [] : writable, whereWritable],
    [accessNamespaces[role] ?? [KUBE_SYSTEM], rights.inNamespaces],
    [[KUBE_SYSTEM], rights.inKubeSystem],
    [[namespace], rights.ownNamespace],
  ] as const) {
    for (const place of new Set(where)) places.set(place, [...(places.get(place) ?? []), ...rules]);
  }
  return [
    ...granted('ClusterRole', [...everywhere, ...named, ...(isOneRole ? whereWritable : [])]),
    ...[...places].flatMap(([place, rules]) => granted('Role', rules, place)),
  ];

  function granted(kind: 'ClusterRole' | 'Role', rules: readonly Permission[], place?: string): readonly JsonObject[] {
    if (rules.length === 0) return [];
    const role = agentObject(VERSION, kind, name, place, { rules: rules.map(policyRule) });
    return [role, binding(kind, name, namespace, place)];
  }
}

function roleName(role: string): string {
  return `${AGENT_NAME}-${role}`;
}

/** A binding to the agent of `namespace`; `place`: the Namespace of the binding. */
function binding(kind: string, name: string, namespace: string, place?: string, role = name): JsonObject {
  return agentObject(VERSION, `${kind}Binding`, name, place, {
    roleRef: { apiGroup: RBAC, kind, name: role },
    subjects: [{ kind: 'ServiceAccount', name: AGENT_NAME, namespace }],
  });
}

const NAMES: readonly string[] = [MORE, ...Object.keys(ROLES), CLUSTER_ADMIN].map(roleName);
const KINDS = [
  ['ClusterRole', RESOURCES.clusterRoles],
  ['Role', RESOURCES.roles],
  ['ClusterRoleBinding', RESOURCES.clusterRoleBindings],
  ['RoleBinding', RESOURCES.roleBindings],
] as const;

/**
 * The roles of the agent in this namespace, by the names that an installation gives them, and their bindings. What is
 * bound to the agent of another namespace is not among them. Rejects if they cannot be listed.
 */
export async function installedRoles({ client, namespace }: KubeReader): Promise<readonly JsonObject[]> {
  const lists = KINDS.map(async ([kind, resource]) => {
    const answer = await client.request({ method: 'GET', path: resourcePath({ resource }), query: OUR_PARTS });
    if (answer.type !== 'ok') throw new Error(`${client.server}: the ${kind}s cannot be listed: ${refusalOf(answer)}`);
    return objectsOf(answer.body.items)
      .filter((item) => NAMES.includes(String(metadataOf(item).name)))
      .map((item) => ({ ...item, apiVersion: VERSION, kind }));
  });
  const found = (await Promise.all(lists)).flat();
  const place = (each: JsonObject): string => `${metadataOf(each).namespace ?? ''}/${metadataOf(each).name}`;
  const foreign = new Set(
    found
      .filter(({ kind }) => kind.endsWith('Binding'))
      .filter(({ subjects }: JsonObject) => objectsOf(subjects).every((subject) => subject.namespace !== namespace))
      .map(place),
  );
  return found.filter((each) => !foreign.has(place(each)));
}
