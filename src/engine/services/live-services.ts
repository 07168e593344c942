import type { LiveObject } from '../../model/agent.ts';
import type { MirrorNamespaces } from '../../model/desired.ts';
import { SERVICE_NAME_LABEL } from '../../model/endpoints.ts';
import type { engineKinds } from '../../model/engine-kinds.ts';
import { objectOf, textOf } from '../../model/json.ts';
import { type LabelSelector, matchesLabels } from '../../model/label-selector.ts';
import { mirrorLabels } from '../../model/mirror-labels.ts';
import { matchesAnyName } from '../../model/name-glob.ts';
import { kindOf, labelsOf, objectRefOf } from '../../model/object-key.ts';
import type { Collection, Entry, Graph, Reader } from '../collections/types.ts';

/** The kinds of live objects that mirroring reads, by `group/Kind`. */
export const liveKinds = {
  service: '/Service',
  slice: 'discovery.k8s.io/EndpointSlice',
} as const satisfies Readonly<Record<string, (typeof engineKinds)['ServiceMirror']['discovers'][number]>>;

const EXPORT = 'fleetrelay.dev/service-export';

/** Live services and their slices by cluster. */
export type LiveServices = ReturnType<typeof indexLiveServices>;

/** Indexes live Services and EndpointSlices. Other kinds are in no group of the index. */
export function indexLiveServices(graph: Graph, live: Collection<LiveObject>) {
  return {
    services: graph.index('liveServices', live, ({ partition, value }) => {
      if (kindOf(value.key) !== liveKinds.service) return [];
      const isMarked = labelsOf(value.value)[EXPORT] === 'true';
      return [servicesGroup(partition, 'all'), ...(isMarked ? [servicesGroup(partition, 'marked')] : [])];
    }),
    slices: graph.index('liveSlices', live, ({ partition, value }) => {
      if (kindOf(value.key) !== liveKinds.slice) return [];
      const { [SERVICE_NAME_LABEL]: named, [mirrorLabels.backend]: backend } = labelsOf(value.value);
      const service = textOf(named);
      // A slice that mirroring made may name a service of this cluster, but has no addresses of it.
      return service === '' || backend !== undefined
        ? []
        : [slicesOf(partition, objectRefOf(value.key).namespace, service)];
    }),
  };
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

/** The live services of a cluster that a mirror chooses, without those that are never mirrored. */
export function selectServices(
  read: Reader,
  { services }: LiveServices,
  cluster: string,
  { selector, namespaces }: ServiceChoice,
): readonly Entry<LiveObject>[] {
  const group = servicesGroup(cluster, selector.matchLabels[EXPORT] === 'true' ? 'marked' : 'all');
  return read
    .members(services, group)
    .filter(({ value }) => mayBeMirrored(value) && isIn(namespaces, value))
    .filter(({ value }) => matchesLabels(selector, labelsOf(value.value)));
}

function mayBeMirrored(service: LiveObject): boolean {
  const { namespace, name } = objectRefOf(service.key);
  if (namespace === 'kube-system' || (namespace === 'default' && name === 'kubernetes')) return false;
  if (labelsOf(service.value)[mirrorLabels.backend] !== undefined) return false;
  return textOf(objectOf(service.value.spec).type) !== 'ExternalName';
}

function isIn({ include, exclude }: MirrorNamespaces, service: LiveObject): boolean {
  const { namespace } = objectRefOf(service.key);
  return matchesAnyName(include, namespace) && !matchesAnyName(exclude, namespace);
}

function servicesGroup(cluster: string, which: 'all' | 'marked'): string {
  return `${cluster}/${which}`;
}
