import { resourcePath } from '../../adapters/kubernetes/api/paths.ts';
import { agentWebhook } from '../../domains/installation.ts';
import { metadataOf } from '../../model/objects/object-key.ts';
import { objectOf, objectsOf, textOf } from '../../model/text/json.ts';
import { type Kube, OUR_PARTS, RESOURCES, refusalOf } from '../kube.ts';
import { APPLIED, DISCOVERY, OWN_NAMESPACE } from '../manifests/agent-rights.ts';
import type { InstalledAgent } from '../manifests/installed-agent.ts';
import type { Permission } from '../manifests/permission.ts';
import type { Row } from './finding.ts';

const AT_ONCE = 8;

/** `resourceAttributes` of a SubjectAccessReview. */
export interface Right {
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string | undefined;
  readonly verb: string;
  readonly name?: string | undefined;
  readonly namespace?: string | undefined;
}

/** The answer of an API server, or why it gives none. */
type Asked<Value> =
  | { readonly type: 'answered'; readonly value: Value }
  | { readonly type: 'refused'; readonly message: string };

/** Asks the API server whether the agent's ServiceAccount has every right that an agent needs. */
export async function rightsRows(kube: Kube, agent: InstalledAgent): Promise<readonly Row[]> {
  const { namespace } = kube;
  const places = await writablePlaces(kube, agent);
  if (places.type === 'refused') return unknownRights(places.message);
  const asked = [
    ...DISCOVERY.flatMap((permission) => rightsOf(permission, kube, ['list', 'watch'])),
    ...places.value.flatMap((place) =>
      APPLIED.flatMap((permission) => rightsOf(permission, kube, neededOf(permission), place)),
    ),
    ...OWN_NAMESPACE.flatMap((permission) => rightsOf(permission, kube, permission.verbs, namespace)),
    ...(agent.webhook === undefined ? [] : webhookRights(agent.webhook, kube)),
  ];
  const allowed = await allowedOf(kube, agent, asked);
  if (allowed.type === 'refused') return unknownRights(allowed.message);
  const missing = asked.filter((right) => !allowed.value.includes(right));
  const where = places.value.includes(undefined) ? 'in all Namespaces' : `in ${places.value.join(', ')}`;
  const isNowhere = places.value.length === 0;
  return [
    [
      missing.length === 0 && !isNowhere,
      'ok',
      'RightsComplete',
      `the agent may do what an agent has to; it may write ${where}`,
    ],
    [missing.length > 0, 'error', 'RightsMissing', `the agent may not ${inWords(missing)}`],
    [isNowhere, 'error', 'NothingWritable', 'the agent may write in no Namespace'],
  ];
}

function unknownRights(message: string): readonly Row[] {
  return [[true, 'unknown', 'RightsUnknown', `what the agent may do cannot be asked: ${message}`]];
}

/** The Namespaces in which the agent was given the right to write; undefined is all of them. */
async function writablePlaces(kube: Kube, agent: InstalledAgent): Promise<Asked<readonly (string | undefined)[]>> {
  const everywhere = { group: 'apps', resource: 'deployments', verb: 'create' };
  const allowed = await allowedOf(kube, agent, [everywhere]);
  if (allowed.type === 'refused' || allowed.value.length > 0) {
    return allowed.type === 'refused' ? allowed : { type: 'answered', value: [undefined] };
  }
  const path = resourcePath({ resource: RESOURCES.roleBindings });
  const answer = await kube.client.request({ method: 'GET', path, query: OUR_PARTS });
  if (answer.type !== 'ok') return { type: 'refused', message: refusalOf(answer) ?? '' };
  const bindings = objectsOf(answer.body.items).filter(
    ({ roleRef, subjects }) =>
      // As every way of installing an agent calls it.
      textOf(objectOf(roleRef).name).endsWith('-apply') &&
      objectsOf(subjects).some((each) => each.namespace === kube.namespace && each.name === agent.serviceAccount),
  );
  return { type: 'answered', value: bindings.map((each) => textOf(metadataOf(each).namespace)) };
}

/** Those of the rights that the agent's ServiceAccount has, by RBAC; no policy is asked. */
export async function allowedOf(
  kube: Kube,
  { serviceAccount }: InstalledAgent,
  asked: readonly Right[],
): Promise<Asked<readonly Right[]>> {
  const user = `system:serviceaccount:${kube.namespace}:${serviceAccount}`;
  const allowed: Right[] = [];
  for (let start = 0; start < asked.length; start += AT_ONCE) {
    const portion = asked.slice(start, start + AT_ONCE);
    const answers = await Promise.all(portion.map((right) => review(kube, user, right)));
    const refused = answers.find((answer) => answer.type !== 'ok');
    if (refused !== undefined) return { type: 'refused', message: refusalOf(refused) ?? '' };
    const isAllowed = answers.map((answer) => answer.type === 'ok' && objectOf(answer.body.status).allowed === true);
    allowed.push(...portion.filter((_, index) => isAllowed[index] === true));
  }
  return { type: 'answered', value: allowed };
}

/** The verbs that show that a role is there: those that write, or all of a rule that only reads. */
function neededOf({ verbs }: Permission): readonly string[] {
  const writing = verbs.filter((verb) => !['get', 'list', 'watch'].includes(verb));
  return writing.length > 0 ? writing : verbs;
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
  const { everywhere = [], ownNamespace = [] } = agentWebhook?.rights ?? {};
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
