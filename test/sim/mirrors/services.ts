import type { ObjectKey } from '../../../src/model/objects/object-key.ts';
import type { JsonObject } from '../../../src/model/text/json.ts';
import { liveService, liveSlice } from '../../support/mirrors.ts';
import type { SimCluster } from '../ports/cluster.ts';

/** Services that every cluster has at all times, and those that come and go. */
export const LASTING = ['s0', 's1'] as const;
export const PASSING = ['s2', 's3'] as const;

const SERVICE = '/Service/web/';
const SLICE = 'discovery.k8s.io/EndpointSlice/web/';

/** An exported service with one address lives in a cluster, or lives there with another address. */
export function putService({ memory, foreign }: SimCluster, name: string, address: string): void {
  const objects: readonly (readonly [string, JsonObject])[] = [
    [SERVICE + name, liveService(name)],
    [`${SLICE}${name}-1`, liveSlice(name, [address])],
  ];
  for (const [text, value] of objects) {
    const key = text as ObjectKey;
    foreign.set(key, value);
    memory.personPuts(key, value, 'drop');
  }
}

export function dropService({ memory, foreign }: SimCluster, name: string): void {
  for (const key of [SERVICE + name, `${SLICE}${name}-1`] as ObjectKey[]) {
    if (foreign.delete(key)) memory.personRemoves(key);
  }
}

/** The keys under which a service of one cluster is known in the others. */
export function mirrorKeys(from: string, service: string): readonly string[] {
  return [`${SERVICE}${from}-${service}`, `${SLICE}${from}-${service}-1`];
}

/** Exported services that live in a cluster. */
export function servicesIn({ foreign }: SimCluster): readonly string[] {
  return [...foreign.keys()].flatMap((key) => (key.startsWith(SERVICE) ? [key.slice(SERVICE.length)] : []));
}
