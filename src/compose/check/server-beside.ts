import { resourcePath } from '../../adapters/kubernetes/api/paths.ts';
import { type JsonObject, objectOf, objectsOf } from '../../model/text/json.ts';
import { type Kube, OUR_PARTS, RESOURCES } from '../kube.ts';
import type { InstalledAgent } from '../manifests/installed-agent.ts';
import { serverNamespaceIn, serverPlaces } from '../manifests/server-place.ts';
import type { AgentSubject } from './agent.ts';
import { type Found, foundAt } from './finding.ts';
import { allowedOf, EVERYWHERE, type Right } from './rights.ts';

/** With one of these in the server's Namespace, a Pod there mounts the server's volume, or its files are read where they are mounted. */
const WAYS: readonly Right[] = [
  ...['deployments', 'daemonsets', 'statefulsets'].map((resource) => ({ group: 'apps', resource, verb: 'create' })),
  ...['jobs', 'cronjobs'].map((resource) => ({ group: 'batch', resource, verb: 'create' })),
  { group: '', resource: 'pods', verb: 'create' },
  ...['create', 'get'].map((verb) => ({ group: '', resource: 'pods', subresource: 'exec', verb })),
  { group: '', resource: 'pods', subresource: 'ephemeralcontainers', verb: 'patch' },
];

/**
 * Warns if a management server is in the cluster of this agent, and the agent could read its volume: who has the relay secret and the
 * CA key in it has the whole fleet. That the server is here is taken from its StatefulSet and from the address that the agent has:
 * the server does not know in which cluster it is. What the agent may do is asked of RBAC (SubjectAccessReview), since a policy
 * that refuses it leaves a way through the Node: a Pod in any other Namespace may mount the Node's files.
 */
export async function serverBeside(subject: AgentSubject): Promise<readonly Found[]> {
  const { kube, server = '' } = subject;
  const places = await serverPlaces(kube);
  const named = serverNamespaceIn(server);
  if (places.type === 'refused' && named === undefined) {
    throw new Error(`whether a management server is in this cluster cannot be asked: ${places.message}`);
  }
  const found = new Set([
    ...(places.type === 'found' ? places.namespaces : []),
    ...(named === undefined ? [] : [named]),
  ]);
  return (await Promise.all([...found].map((place) => exposure(subject, place)))).flat();
}

async function exposure({ kube, agent }: AgentSubject, namespace: string): Promise<readonly Found[]> {
  const allowed = await allowedOf(kube, agent, [...WAYS.map((way) => ({ ...way, namespace })), EVERYWHERE]);
  const isEverywhere = allowed.includes(EVERYWHERE);
  const inside = allowed.filter((right) => right !== EVERYWHERE);
  const words = inside.map(
    ({ verb, resource, subresource }) => `${verb} ${[resource, subresource ?? []].flat().join('/')}`,
  );
  const policed = inside.length > 0 && (await hasPolicy(kube, agent));
  const may = isEverywhere ? 'may write workloads in all Namespaces' : `may ${words.join(', ')} here`;
  const rest = policed
    ? 'the policy keeps it out of this Namespace, not out of the Node: a Pod elsewhere could mount its files'
    : 'it could read the volume of the server, with its relay secret and its CA key, and so be every cluster';
  const what = `the server is in the cluster of this agent, which ${may}: ${rest}`;
  const fix =
    'fleetrelay cluster register NAME --install --namespaces NS,... with the other options of its installation; or move the server to a cluster without an agent';
  const isExposed = inside.length > 0 || isEverywhere;
  return foundAt(`Namespace/${namespace}`, [
    [isExposed, 'warning', 'ServerExposed', what, fix],
    [!isExposed, 'ok', 'ServerApart', 'the agent can write no workload where the server is'],
  ]);
}

/** Whether a policy of ours judges the agent, and is bound. */
async function hasPolicy({ client }: Kube, { serviceAccount }: InstalledAgent): Promise<boolean> {
  const list = async (resource: keyof typeof RESOURCES): Promise<readonly JsonObject[]> => {
    const path = resourcePath({ resource: RESOURCES[resource] });
    const answer = await client.request({ method: 'GET', path, query: OUR_PARTS });
    return answer.type === 'ok' ? objectsOf(answer.body.items) : [];
  };
  const judging = (await list('admissionPolicies')).filter(({ spec }) =>
    objectsOf(objectOf(spec).matchConditions).some(({ expression }) =>
      String(expression).includes(`:${serviceAccount}$`),
    ),
  );
  const names = judging.map(({ metadata }) => objectOf(metadata).name);
  return (await list('admissionPolicyBindings')).some(({ spec }) => names.includes(objectOf(spec).policyName));
}
