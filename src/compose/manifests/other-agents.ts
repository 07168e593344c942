import { resourcePath } from '../../adapters/kubernetes/api/paths.ts';
import { metadataOf } from '../../model/objects/object-key.ts';
import { objectsOf, textOf } from '../../model/text/json.ts';
import { type KubeReader, RESOURCES, refusalOf } from '../kube.ts';
import { AGENT_NAME } from './agent-rights.ts';

/**
 * The other Namespaces with a ServiceAccount that the policy judges: the agents there use the same policy. Rejects with a text for a
 * person if they cannot be listed.
 */
export async function otherAgentPlaces({ client, namespace }: KubeReader): Promise<readonly string[]> {
  const path = resourcePath({ resource: RESOURCES.serviceAccounts });
  const query = { fieldSelector: `metadata.name=${AGENT_NAME}` };
  const answer = await client.request({ method: 'GET', path, query });
  if (answer.type !== 'ok') {
    throw new Error(`${client.server}: the ServiceAccounts cannot be listed: ${refusalOf(answer)}`);
  }
  const places = objectsOf(answer.body.items).map((item) => textOf(metadataOf(item).namespace));
  return places.filter((place) => place !== namespace).sort();
}

/** Why the policy is left although an agent goes or gets all rights; undefined: no other agent uses it. */
export function whyPolicyStays(others: readonly string[]): string | undefined {
  return others.length === 0 ? undefined : `the agent in ${others.join(', ')} uses it, too`;
}
