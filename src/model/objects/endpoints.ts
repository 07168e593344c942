import { type JsonObject, type JsonValue, objectsOf, textOf } from '../text/json.ts';
import { labelsOf, type ObjectKey, objectRefOf } from './object-key.ts';

/** The label of an EndpointSlice that names its Service. */
export const SERVICE_NAME_LABEL = 'kubernetes.io/service-name';

/** Whether the object is of a kind with the addresses of a service. */
export function carriesEndpoints(key: ObjectKey): boolean {
  return kindOfEndpoints(key) !== undefined;
}

/**
 * The service, in the namespace of the object, of which an Endpoints or EndpointSlice has addresses, ready or not. Empty if
 * it has no addresses or names no service; undefined for any other kind.
 */
export function servedService(key: ObjectKey, value: JsonObject): string | undefined {
  switch (kindOfEndpoints(key)) {
    case 'Endpoints': {
      const hasAddresses = objectsOf(value.subsets).some(
        (subset) => hasItems(subset.addresses) || hasItems(subset.notReadyAddresses),
      );
      return hasAddresses ? objectRefOf(key).name : '';
    }
    case 'EndpointSlice':
      return objectsOf(value.endpoints).some(({ addresses }) => hasItems(addresses)) ? serviceOfSlice(value) : '';
    case undefined:
      return undefined;
  }
}

/** The service of an Endpoints or EndpointSlice, with or without addresses. */
export function serviceOfEndpoints(key: ObjectKey, value: JsonObject): string {
  return kindOfEndpoints(key) === 'Endpoints' ? objectRefOf(key).name : serviceOfSlice(value);
}

function kindOfEndpoints(key: ObjectKey): 'Endpoints' | 'EndpointSlice' | undefined {
  const { group, kind } = objectRefOf(key);
  if (group === '' && kind === 'Endpoints') return kind;
  return group === 'discovery.k8s.io' && kind === 'EndpointSlice' ? kind : undefined;
}

function serviceOfSlice(value: JsonObject): string {
  return textOf(labelsOf(value)[SERVICE_NAME_LABEL]);
}

function hasItems(list: JsonValue | undefined): boolean {
  return Array.isArray(list) && list.length > 0;
}
