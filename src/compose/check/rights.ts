import type { ApiCatalog } from '../../adapters/kubernetes/api/types.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import { type Kube, refusalOf } from '../kube.ts';
import { APPLIED, DISCOVERY, OWN_NAMESPACE, type Permission } from '../manifests/agent-rights.ts';
import type { InstalledAgent } from '../manifests/installed-agent.ts';
import type { Finding } from './finding.ts';

const AT_ONCE = 8;

/** One question to the API server. */
interface Right {
  readonly group: string;
  readonly resource: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly verb: string;
}

/** May the agent's ServiceAccount do what an agent has to? The API server itself is asked. */
export async function rightsFindings(kube: Kube, { serviceAccount }: InstalledAgent): Promise<readonly Finding[]> {
  const { namespace } = kube;
  const user = `system:serviceaccount:${namespace}:${serviceAccount}`;
  const at = { area: 'kubernetes', where: user } as const;
  const asked = [
    ...DISCOVERY.flatMap((permission) => rightsOf(permission, kube.catalog, ['list', 'watch'])),
    ...APPLIED.flatMap((permission) => rightsOf(permission, kube.catalog, ['create', 'patch', 'delete'])),
    ...OWN_NAMESPACE.flatMap((permission) => rightsOf(permission, kube.catalog, permission.verbs, namespace)),
  ];
  const missing: Right[] = [];
  for (let start = 0; start < asked.length; start += AT_ONCE) {
    const answers = await Promise.all(asked.slice(start, start + AT_ONCE).map((right) => mayDo(kube, user, right)));
    for (const [index, answer] of answers.entries()) {
      if (typeof answer === 'string') {
        const what = `what the agent may do cannot be asked: ${answer}`;
        return [{ ...at, severity: 'unknown', reason: 'RightsUnknown', what }];
      }
      const right = asked[start + index];
      if (!answer && right !== undefined) missing.push(right);
    }
  }
  if (missing.length === 0) {
    return [{ ...at, severity: 'ok', reason: 'RightsComplete', what: 'the agent may do what an agent has to' }];
  }
  return [
    {
      ...at,
      severity: 'error',
      reason: 'RightsMissing',
      what: `the agent may not ${inWords(missing)}`,
      fix: 'apply its roles again: fleetrelay cluster register NAME --install --server HOST:PORT (the manifests are the same)',
    },
  ];
}

/** What a rule lets one do, as questions; kinds that this API server does not have are left out. */
function rightsOf(
  { apiGroups, resources, resourceNames }: Permission,
  catalog: ApiCatalog,
  verbs: readonly string[],
  namespace?: string,
): readonly Right[] {
  const offered = (group: string, resource: string): boolean =>
    catalog.preferred.some((kind) => kind.group === group && (resource === '*' || kind.resource === resource));
  return apiGroups.flatMap((group) =>
    resources
      .filter((resource) => offered(group, resource))
      .flatMap((resource) =>
        verbs.map((verb) => ({
          group,
          resource,
          verb,
          ...(resourceNames?.[0] === undefined ? {} : { name: resourceNames[0] }),
          ...(namespace === undefined ? {} : { namespace }),
        })),
      ),
  );
}

/** Yes or no, or why the question was not answered. */
async function mayDo(kube: Kube, user: string, right: Right): Promise<boolean | string> {
  const { group, resource, verb, name, namespace } = right;
  const resourceAttributes: JsonObject = {
    group,
    resource,
    verb,
    ...(name === undefined ? {} : { name }),
    ...(namespace === undefined ? {} : { namespace }),
  };
  const answer = await kube.client.request({
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: {
        user,
        groups: ['system:serviceaccounts', `system:serviceaccounts:${kube.namespace}`, 'system:authenticated'],
        resourceAttributes,
      },
    },
  });
  if (answer.type !== 'ok') return refusalOf(answer) ?? '';
  const { status } = answer.body;
  return isJsonObject(status) && status.allowed === true;
}

/** `list, watch pods; patch deployments.apps`. */
function inWords(rights: readonly Right[]): string {
  const verbs = new Map<string, string[]>();
  for (const { group, resource, verb } of rights) {
    const what = group === '' ? resource : `${resource}.${group}`;
    verbs.set(what, [...(verbs.get(what) ?? []), verb]);
  }
  return [...verbs].map(([what, may]) => `${may.join(', ')} ${what}`).join('; ');
}
