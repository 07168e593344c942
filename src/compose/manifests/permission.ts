import type { JsonObject } from '../../model/text/json.ts';
import { given } from '../../model/values/given.ts';

/** A rule of a Role or ClusterRole, and why the agent needs it. */
export interface Permission {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
  /** A sentence for the table in `docs/reference/rights.md`. */
  readonly why: string;
}

/** Short words for verbs. Server-side apply is a patch; where nothing is there yet it needs `create` as well. */
const VERBS: Readonly<Record<string, string>> = {
  read: 'get list watch',
  apply: 'get list watch create patch delete',
};

/**
 * Rules by a table of text. A line has, between ` | `: verbs, or `read` or `apply`; API groups (`core` is the core group); resources,
 * one with `=NAME` limits the rule to that name; and why the agent needs them.
 */
export function rulesOf(table: string): readonly Permission[] {
  return table
    .trim()
    .split('\n')
    .map((line) => {
      const [verbs = '', groups = '', named = '', why = ''] = line.trim().split(' | ');
      const [resources = '', name] = named.split('=');
      return {
        apiGroups: groups.split(' ').map((group) => (group === 'core' ? '' : group)),
        resources: resources.split(' '),
        ...(name === undefined ? {} : { resourceNames: [name] }),
        verbs: (VERBS[verbs] ?? verbs).split(' '),
        why,
      };
    });
}

/** The rights of a role, by the places in which they hold. */
export interface RoleRights {
  /** By a ClusterRole: what has no Namespace, and what is only read. */
  readonly everywhere?: readonly Permission[];
  /** By a ClusterRole, for the Namespaces themselves in which the agent may write. */
  readonly writableNamespaces?: readonly Permission[];
  /** By a Role in each Namespace in which the agent may write; by a ClusterRole if these are all. */
  readonly whereWritable?: readonly Permission[];
  /** By a Role in `kube-system`, or in the Namespaces that the person who installs the agent names. */
  readonly inNamespaces?: readonly Permission[];
  /** By a Role in `kube-system`. */
  readonly inKubeSystem?: readonly Permission[];
  /** By a Role in the agent's own namespace. */
  readonly ownNamespace?: readonly Permission[];
}

/** A rule as the API server takes it. */
export function policyRule({ apiGroups, resources, resourceNames, verbs }: Permission): JsonObject {
  return { apiGroups, resources, ...given({ resourceNames }), verbs };
}
