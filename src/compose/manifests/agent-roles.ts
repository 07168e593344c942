import { resourcePath } from '../../adapters/kubernetes/api/paths.ts';
import { metadataOf } from '../../model/objects/object-key.ts';
import { type JsonObject, objectsOf } from '../../model/text/json.ts';
import { type KubeReader, OUR_PARTS, RESOURCES, refusalOf } from '../kube.ts';
import { AGENT_ROLES } from './agent-manifests.ts';

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
export async function agentRoles({ client, namespace }: KubeReader): Promise<readonly JsonObject[]> {
  const lists = KINDS.map(async ([kind, resource]) => {
    const answer = await client.request({ method: 'GET', path: resourcePath({ resource }), query: OUR_PARTS });
    if (answer.type !== 'ok') throw new Error(`${client.server}: the ${kind}s cannot be listed: ${refusalOf(answer)}`);
    return objectsOf(answer.body.items)
      .filter((item) => AGENT_ROLES.includes(String(metadataOf(item).name)))
      .map((item) => ({ ...item, apiVersion: 'rbac.authorization.k8s.io/v1', kind }));
  });
  const found = (await Promise.all(lists)).flat();
  const place = (object: JsonObject): string => `${metadataOf(object).namespace ?? ''}/${metadataOf(object).name}`;
  const foreign = new Set(
    found
      .filter(({ kind }) => kind.endsWith('Binding'))
      .filter(({ subjects }: JsonObject) => objectsOf(subjects).every((subject) => subject.namespace !== namespace))
      .map(place),
  );
  return found.filter((object) => !foreign.has(place(object)));
}
