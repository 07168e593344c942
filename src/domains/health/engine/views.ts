import type { Collection, Entry } from '../../../engine/collections/types.ts';
import type { EngineInputs } from '../../../engine/inputs.ts';
import { isWanted, type ViewFilter } from '../../../model/fleet/view-filter.ts';
import { kindOf } from '../../../model/objects/object-key.ts';
import { compareText, type JsonObject } from '../../../model/text/json.ts';
import { rfc3339 } from '../../../model/text/time.ts';
import type { Dataplane, Tags } from '../model/dataplane.ts';
import { type DataplaneOrigin, type DataplaneValue, dataplaneKey } from './dataplanes.ts';
import { type InboundValue, loadBalancingSet, WEIGHT } from './inbounds.ts';
import { joined } from './joined.ts';
import type { ServiceValue } from './services.ts';
import { type Connection, isCounted } from './status.ts';

/** The rows of all data planes by mesh, name and cluster. What is unknown or does not apply is left out. */
export function dataplaneRows(
  dataplanes: Collection<DataplaneValue>,
  inputs: Pick<EngineInputs, 'agents' | 'kinds'>,
  filter: ViewFilter = {},
): readonly JsonObject[] {
  return matching(dataplanes, filter)
    .sort(
      (a, b) =>
        compareText(a.value.dataplane.mesh, b.value.dataplane.mesh) ||
        compareText(dataplaneKey(a.value.dataplane), dataplaneKey(b.value.dataplane)) ||
        compareText(a.partition, b.partition),
    )
    .map((entry) => dataplaneRow(entry, inputs));
}

/** The row of a data plane. */
export function dataplaneRow(
  { partition: cluster, value: { dataplane, from, status, notes, connection } }: Entry<DataplaneValue>,
  inputs: Pick<EngineInputs, 'agents' | 'kinds'>,
): JsonObject {
  return {
    mesh: dataplane.mesh,
    name: dataplane.name,
    ...(cluster === '' ? {} : { cluster }),
    status,
    notes,
    connection: connectionFields(connection),
    ...(staleness(from, inputs) === undefined ? {} : { stale: true }),
  };
}

/** A connection as people see it. */
export function connectionFields({ state, since }: Connection): JsonObject {
  return { state, ...(since === undefined ? {} : { since: rfc3339(since) }) };
}

/** Why the live state of a data plane is not known now, in words; undefined: it is known. */
export function staleness(
  from: DataplaneOrigin,
  { agents, kinds }: Pick<EngineInputs, 'agents' | 'kinds'>,
): string | undefined {
  if (from.type === 'declared') return undefined;
  const agent = agents.get('', from.cluster);
  if (agent?.connected !== true) {
    const since = agent === undefined || agent.since === 0 ? '' : ` since ${rfc3339(agent.since)}`;
    return `is stale: its agent is not connected${since}, and this was known last`;
  }
  const kind = kinds.get(from.cluster, kindOf(from.key));
  if (kind?.state !== 'unknown') return undefined;
  const why = kind.message === '' ? '' : `: ${kind.message}`;
  return `is stale: its agent cannot list ${kindOf(from.key).split('/').pop()}${why}; this was known last`;
}

/** The rows of the services by mesh and name. With a cluster or tags: those that a data plane or inbound which has them serves. */
export function serviceRows(
  services: Collection<ServiceValue>,
  dataplanes: Collection<DataplaneValue>,
  filter: ViewFilter = {},
): readonly JsonObject[] {
  const { mesh: wanted, cluster, tag } = filter;
  const served =
    cluster === undefined && tag === undefined
      ? undefined
      : new Set(
          matching(dataplanes, filter).flatMap(({ value: { dataplane } }) =>
            parts(dataplane)
              .filter((part) => hasTags(part.tags, tag))
              .map(({ service }) => joined(dataplane.mesh, service)),
          ),
        );
  return [...services.entries('')]
    .filter(({ value: { mesh } }) => isWanted(wanted, mesh))
    .filter(({ value: { mesh, name } }) => served === undefined || served.has(joined(mesh, name)))
    .sort((a, b) => compareText(a.key, b.key))
    .map(({ value }) => serviceRow(value));
}

/** The row of a service. */
export function serviceRow({ mesh, name, status, type, dataplanes, endpoints, zones }: ServiceValue): JsonObject {
  return {
    mesh,
    name,
    status,
    serviceType: type,
    dataplanes: { ...dataplanes, offline: dataplanes.total - dataplanes.online },
    endpoints: { ready: endpoints.ready, total: endpoints.total },
    zones,
  };
}

/** The rows of all load-balancing sets, in their order. */
export function endpointRows(
  inbounds: Collection<InboundValue>,
  dataplanes: Collection<DataplaneValue>,
  { mesh, cluster, tag }: ViewFilter = {},
): readonly JsonObject[] {
  const isSelected = ({ value }: Entry<InboundValue>): boolean =>
    isWanted(mesh, value.mesh) &&
    isWanted(cluster, value.cluster) &&
    (tag === undefined || hasTags(tagsOf(dataplanes, value), tag));
  const found = loadBalancingSet(inbounds).filter(isSelected);
  return found.map(({ value: { mesh, service, address, port, zone } }) => ({
    mesh,
    service,
    address,
    port,
    weight: WEIGHT,
    ...(zone === '' ? {} : { zone }),
  }));
}

/** The data planes that a filter selects, in no particular order. */
function matching(dataplanes: Collection<DataplaneValue>, { mesh, cluster, tag }: ViewFilter): Entry<DataplaneValue>[] {
  return [...new Set(cluster ?? dataplanes.partitions())]
    .flatMap((partition) => [...dataplanes.entries(partition)])
    .filter(
      ({ value: { dataplane } }) =>
        isWanted(mesh, dataplane.mesh) &&
        (tag === undefined || parts(dataplane).some((part) => hasTags(part.tags, tag))),
    );
}

/** What a data plane serves by: its gateway, or the inbounds that count. */
function parts({ gateway, inbounds }: Dataplane): readonly { readonly service: string; readonly tags: Tags }[] {
  return gateway === undefined ? inbounds.filter(isCounted) : [gateway];
}

function tagsOf(dataplanes: Collection<DataplaneValue>, { cluster, mesh, dataplane, position }: InboundValue): Tags {
  return dataplanes.get(cluster, dataplaneKey({ mesh, name: dataplane }))?.dataplane.inbounds[position]?.tags ?? {};
}

/** Whether there are all of these tags; one is `KEY=VALUE`, or `KEY` for any value. */
function hasTags(tags: Tags, wanted: readonly string[] = []): boolean {
  return wanted.every((tag) => {
    const [key = '', ...values] = tag.split('=');
    return Object.hasOwn(tags, key) && (values.length === 0 || tags[key] === values.join('='));
  });
}
