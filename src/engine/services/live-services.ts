import type { LiveObject } from '../../model/agent.ts';
import type { MirrorNamespaces } from '../../model/desired.ts';
import { SERVICE_NAME_LABEL } from '../../model/endpoints.ts';
import type { engineKinds } from '../../model/engine-kinds.ts';
import { objectOf, textOf } from '../../model/json.ts';
import { type LabelSelector, matchesLabels } from '../../model/label-selector.ts';
import { mirrorLabels } from '../../model/mirror-labels.ts';
import { matchesAnyName } from '../../model/name-glob.ts';
import { kindOf, labelsOf, type ObjectKey, objectRefOf } from '../../model/object-key.ts';
import type { Collection, Graph, Index } from '../collections/types.ts';

/** The kinds of live objects that mirroring reads, by `group/Kind`. */
export const liveKinds = {
  service: '/Service',
  slice: 'discovery.k8s.io/EndpointSlice',
} as const satisfies Readonly<Record<string, (typeof engineKinds)['ServiceMirror']['discovers'][number]>>;

/** Indexes live EndpointSlices by {@link slicesOf}. Other kinds are in no group of the index. */
export function indexSlices(graph: Graph, live: Collection<LiveObject>): Index<LiveObject> {
  return graph.index('liveSlices', live, ({ partition, value }) => {
    if (kindOf(value.key) !== liveKinds.slice) return [];
    const { [SERVICE_NAME_LABEL]: named, [mirrorLabels.backend]: backend } = labelsOf(value.value);
    const service = textOf(named);
    // A slice that mirroring made may name a service of this cluster, but has no addresses of it.
    return service === '' || backend !== undefined
      ? []
      : [slicesOf(partition, objectRefOf(value.key).namespace, service)];
  });
}

/** The group of the EndpointSlices of a service. */
export function slicesOf(cluster: string, namespace: string, service: string): string {
  return `${cluster}/${namespace}/${service}`;
}

/** Which live services of a cluster are mirrored. */
export interface ServiceChoice {
  readonly selector: LabelSelector;
  readonly namespaces: MirrorNamespaces;
}

/** Whether the key is that of a Service. */
export function isService(key: string): boolean {
  return kindOf(key as ObjectKey) === liveKinds.service;
}

/** Whether a mirror chooses a live Service that {@link mayBeMirrored}. */
export function chooses({ selector, namespaces }: ServiceChoice, service: LiveObject): boolean {
  return isIn(namespaces, service) && matchesLabels(selector, labelsOf(service.value));
}

/** False for the Services that are never mirrored. */
export function mayBeMirrored(service: LiveObject): boolean {
  const { namespace, name } = objectRefOf(service.key);
  if (namespace === 'kube-system' || (namespace === 'default' && name === 'kubernetes')) return false;
  if (labelsOf(service.value)[mirrorLabels.backend] !== undefined) return false;
  return textOf(objectOf(service.value.spec).type) !== 'ExternalName';
}

/** Whether a mirror takes the namespace of a live Service. */
export function isIn({ include, exclude }: MirrorNamespaces, service: LiveObject): boolean {
  const { namespace } = objectRefOf(service.key);
  return matchesAnyName(include, namespace) && !matchesAnyName(exclude, namespace);
}
