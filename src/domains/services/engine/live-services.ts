import type { LiveObject } from '../../../model/agent/agent.ts';
import type { engineKinds } from '../../../model/fleet/engine-kinds.ts';
import { SERVICE_NAME_LABEL } from '../../../model/objects/endpoints.ts';
import { type LabelSelector, matchesLabels } from '../../../model/objects/label-selector.ts';
import { mirrorLabels } from '../../../model/objects/mirror-labels.ts';
import { kindOf, labelsOf, type ObjectKey, objectKey, objectRefOf } from '../../../model/objects/object-key.ts';
import { objectOf, textOf } from '../../../model/text/json.ts';
import { matchesAnyName } from '../../../model/text/name-glob.ts';
import type { MirrorNamespaces } from '../model/mirror.ts';

/** The kinds of live objects that mirroring reads, by `group/Kind`. */
export const liveKinds = {
  service: '/Service',
  slice: 'discovery.k8s.io/EndpointSlice',
} as const satisfies Readonly<Record<string, (typeof engineKinds)['ServiceMirror']['discovers'][number]>>;

/** The key of the Service of a live EndpointSlice; undefined: it names none whose addresses it has. */
export function serviceOf(slice: LiveObject): ObjectKey | undefined {
  const { [SERVICE_NAME_LABEL]: named, [mirrorLabels.backend]: backend } = labelsOf(slice.value);
  const name = textOf(named);
  // A slice that mirroring made may name a service of this cluster, but has no addresses of it.
  if (name === '' || backend !== undefined) return undefined;
  return objectKey({ group: '', kind: 'Service', namespace: objectRefOf(slice.key).namespace, name });
}

/** Which live services of a cluster are mirrored. */
export interface ServiceChoice {
  readonly selector: LabelSelector;
  readonly namespaces: MirrorNamespaces;
}

/** Whether the key belongs to a Service. */
export function isService(key: string): boolean {
  return kindOf(key as ObjectKey) === liveKinds.service;
}

/** Whether the key belongs to an EndpointSlice. */
export function isSlice(key: string): boolean {
  return kindOf(key as ObjectKey) === liveKinds.slice;
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
