import type { LiveObject } from '../../model/agent.ts';
import { SERVICE_NAME_LABEL } from '../../model/endpoints.ts';
import type { engineKinds } from '../../model/engine-kinds.ts';
import { objectOf, textOf } from '../../model/json.ts';
import { type LabelSelector, matchesLabels } from '../../model/label-selector.ts';
import { kindOf, objectRefOf } from '../../model/object-key.ts';
import type { Collection, Entry, Graph, Index, Reader } from '../collections/types.ts';

/** Gimbal's labels: what is mirrored carries them, so that it is never mirrored again. */
export const ownLabels = {
  backend: 'gimbal.projectcontour.io/backend',
  service: 'gimbal.projectcontour.io/service',
} as const;

/** The kinds of live objects that mirroring reads, by `group/Kind`. */
export const liveKinds = {
  service: '/Service',
  slice: 'discovery.k8s.io/EndpointSlice',
} as const satisfies Readonly<Record<string, (typeof engineKinds)['ServiceMirror']['discovers'][number]>>;

const EXPORT = 'fleetrelay.dev/service-export';

/** Live services and their slices, found by cluster. */
export interface LiveServices {
  readonly services: Index<LiveObject>;
  readonly slices: Index<LiveObject>;
}

/** Indexes live state. Objects of other kinds are in no group, and cost nothing. */
export function indexLiveServices(graph: Graph, live: Collection<LiveObject>): LiveServices {
  return {
    services: graph.index('liveServices', live, ({ partition, value }) => {
      if (kindOf(value.key) !== liveKinds.service) return [];
      const isMarked = labelsOf(value)[EXPORT] === 'true';
      return [allServices(partition), ...(isMarked ? [markedServices(partition)] : [])];
    }),
    slices: graph.index('liveSlices', live, ({ partition, value }) => {
      if (kindOf(value.key) !== liveKinds.slice) return [];
      const { [SERVICE_NAME_LABEL]: named, [ownLabels.backend]: backend } = labelsOf(value);
      const service = textOf(named);
      // A mirrored slice can bear the name of a service that lives here: it is not of its addresses.
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

/** The live services of a cluster that a selector takes, without those that are never mirrored. */
export function selectServices(
  read: Reader,
  { services }: LiveServices,
  cluster: string,
  selector: LabelSelector,
): readonly Entry<LiveObject>[] {
  const group = selector.matchLabels[EXPORT] === 'true' ? markedServices(cluster) : allServices(cluster);
  return read
    .members(services, group)
    .filter(({ value }) => mayBeMirrored(value) && matchesLabels(selector, labelsOf(value)));
}

function mayBeMirrored(service: LiveObject): boolean {
  const { namespace, name } = objectRefOf(service.key);
  if (namespace === 'kube-system' || (namespace === 'default' && name === 'kubernetes')) return false;
  if (labelsOf(service)[ownLabels.backend] !== undefined) return false;
  return textOf(objectOf(service.value.spec).type) !== 'ExternalName';
}

function labelsOf({ value }: LiveObject) {
  return objectOf(objectOf(value.metadata).labels);
}

function allServices(cluster: string): string {
  return `${cluster}/all`;
}

function markedServices(cluster: string): string {
  return `${cluster}/marked`;
}
