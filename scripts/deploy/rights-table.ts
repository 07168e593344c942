import { AGENT_ACCESS, AGENT_NAME, ROLES, WEBHOOK_ROLE } from '../../src/compose/manifests/agent-rights.ts';
import type { Permission, RoleRights } from '../../src/compose/manifests/permission.ts';
import { between } from './marks.ts';
import { SERVER_CUSTOM_RESOURCES, SERVER_LEASE } from './server-permissions.ts';

/** How the rights of a role are given, by the place in which they hold. */
const PLACES: Readonly<Record<keyof RoleRights, string>> = {
  everywhere: 'everywhere: a ClusterRole',
  writableNamespaces: 'for the Namespaces themselves in which it may write: a ClusterRole',
  whereWritable: 'where it may write: a Role in each Namespace, or a ClusterRole',
  inNamespaces: 'in `kube-system` or in each of `--care-namespaces`: a Role',
  inKubeSystem: 'in `kube-system`: a Role',
  ownNamespace: 'in its own namespace: a Role',
};

const PARTS: readonly (readonly [string, readonly Permission[]])[] = [
  ...Object.entries(ROLES).flatMap(([role, rights]) =>
    Object.entries(PLACES).flatMap(([place, how]) => {
      const permissions = rights[place as keyof RoleRights];
      return permissions === undefined
        ? []
        : [[`Agent, \`${AGENT_NAME}-${role}\`${onlyBy(role)}, ${how}`, permissions] as const];
    }),
  ),
  [
    'Management server, only with desired state from custom resources: ClusterRole `fleetrelay-server-custom-resources`',
    SERVER_CUSTOM_RESOURCES,
  ],
  ['Management server, only with a Lease for its replicas: Role `fleetrelay-server`', SERVER_LEASE],
];

function onlyBy(role: string): string {
  if (role === WEBHOOK_ROLE) return ' (only with the webhook)';
  return AGENT_ACCESS.includes(role) ? ' (only by choice)' : '';
}

/** The text with the table of rights between its two marks made anew. Throws if the marks are not there. */
export function withRightsTable(text: string): string {
  return between(text, 'rights', `${PARTS.map(part).join('\n')}\n`);
}

function part([title, permissions]: (typeof PARTS)[number]): string {
  return [`**${title}**`, '', '| what | may | why |', '|---|---|---|', ...permissions.map(row), ''].join('\n');
}

function row({ apiGroups, resources, resourceNames, verbs, why }: Permission): string {
  const groups = apiGroups.map((group) => (group === '' ? 'core' : group)).join(', ');
  const named = resourceNames === undefined ? '' : ` named ${code(resourceNames)}`;
  return `| ${groups}: ${code(resources)}${named} | ${verbs.join(', ')} | ${why} |`;
}

function code(words: readonly string[]): string {
  return words.map((word) => `\`${word}\``).join(', ');
}
