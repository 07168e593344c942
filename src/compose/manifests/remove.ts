import { resourcePath } from '../../adapters/kubernetes/api/paths.ts';
import { labelsOf, metadataOf } from '../../model/objects/object-key.ts';
import { type JsonObject, objectOf, objectsOf, textOf } from '../../model/text/json.ts';
import { isMissing, isOffered, type Kube, type KubeReader, nameOf, pathOf, RESOURCES, refusalOf } from '../kube.ts';
import type { Step } from '../step.ts';
import { isPolicy } from './agent-policy.ts';
import { AGENT_NAME } from './agent-rights.ts';

/**
 * Removes parts of an installation, but no object of others: the policy goes only if no other agent uses it, and a webhook
 * configuration only if it calls no other agent. `others`: the Namespaces of other agents. Rejects with a text for a person;
 * earlier steps stay done.
 */
export async function removeParts(
  kube: Kube,
  manifests: readonly JsonObject[],
  { dryRun, others }: { readonly dryRun: boolean; readonly others: readonly string[] },
): Promise<readonly Step[]> {
  const steps: Step[] = [];
  for (const manifest of manifests) {
    if (isPolicy(manifest) && !isOffered(kube, manifest)) continue;
    const step = await removeOne(kube, manifest, dryRun, (live) => {
      // An object of this name without our label belongs to another installation.
      if (labelsOf(live)['app.kubernetes.io/part-of'] !== 'fleetrelay')
        return 'it is not labelled as part of fleetrelay';
      const elsewhere = calledPlaces(live).filter((place) => place !== kube.namespace);
      if (elsewhere.length > 0) return `it calls the agent in ${elsewhere.join(', ')}`;
      return isPolicy(manifest) && others.length > 0 ? `the agent in ${others.join(', ')} uses it, too` : undefined;
    });
    if (step.outcome !== 'absent') steps.push(step);
  }
  return steps;
}

/** The Namespaces whose Services a webhook configuration calls. Its name is the same for every agent of a cluster. */
function calledPlaces({ webhooks }: JsonObject): readonly string[] {
  const places = objectsOf(webhooks).map(({ clientConfig }) => objectOf(objectOf(clientConfig).service).namespace);
  return [...new Set(places.map(textOf))];
}

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

/** Removes one object, unless `whyLeft` gives a reason to leave the live one. Rejects with a text for a person. */
export async function removeOne(
  kube: Kube,
  manifest: JsonObject,
  dryRun: boolean,
  whyLeft: (live: JsonObject) => string | undefined = () => undefined,
): Promise<Step> {
  const path = pathOf(kube, manifest);
  const step = { what: nameOf(manifest), where: kube.client.server, dryRun };
  const live = await kube.client.request({ method: 'GET', path });
  if (isMissing(live)) return { ...step, outcome: 'absent' };
  if (live.type !== 'ok') throw new Error(`${step.what} cannot be read: ${refusalOf(live)}`);
  const reason = whyLeft(live.body);
  if (reason !== undefined) return { ...step, outcome: 'left', message: reason };
  const answer = await kube.client.request({
    method: 'DELETE',
    path,
    // An API server ignores the query of a request with a body, so dryRun is a member of the body.
    body: {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      preconditions: { uid: String(metadataOf(live.body).uid) },
      propagationPolicy: 'Background',
      ...(dryRun ? { dryRun: ['All'] } : {}),
    },
  });
  if (answer.type === 'ok' || isMissing(answer)) return { ...step, outcome: 'removed' };
  throw new Error(`${step.what} cannot be removed: ${refusalOf(answer)}`);
}
