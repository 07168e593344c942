import { resourcePath } from '../../adapters/kubernetes/api/paths.ts';
import { metadataOf } from '../../model/objects/object-key.ts';
import { objectsOf, textOf } from '../../model/text/json.ts';
import { type KubeReader, OUR_PARTS, RESOURCES, refusalOf } from '../kube.ts';

/** Namespaces of management servers in a cluster, or why they cannot be listed. */
export type ServerPlaces =
  | { readonly type: 'found'; readonly namespaces: readonly string[] }
  | { readonly type: 'refused'; readonly message: string };

/**
 * Looks for the StatefulSets of management servers, in all Namespaces: both the chart and the bases make one with our label, whatever its
 * name and Namespace. This tells that a server is in this cluster even if its agent reaches it by an address outside.
 */
export async function serverPlaces({ client }: Pick<KubeReader, 'client'>): Promise<ServerPlaces> {
  const path = resourcePath({ resource: RESOURCES.statefulSets });
  const answer = await client.request({ method: 'GET', path, query: OUR_PARTS });
  if (answer.type !== 'ok') return { type: 'refused', message: refusalOf(answer) ?? '' };
  const names = objectsOf(answer.body.items).map((item) => textOf(metadataOf(item).namespace));
  return { type: 'found', namespaces: [...new Set(names)] };
}

/** The Namespace of the server in the address of a Service: `fleetrelay-server.NAMESPACE.svc:9900`; undefined: it names none. */
export function serverNamespaceIn(address: string): string | undefined {
  return /^[a-z0-9-]+\.([a-z0-9-]+)\.svc(\.|:|$)/.exec(address)?.[1];
}
