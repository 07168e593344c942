import { MAX_LIST_PAGES, PAGE_MS } from '../../../../adapters/kubernetes/api/limits.ts';
import { resourcePath } from '../../../../adapters/kubernetes/api/paths.ts';
import type { KubeClient } from '../../../../adapters/kubernetes/api/types.ts';
import { LEASES } from '../../../../adapters/kubernetes/lease.ts';
import { metadataOf } from '../../../../model/objects/object-key.ts';
import { type JsonObject, objectsOf, textOf } from '../../../../model/text/json.ts';
import { given } from '../../../../model/values/given.ts';
import type { FoundLeases } from '../../ports/care-api.ts';

const LISTS_AT_ONCE = 4;
const PAGE_SIZE = '500';

/** Lists the Leases of these Namespaces. */
export async function listLeases(client: KubeClient, namespaces: readonly string[]): Promise<FoundLeases> {
  const leases: JsonObject[] = [];
  const refused: Record<string, string> = {};
  let unanswered: string | undefined;
  // The workers share one iterator.
  const remaining = namespaces.values();
  const work = async (): Promise<void> => {
    for (const namespace of remaining) {
      const failure = await listNamespace(client, namespace, leases);
      if (failure?.type === 'refused') refused[namespace] = failure.message;
      else if (failure !== undefined) unanswered ??= failure.message;
    }
  };
  await Promise.all(Array.from({ length: LISTS_AT_ONCE }, work));
  return { leases, refused, ...given({ unanswered }) };
}

interface Failure {
  readonly type: 'refused' | 'unanswered';
  readonly message: string;
}

/**
 * Adds the Leases of one Namespace. They come from the cache of the API server at once: Leases change all the time, so that
 * listing them now and then costs much less than a watch. Only a list that is too large for that is read in pages.
 */
async function listNamespace(
  client: KubeClient,
  namespace: string,
  leases: JsonObject[],
): Promise<Failure | undefined> {
  const path = resourcePath({ resource: LEASES, namespace });
  let query: Readonly<Record<string, string>> = { resourceVersion: '0' };
  for (let pages = 0; pages < MAX_LIST_PAGES; pages += 1) {
    const answer = await client.request({ method: 'GET', path, query, timeoutMs: PAGE_MS });
    if (answer.type === 'unreachable' && answer.tooLarge === true && query.limit === undefined) {
      query = { limit: PAGE_SIZE };
      continue;
    }
    if (answer.type === 'unreachable') return { type: 'unanswered', message: answer.message };
    if (answer.type === 'refused') {
      const isFinal = answer.status === 403 || answer.status === 404;
      return { type: isFinal ? 'refused' : 'unanswered', message: answer.refusal.message };
    }
    for (const lease of objectsOf(answer.body.items)) leases.push(lease);
    const token = textOf(metadataOf(answer.body).continue);
    if (token === '') return undefined;
    query = { limit: PAGE_SIZE, continue: token };
  }
  return { type: 'unanswered', message: `Namespace ${namespace} has more than ${MAX_LIST_PAGES} pages of Leases` };
}
