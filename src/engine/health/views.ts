import type { JsonObject } from '../../model/json.ts';
import { compareText } from '../../model/json.ts';
import { rfc3339 } from '../../model/time.ts';
import type { Collection } from '../collections/types.ts';
import { type DataplaneValue, dataplaneKey } from './dataplanes.ts';
import { type InboundValue, loadBalancingSet, WEIGHT } from './inbounds.ts';
import type { ServiceValue } from './services.ts';

/** The rows of all data planes by mesh, name and cluster. What is unknown or does not apply is left out. */
export function dataplaneRows(dataplanes: Collection<DataplaneValue>): readonly JsonObject[] {
  return [...dataplanes.partitions()]
    .flatMap((cluster) => [...dataplanes.entries(cluster)])
    .sort(
      (a, b) =>
        compareText(a.value.dataplane.mesh, b.value.dataplane.mesh) ||
        compareText(dataplaneKey(a.value.dataplane), dataplaneKey(b.value.dataplane)) ||
        compareText(a.partition, b.partition),
    )
    .map(({ partition: cluster, value: { dataplane, status, notes, connection } }) => ({
      mesh: dataplane.mesh,
      name: dataplane.name,
      ...(cluster === '' ? {} : { cluster }),
      status,
      notes,
      connection: {
        state: connection.state,
        ...(connection.since === undefined ? {} : { since: rfc3339(connection.since) }),
      },
    }));
}

/** The rows of all services by mesh and name. */
export function serviceRows(services: Collection<ServiceValue>): readonly JsonObject[] {
  return [...services.entries('')]
    .sort((a, b) => compareText(a.key, b.key))
    .map(({ value: { mesh, name, status, type, dataplanes, endpoints, zones } }) => ({
      ...{ mesh, name, status, serviceType: type },
      dataplanes: { ...dataplanes, offline: dataplanes.total - dataplanes.online },
      endpoints: { ready: endpoints.ready, total: endpoints.total },
      zones,
    }));
}

/** The rows of all load-balancing sets, in their order. */
export function endpointRows(inbounds: Collection<InboundValue>): readonly JsonObject[] {
  return loadBalancingSet(inbounds).map(({ value: { mesh, service, address, port, zone } }) => ({
    ...{ mesh, service, address, port, weight: WEIGHT },
    ...(zone === '' ? {} : { zone }),
  }));
}
