import {
  APPLIED,
  DISCOVERY,
  FURTHER,
  namespaceRights,
  OWN_NAMESPACE,
} from '../../src/compose/manifests/agent-rights.ts';
import type { Permission } from '../../src/compose/manifests/permission.ts';
import { agentWebhook } from '../../src/domains/installation.ts';
import { between } from './marks.ts';
import { SERVER_CUSTOM_RESOURCES, SERVER_LEASE } from './server-permissions.ts';

const PARTS: readonly (readonly [string, readonly Permission[]])[] = [
  ['Agent, everywhere: ClusterRole `fleetrelay-agent-discovery`', DISCOVERY],
  ['Agent, where it may write: Role `fleetrelay-agent-apply` in each Namespace, or ClusterRole', APPLIED],
  ['Agent, these Namespaces themselves: ClusterRole `fleetrelay-agent-namespaces`', namespaceRights('all')],
  ['Agent, its own namespace: Role `fleetrelay-agent`', OWN_NAMESPACE],
  ...Object.entries(FURTHER).flatMap(
    ([choice, { everywhere = [], whereWritable = [], inNamespaces = [], inKubeSystem = [] }]) =>
      (
        [
          ['a Role where it may write, or a ClusterRole', whereWritable],
          ['a ClusterRole', everywhere],
          ['a Role in `kube-system` or in each of `--care-namespaces`', inNamespaces],
          ['a Role in `kube-system`', inKubeSystem],
        ] as const
      )
        .filter(([, permissions]) => permissions.length > 0)
        .map(([how, permissions]) => [`Agent, only by choice: \`${choice}\`, ${how}`, permissions] as const),
  ),
  ['Agent, only with the webhook: ClusterRole `fleetrelay-agent-webhook`', agentWebhook?.rights.everywhere ?? []],
  [
    'Agent, only with the webhook, its own namespace: Role `fleetrelay-agent-webhook`',
    agentWebhook?.rights.ownNamespace ?? [],
  ],
  [
    'Management server, only with desired state from custom resources: ClusterRole `fleetrelay-server-custom-resources`',
    SERVER_CUSTOM_RESOURCES,
  ],
  ['Management server, only with a Lease for its replicas: Role `fleetrelay-server`', SERVER_LEASE],
];

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
