import type { JsonObject, JsonValue } from './json.ts';
import { objectOf, objectsOf, textOf } from './json-fields.ts';
import { type ObjectKey, objectRefOf } from './object-key.ts';

/** The label by which an EndpointSlice says whose addresses it has. */
export const SERVICE_NAME_LABEL = 'kubernetes.io/service-name';

/** Kinds whose objects carry the addresses of a service. */
export function carriesEndpoints(key: ObjectKey): boolean {
  return kindOfEndpoints(key) !== undefined;
}

/**
 * The service, in the namespace of the object, whose addresses an Endpoints or EndpointSlice has; empty if it has none or
 * names no service. Addresses that are not ready count: they are there. Undefined for any other kind.
 */
export function servedService(key: ObjectKey, value: JsonObject): string | undefined {
  switch (kindOfEndpoints(key)) {
    case 'Endpoints': {
      const isThere = objectsOf(value.subsets).some(
        (subset) => hasItems(subset.addresses) || hasItems(subset.notReadyAddresses),
      );
      return isThere ? objectRefOf(key).name : '';
    }
    case 'EndpointSlice':
      return objectsOf(value.endpoints).some(({ addresses }) => hasItems(addresses)) ? serviceOfSlice(value) : '';
    case undefined:
      return undefined;
  }
}

/** The service that an Endpoints or EndpointSlice is meant for, whether it has addresses or not. */
export function serviceOfEndpoints(key: ObjectKey, value: JsonObject): string {
  return kindOfEndpoints(key) === 'Endpoints' ? objectRefOf(key).name : serviceOfSlice(value);
}

function kindOfEndpoints(key: ObjectKey): 'Endpoints' | 'EndpointSlice' | undefined {
  const { group, kind } = objectRefOf(key);
  if (group === '' && kind === 'Endpoints') return kind;
  return group === 'discovery.k8s.io' && kind === 'EndpointSlice' ? kind : undefined;
}

function serviceOfSlice({ metadata }: JsonObject): string {
  return textOf(objectOf(objectOf(metadata).labels)[SERVICE_NAME_LABEL]);
}

function hasItems(list: JsonValue | undefined): boolean {
  return Array.isArray(list) && list.length > 0;
}
