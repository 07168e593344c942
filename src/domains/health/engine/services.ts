import type { Collection, Derived, EntryAddress, Graph, Index, Reader } from '../../../engine/collections/types.ts';
import { ZONE_TAG } from '../model/dataplane.ts';
import { type DataplaneValue, dataplaneKey } from './dataplanes.ts';
import { type InboundIndexes, inboundGroup } from './inbounds.ts';
import { joined } from './joined.ts';
import { isCounted } from './status.ts';

/** A data plane as part of one service. Partition empty, key mesh, service, data plane, cluster. Scope: its cluster. */
export interface MemberValue {
  readonly mesh: string;
  readonly service: string;
  readonly type: ServiceType;
  readonly isOnline: boolean;
  /** Those that the data plane names for this service, each once. */
  readonly zones: readonly string[];
}

/** The address of the data plane of a member, by the key of the member. */
export function dataplaneOfMember(key: string): EntryAddress {
  const [mesh = '', , name = '', cluster = ''] = key.split('\u0000');
  return { partition: cluster, key: dataplaneKey({ mesh, name }) };
}

export type ServiceType = 'internal' | 'gateway_delegated' | 'gateway_builtin';

/** As Kuma spells it. */
export type ServiceStatus = 'online' | 'partially_degraded' | 'offline';

/** A service of a mesh over all clusters. Partition empty, key `joined(mesh, name)`. */
export interface ServiceValue {
  readonly mesh: string;
  readonly name: string;
  readonly status: ServiceStatus;
  readonly type: ServiceType;
  /** Each data plane counts once; one that is partially degraded is not online. */
  readonly dataplanes: { readonly total: number; readonly online: number };
  /** Inbounds; `ready`: those in the load-balancing set. */
  readonly endpoints: { readonly total: number; readonly ready: number };
  /** In canonical order. */
  readonly zones: readonly string[];
}

/** Names of the groups of the members; `all` is the key of the service too. */
const memberGroup = {
  all: (mesh: string, service: string) => joined(mesh, service),
  online: (mesh: string, service: string) => joined(mesh, service, 'online'),
  type: (mesh: string, service: string, type: ServiceType) => joined(mesh, service, 'type', type),
  zone: (mesh: string, service: string, zone: string) => joined(mesh, service, 'zone', zone),
} as const;

/**
 * Derives the services by counting: the cost of a changed data plane does not grow with the size of its services. Returns the
 * members as well: group {@link memberGroup}.all has the members of a service.
 */
export function deriveServices(graph: Graph, dataplanes: Collection<DataplaneValue>, { byService }: InboundIndexes) {
  const members = deriveMembers(graph, dataplanes);
  const membersByService = graph.index('serviceMembersByService', members, ({ value }) => groupsOf(value));
  const memberCounts = graph.counts('serviceMemberCounts', membersByService);
  const inboundCounts = graph.counts('inboundCounts', byService);
  const zones = graph.index('serviceZones', memberCounts, ({ key }) => {
    const [mesh = '', service = '', what] = key.split('\u0000');
    return what === 'zone' ? [memberGroup.all(mesh, service)] : [];
  });
  const services = graph.derive<number, ServiceValue>({
    name: 'services',
    from: memberCounts,
    keys: (key) => key.split('\u0000').length === 2,
    reads: [memberCounts, inboundCounts, membersByService, zones],
    // It counts the data planes of all clusters.
    seesAll: true,
    compute: ({ key, value: total }, read, emit) => {
      const [mesh = '', name = ''] = key.split('\u0000');
      const count = (group: string): number => read.get(memberCounts, '', group) ?? 0;
      const online = count(memberGroup.online(mesh, name));
      emit('', key, {
        mesh,
        name,
        status: online === 0 ? 'offline' : online === total ? 'online' : 'partially_degraded',
        type: typeOf(count, read, membersByService, { mesh, name, total }),
        dataplanes: { total, online },
        endpoints: {
          total: read.get(inboundCounts, '', inboundGroup.all(mesh, name)) ?? 0,
          ready: read.get(inboundCounts, '', inboundGroup.set(mesh, name)) ?? 0,
        },
        zones: read.members(zones, key).map((zone) => zone.key.slice(zone.key.lastIndexOf('\u0000') + 1)),
      });
    },
  });
  return { services, members, membersByService };
}

/** Derives the services of each data plane, without nameless ones. */
function deriveMembers(graph: Graph, dataplanes: Collection<DataplaneValue>): Derived<MemberValue> {
  return graph.derive<DataplaneValue, MemberValue>({
    name: 'serviceMembers',
    from: dataplanes,
    compute: ({ partition: cluster, value: { dataplane, status } }, _read, emit) => {
      const { mesh, name } = dataplane;
      for (const [service, member] of servicesOf(dataplane)) {
        if (service === '') continue;
        emit('', joined(mesh, service, name, cluster), { mesh, service, ...member, isOnline: status === 'Online' });
      }
    },
  });
}

function servicesOf({
  gateway,
  inbounds,
}: DataplaneValue['dataplane']): ReadonlyMap<string, Pick<MemberValue, 'type' | 'zones'>> {
  if (gateway !== undefined) {
    const { [ZONE_TAG]: zone = '' } = gateway.tags;
    return new Map([[gateway.service, { type: `gateway_${gateway.type}`, zones: zone === '' ? [] : [zone] }]]);
  }
  const services = new Map<string, { type: ServiceType; zones: string[] }>();
  for (const inbound of inbounds) {
    if (!isCounted(inbound)) continue;
    const { [ZONE_TAG]: zone = '' } = inbound.tags;
    const service = services.get(inbound.service) ?? { type: 'internal', zones: [] };
    if (zone !== '' && !service.zones.includes(zone)) service.zones.push(zone);
    services.set(inbound.service, service);
  }
  return services;
}

function groupsOf({ mesh, service, type, isOnline, zones }: MemberValue): readonly string[] {
  return [
    memberGroup.all(mesh, service),
    ...(isOnline ? [memberGroup.online(mesh, service)] : []),
    ...(type === 'internal' ? [] : [memberGroup.type(mesh, service, type)]),
    ...zones.map((zone) => memberGroup.zone(mesh, service, zone)),
  ];
}

/** As in Kuma, the first data plane decides if the data planes of a service have several types. */
function typeOf(
  count: (group: string) => number,
  read: Reader,
  members: Index<MemberValue>,
  { mesh, name, total }: { readonly mesh: string; readonly name: string; readonly total: number },
): ServiceType {
  const gateways = (['gateway_delegated', 'gateway_builtin'] as const).filter(
    (type) => count(memberGroup.type(mesh, name, type)) > 0,
  );
  const [only] = gateways;
  if (only === undefined) return 'internal';
  if (count(memberGroup.type(mesh, name, only)) === total) return only;
  return read.first(members, memberGroup.all(mesh, name), 1)[0]?.value.type ?? 'internal';
}
