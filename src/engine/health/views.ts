import type { JsonObject } from '../../model/json.ts';
import { compareText } from '../../model/json.ts';
import { kindOf } from '../../model/object-key.ts';
import { rfc3339 } from '../../model/time.ts';
import type { Collection } from '../collections/types.ts';
import type { EngineInputs } from '../inputs.ts';
import { type DataplaneOrigin, type DataplaneValue, dataplaneKey } from './dataplanes.ts';
import { type InboundValue, loadBalancingSet, WEIGHT } from './inbounds.ts';
import type { ServiceValue } from './services.ts';

/** The rows of all data planes by mesh, name and cluster. What is unknown or does not apply is left out. */
export function dataplaneRows(
  dataplanes: Collection<DataplaneValue>,
  inputs: Pick<EngineInputs, 'agents' | 'kinds'>,
): readonly JsonObject[] {
  return [...dataplanes.partitions()]
    .flatMap((cluster) => [...dataplanes.entries(cluster)])
    .sort(
      (a, b) =>
        compareText(a.value.dataplane.mesh, b.value.dataplane.mesh) ||
        compareText(dataplaneKey(a.value.dataplane), dataplaneKey(b.value.dataplane)) ||
        compareText(a.partition, b.partition),
    )
    .map(({ partition: cluster, value: { dataplane, from, status, notes, connection } }) => ({
      mesh: dataplane.mesh,
      name: dataplane.name,
      ...(cluster === '' ? {} : { cluster }),
      status,
      notes,
      connection: {
        state: connection.state,
        ...(connection.since === undefined ? {} : { since: rfc3339(connection.since) }),
      },
      ...(isStale(from, inputs) ? { stale: true } : {}),
    }));
}

/** Whether the live state of a data plane is not known now: its agent is not connected, or cannot list its kind. */
export function isStale(from: DataplaneOrigin, { agents, kinds }: Pick<EngineInputs, 'agents' | 'kinds'>): boolean {
  if (from.type === 'declared') return false;
  return (
    agents.get('', from.cluster)?.connected !== true || kinds.get(from.cluster, kindOf(from.key))?.state === 'unknown'
  );
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
