import { metadataOf, nameOfKind } from '../../../model/objects/object-key.ts';
import { objectsOf, textOf } from '../../../model/text/json.ts';
import { given } from '../../../model/values/given.ts';
import { resourcePath } from '../api/paths.ts';
import type { ApiCatalog, ApiResource, KubeClient } from '../api/types.ts';
import { isDiscovered } from './live/discovered-kinds.ts';
import type { OwnedPlace } from './live/kinds.ts';
import { FLEET_LABEL } from './stamp.ts';

const NAMES_ONLY = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json';
const LISTS_AT_ONCE = 8;
const NAMESPACES = { group: '', version: 'v1', resource: 'namespaces' };

/**
 * Returns where an object has the label of a fleet. The agent follows these places if it has no valid inventory. Discovered kinds
 * are left out, since the agent follows them in any case. A kind that the agent may not list in all Namespaces is looked for in each
 * Namespace; what the agent may not list anywhere, it does not own. Rejects if the API server fails: that is no proof of absence.
 */
export async function labelledPlaces(client: KubeClient, catalog: ApiCatalog): Promise<readonly OwnedPlace[]> {
  const candidates = catalog.preferred.filter(
    ({ group, kind, verbs }) => verbs.includes('list') && verbs.includes('watch') && !isDiscovered(group, kind),
  );
  const everywhere = await inParallel(candidates, async (resource) => ({
    resource,
    answer: await hasLabelled(client, resource),
  }));
  const refused = everywhere.filter(({ answer, resource }) => answer === 'forbidden' && resource.namespaced);
  const names = refused.length === 0 ? [] : await namespaceNames(client);
  const single = refused.flatMap(({ resource }) => names.map((namespace) => ({ resource, namespace })));
  const inside = await inParallel(single, async ({ resource, namespace }) => {
    const answer = await hasLabelled(client, resource, namespace);
    return { resource, namespace, answer };
  });
  return [...everywhere.map((each) => ({ ...each, namespace: '' })), ...inside]
    .filter(({ answer }) => answer === 'yes')
    .map(({ resource, namespace }) => ({ kind: nameOfKind(resource), namespace }));
}

/** Whether an object of the kind has the label of a fleet. A kind that is not offered any more has none. */
async function hasLabelled(
  client: KubeClient,
  resource: ApiResource,
  namespace?: string,
): Promise<'yes' | 'no' | 'forbidden'> {
  const path = resourcePath({ resource, ...given({ namespace }) });
  const query = { labelSelector: FLEET_LABEL, limit: '1' };
  const answer = await client.request({ method: 'GET', path, query, accept: NAMES_ONLY });
  if (answer.type === 'ok') return objectsOf(answer.body.items).length > 0 ? 'yes' : 'no';
  if (answer.type === 'refused' && answer.status === 403) return 'forbidden';
  if (answer.type === 'refused' && answer.status === 404) return 'no';
  const message = answer.type === 'refused' ? answer.refusal.message : answer.message;
  throw new Error(`objects of the fleet of kind ${nameOfKind(resource)} cannot be looked for: ${message}`);
}

async function namespaceNames(client: KubeClient): Promise<readonly string[]> {
  const answer = await client.request({
    method: 'GET',
    path: resourcePath({ resource: NAMESPACES }),
    accept: NAMES_ONLY,
  });
  if (answer.type === 'ok') return objectsOf(answer.body.items).map((item) => textOf(metadataOf(item).name));
  const message = answer.type === 'refused' ? answer.refusal.message : answer.message;
  throw new Error(`the Namespaces in which objects of the fleet may be cannot be listed: ${message}`);
}

/** Calls `run` for each value, a few at a time; the results are in the order of the values. */
async function inParallel<Value, Result>(
  values: readonly Value[],
  run: (value: Value) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  // The workers share one iterator.
  const remaining = values.entries();
  await Promise.all(
    Array.from({ length: LISTS_AT_ONCE }, async () => {
      for (const [index, value] of remaining) results[index] = await run(value);
    }),
  );
  return results;
}
