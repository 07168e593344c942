import { resourcePath } from '../../adapters/kubernetes/api/paths.ts';
import type { KubeClient } from '../../adapters/kubernetes/api/types.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';

const NAMESPACES = { group: '', version: 'v1', resource: 'namespaces' };

/**
 * Lets namespaces go whose deletion was asked for, as the namespace controller of a whole Kubernetes does; without looking
 * at what is in them, because the demo's agents empty them before.
 */
export async function endNamespaces(client: KubeClient, signal: AbortSignal): Promise<void> {
  const answer = await client.request({ method: 'GET', path: resourcePath({ resource: NAMESPACES }), signal });
  if (answer.type !== 'ok' || !Array.isArray(answer.body.items)) return;
  for (const namespace of answer.body.items) {
    const metadata = isJsonObject(namespace) ? namespace.metadata : undefined;
    if (!isJsonObject(metadata)) continue;
    const { name, deletionTimestamp } = metadata;
    if (typeof name !== 'string' || deletionTimestamp === undefined) continue;
    const path = resourcePath({ resource: NAMESPACES, name, subresource: 'finalize' });
    const body: JsonObject = { apiVersion: 'v1', kind: 'Namespace', metadata, spec: {} };
    await client.request({ method: 'PUT', path, body, signal });
  }
}
