import { objectsOf } from '../../../model/json.ts';
import { nameOfKind } from '../../../model/object-key.ts';
import { resourcePath } from '../api/paths.ts';
import type { ApiCatalog, ApiResource, KubeClient } from '../api/types.ts';
import { isDiscovered } from './live/discovered-kinds.ts';
import { FLEET_LABEL } from './stamp.ts';

const NAMES_ONLY = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json';
const AT_ONCE = 8;

/**
 * Kinds (`group/Kind`) of which some object bears the label of a fleet, beside those that are discovered anyway: asked of
 * every kind once, when no inventory says it. A kind that may not be listed is passed over.
 */
export async function ownedKinds(client: KubeClient, catalog: ApiCatalog): Promise<readonly string[]> {
  const candidates = catalog.preferred.filter(
    ({ group, kind, verbs }) => verbs.includes('list') && verbs.includes('watch') && !isDiscovered(group, kind),
  );
  const found: string[] = [];
  const work = candidates.values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const resource of work) if (await hasLabelled(client, resource)) found.push(nameOfKind(resource));
    }),
  );
  return found;
}

async function hasLabelled(client: KubeClient, resource: ApiResource): Promise<boolean> {
  const query = { labelSelector: FLEET_LABEL, limit: '1' };
  const answer = await client.request({ method: 'GET', path: resourcePath({ resource }), query, accept: NAMES_ONLY });
  return answer.type === 'ok' && objectsOf(answer.body.items).length > 0;
}
