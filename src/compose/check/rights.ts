import { resourcePath } from '../../adapters/kubernetes/api/paths.ts';
import { metadataOf } from '../../model/objects/object-key.ts';
import { objectOf, objectsOf, textOf } from '../../model/text/json.ts';
import { type Kube, OUR_PARTS, RESOURCES, refusalOf } from '../kube.ts';
import { ROLES, WEBHOOK_ROLE } from '../manifests/agent-rights.ts';
import type { InstalledAgent } from '../manifests/installed-agent.ts';
import type { Permission } from '../manifests/permission.ts';
import type { AgentSubject } from './agent.ts';
import { type Found, foundAt, type Row } from './finding.ts';

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

/** The right that only an agent has that may write in all Namespaces. */
export const EVERYWHERE: Right = { group: 'apps', resource: 'deployments', verb: 'create' };

/** Namespaces; undefined is all of them. */
type Places = readonly (string | undefined)[];

/** Asks the API server whether the agent's ServiceAccount has every right that an agent needs. */
export async function rights({ kube, agent, fixes }: AgentSubject): Promise<readonly Found[]> {
  const where = `system:serviceaccount:${kube.namespace}:${agent.serviceAccount}`;
  const places = await writablePlaces(kube, agent);
  const asked = neededRights(kube, agent, places);
  const allowed = await allowedOf(kube, agent, asked);
  const missing = asked.filter((right) => !allowed.includes(right));
  const writes = places.includes(undefined) ? 'in all Namespaces' : `in ${places.join(', ')}`;
  const isNowhere = places.length === 0;
  const isComplete = missing.length === 0 && !isNowhere;
  const rows: readonly Row[] = [
    [isComplete, 'ok', 'RightsComplete', `the agent may do what an agent has to; it may write ${writes}`],
    [missing.length > 0, 'error', 'RightsMissing', `the agent may not ${inWords(missing)}`],
    [isNowhere, 'error', 'NothingWritable', 'the agent may write in no Namespace'],
  ];
  return foundAt(where, rows, fixes);
}

/** The rights of the roles that every agent has, and of the webhook if it serves one. `places`: where it writes; undefined is everywhere. */
function neededRights(kube: Kube, { webhook }: InstalledAgent, places: Places): readonly Right[] {
  const { discovery = {}, apply = {}, own = {}, [WEBHOOK_ROLE]: ofWebhook = {} } = ROLES;
  const each = (rules: readonly Permission[] = [], place?: string, name?: string): readonly Right[] =>
    rules.flatMap((rule) => rightsOf(name === undefined ? rule : { ...rule, resourceNames: [name] }, kube, place));
  return [
    ...each(discovery.everywhere).filter(({ verb }) => verb !== 'get'),
    ...places.flatMap((place) => each(apply.whereWritable?.map(whatShows), place)),
    ...each(own.ownNamespace, kube.namespace),
    ...(webhook === undefined ? [] : each(ofWebhook.everywhere, undefined, webhook.configuration)),
    ...(webhook === undefined ? [] : each(ofWebhook.ownNamespace, kube.namespace, webhook.secret)),
  ];
}

/** The Namespaces in which the agent was given the right to write. */
async function writablePlaces(kube: Kube, agent: InstalledAgent): Promise<Places> {
  if ((await allowedOf(kube, agent, [EVERYWHERE])).length > 0) return [undefined];
  const path = resourcePath({ resource: RESOURCES.roleBindings });
  const answer = await kube.client.request({ method: 'GET', path, query: OUR_PARTS });
  if (answer.type !== 'ok') throw new Error(`the RoleBindings of the agent cannot be listed: ${refusalOf(answer)}`);
  const bindings = objectsOf(answer.body.items).filter(
    ({ roleRef, subjects }) =>
      // As every way of installing an agent calls it.
      textOf(objectOf(roleRef).name).endsWith('-apply') &&
      objectsOf(subjects).some((each) => each.namespace === kube.namespace && each.name === agent.serviceAccount),
  );
  return bindings.map((each) => textOf(metadataOf(each).namespace));
}

/** The asked rights that the agent's ServiceAccount has by RBAC; no policy is asked. Rejects if the API server does not answer. */
export async function allowedOf(
  kube: Kube,
  { serviceAccount }: InstalledAgent,
  asked: readonly Right[],
): Promise<readonly Right[]> {
  const user = `system:serviceaccount:${kube.namespace}:${serviceAccount}`;
  const allowed: Right[] = [];
  for (let start = 0; start < asked.length; start += AT_ONCE) {
    const portion = asked.slice(start, start + AT_ONCE);
    const answers = await Promise.all(portion.map((right) => isAllowed(kube, user, right)));
    allowed.push(...portion.filter((_, index) => answers[index]));
  }
  return allowed;
}

/** The rule with the verbs that show that its role is there: those that write, or all of a rule that only reads. */
function whatShows(rule: Permission): Permission {
  const writing = rule.verbs.filter((verb) => !['get', 'list', 'watch'].includes(verb));
  return writing.length > 0 ? { ...rule, verbs: writing } : rule;
}

/** The rights of a rule, without those for kinds that this API server does not have. */
function rightsOf(
  { apiGroups, resources, verbs, resourceNames = [] }: Permission,
  { catalog }: Kube,
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

async function isAllowed({ client, namespace }: Kube, user: string, right: Right): Promise<boolean> {
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'];
  const answer = await client.request({
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { user, groups, resourceAttributes: { ...right } },
    },
  });
  if (answer.type !== 'ok') throw new Error(`what the agent may do cannot be asked: ${refusalOf(answer)}`);
  return objectOf(answer.body.status).allowed === true;
}

/** `list, watch pods; patch deployments.apps`. */
function inWords(rights: readonly Right[]): string {
  const byResource = Map.groupBy(rights, ({ group, resource }) => (group === '' ? resource : `${resource}.${group}`));
  return [...byResource].map(([what, some]) => `${some.map(({ verb }) => verb).join(', ')} ${what}`).join('; ');
}
