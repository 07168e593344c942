import { objectOf } from '../../model/json.ts';
import { type Kube, refusalOf } from '../kube.ts';
import { APPLIED, DISCOVERY, OWN_NAMESPACE, type Permission, WEBHOOK_RIGHTS } from '../manifests/agent-rights.ts';
import type { InstalledAgent } from '../manifests/installed-agent.ts';
import type { Row } from './finding.ts';

const AT_ONCE = 8;

/** `resourceAttributes` of a SubjectAccessReview. */
interface Right {
  readonly group: string;
  readonly resource: string;
  readonly verb: string;
  readonly name?: string | undefined;
  readonly namespace?: string | undefined;
}

/** Asks the API server whether the agent's ServiceAccount has every right that an agent needs. */
export async function rightsRows(kube: Kube, { serviceAccount, webhook }: InstalledAgent): Promise<readonly Row[]> {
  const { namespace } = kube;
  const user = `system:serviceaccount:${namespace}:${serviceAccount}`;
  const asked = [
    ...DISCOVERY.flatMap((permission) => rightsOf(permission, kube, ['list', 'watch'])),
    ...APPLIED.flatMap((permission) => rightsOf(permission, kube, ['create', 'patch', 'delete'])),
    ...OWN_NAMESPACE.flatMap((permission) => rightsOf(permission, kube, permission.verbs, namespace)),
    ...(webhook === undefined ? [] : webhookRights(webhook, kube)),
  ];
  const missing: Right[] = [];
  for (let start = 0; start < asked.length; start += AT_ONCE) {
    const portion = asked.slice(start, start + AT_ONCE);
    const answers = await Promise.all(portion.map((right) => review(kube, user, right)));
    const refused = answers.find((answer) => answer.type !== 'ok');
    if (refused !== undefined) {
      const what = `what the agent may do cannot be asked: ${refusalOf(refused)}`;
      return [[true, 'unknown', 'RightsUnknown', what]];
    }
    const isAllowed = answers.map((answer) => answer.type === 'ok' && objectOf(answer.body.status).allowed === true);
    missing.push(...portion.filter((_, index) => isAllowed[index] !== true));
  }
  return [
    [missing.length === 0, 'ok', 'RightsComplete', 'the agent may do what an agent has to'],
    [missing.length > 0, 'error', 'RightsMissing', `the agent may not ${inWords(missing)}`],
  ];
}

/** The rights of a rule, without those for kinds that this API server does not have. */
function rightsOf(
  { apiGroups, resources, resourceNames = [] }: Permission,
  { catalog }: Kube,
  verbs: readonly string[],
  namespace?: string,
): readonly Right[] {
  const [name] = resourceNames;
  const isOffered = (group: string, resource: string): boolean =>
    catalog.preferred.some((kind) => kind.group === group && (resource === '*' || kind.resource === resource));
  return apiGroups.flatMap((group) =>
    resources
      .filter((resource) => isOffered(group, resource))
      .flatMap((resource) => verbs.map((verb) => ({ group, resource, verb, name, namespace }))),
  );
}

function webhookRights(
  { configuration, secret }: NonNullable<InstalledAgent['webhook']>,
  kube: Kube,
): readonly Right[] {
  const named = (permissions: readonly Permission[], name: string, namespace?: string): readonly Right[] =>
    permissions.flatMap((each) => rightsOf({ ...each, resourceNames: [name] }, kube, each.verbs, namespace));
  const { everywhere, ownNamespace } = WEBHOOK_RIGHTS;
  return [...named(everywhere, configuration), ...named(ownNamespace, secret, kube.namespace)];
}

function review({ client, namespace }: Kube, user: string, right: Right) {
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'];
  return client.request({
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { user, groups, resourceAttributes: { ...right } },
    },
  });
}

/** `list, watch pods; patch deployments.apps`. */
function inWords(rights: readonly Right[]): string {
  const byResource = Map.groupBy(rights, ({ group, resource }) => (group === '' ? resource : `${resource}.${group}`));
  return [...byResource].map(([what, some]) => `${some.map(({ verb }) => verb).join(', ')} ${what}`).join('; ');
}
