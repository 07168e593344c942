import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { ApiRequests } from '../../test/support/kubernetes/api-request.ts';
import type { KubernetesTestCluster } from '../../test/support/kubernetes/clusters.ts';

const COLLECTIONS = ['/api/v1/namespaces/NS/services', '/apis/discovery.k8s.io/v1/namespaces/NS/endpointslices'];
const DEADLINE_MS = 120_000;

/** When (`performance.now()`) the first and the last of the Services and EndpointSlices of a namespace were created. */
export interface Creations {
  readonly first: number;
  readonly last: number;
}

/** Watches both kinds in a namespace that is empty, until `count` objects are there. */
export function followCreations(cluster: KubernetesTestCluster, namespace: string, count: number): Promise<Creations> {
  let seen = 0;
  let first = Number.NaN;
  const stops: (() => void)[] = [];
  return new Promise<Creations>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`only ${seen} of ${count} objects were created`)), DEADLINE_MS);
    stops.push(() => clearTimeout(timer));
    const added = (): void => {
      const now = performance.now();
      seen += 1;
      if (seen === 1) first = now;
      if (seen === count) resolve({ first, last: now });
    };
    for (const path of COLLECTIONS) stops.push(watchAdditions(cluster, path.replace('NS', namespace), added));
  }).finally(() => {
    for (const stop of stops) stop();
  });
}

/** Calls back for each object that is added to an empty collection; the returned function ends it. */
function watchAdditions({ plane }: KubernetesTestCluster, path: string, added: () => void): () => void {
  const ca = readFileSync(join(plane.folder, 'certs', 'apiserver.crt'));
  const headers = { authorization: 'Bearer token-admin' };
  const asked = request(`${plane.url}${path}?watch=1`, { ca, headers }, (response) => {
    const lines = createInterface({ input: response });
    lines.on('line', (line) => {
      if (line.startsWith('{"type":"ADDED"')) added();
    });
    // It is cut off in the middle when enough has been seen.
    lines.on('error', () => undefined);
  });
  asked.on('error', () => undefined);
  asked.end();
  return () => asked.destroy();
}

/** How many requests that could change a Service or an EndpointSlice the API server has answered so far. */
export async function countWrites(api: ApiRequests): Promise<number> {
  const { body } = await api.send('GET', '/metrics');
  let writes = 0;
  for (const line of String(body).split('\n')) {
    if (!line.startsWith('apiserver_request_total{') || !/resource="(services|endpointslices)"/.test(line)) continue;
    if (/verb="(APPLY|PATCH|PUT|POST|DELETE|DELETECOLLECTION)"/.test(line)) writes += Number(line.split(' ').at(-1));
  }
  return writes;
}
