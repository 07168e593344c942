import type { Collection, Derived, Entry, Graph, Reader } from '../../../engine/collections/types.ts';
import { canonicalIp } from '../../../model/text/ip-address.ts';
import { given } from '../../../model/values/given.ts';
import { ZONE_TAG } from '../model/dataplane.ts';
import { type DataplaneValue, isReady } from './dataplanes.ts';
import { joined } from './joined.ts';
import { isCounted } from './status.ts';

/**
 * An inbound that counts. Partition empty; the keys have the order of the load-balancing set: mesh, service, data plane,
 * inbound. Scope: its cluster.
 */
export interface InboundValue {
  readonly mesh: string;
  /** Empty: it belongs to no service. */
  readonly service: string;
  /** Name of its data plane. */
  readonly dataplane: string;
  /** Empty: the data plane is declared. */
  readonly cluster: string;
  /** Position among the inbounds of its data plane. */
  readonly position: number;
  readonly address: string;
  readonly port: number;
  /** The addresses of its Pod in the other family of IP; absent: it has none. */
  readonly otherAddresses?: readonly string[];
  /** As its tag says, else the label of its data plane; empty: not known. */
  readonly zone: string;
  /** It is in the load-balancing set of its service. */
  readonly isInSet: boolean;
}

/** The weight of each endpoint in its set. */
export const WEIGHT = 1;

/** Derives the inbounds of all data planes. */
export function deriveInbounds(graph: Graph, dataplanes: Collection<DataplaneValue>): Derived<InboundValue> {
  return graph.derive<DataplaneValue, InboundValue>({
    name: 'inbounds',
    from: dataplanes,
    compute: ({ partition: cluster, value }, _read, emit) => {
      const { mesh, name, zone = '', inbounds } = value.dataplane;
      inbounds.forEach((inbound, position) => {
        if (!isCounted(inbound)) return;
        const { service, address, port, otherAddresses, tags } = inbound;
        emit('', joined(mesh, service, name, cluster, String(position).padStart(4, '0')), {
          mesh,
          service,
          dataplane: name,
          cluster,
          position,
          address,
          port,
          ...given({ otherAddresses }),
          zone: tags[ZONE_TAG] ?? zone,
          isInSet: isReady(value, position),
        });
      });
    },
  });
}

/** The indexes of the inbounds. */
export type InboundIndexes = ReturnType<typeof indexInbounds>;

/** Indexes the inbounds by {@link inboundGroup}. */
export function indexInbounds(graph: Graph, inbounds: Collection<InboundValue>) {
  const byService = graph.index('inboundsByService', inbounds, ({ value: { mesh, service, isInSet } }) =>
    service === '' ? [] : [inboundGroup.all(mesh, service), ...(isInSet ? [inboundGroup.set(mesh, service)] : [])],
  );
  const byAddress = graph.index('inboundsByAddress', inbounds, ({ value }) => {
    const { cluster, address, port, otherAddresses = [] } = value;
    return [address, ...otherAddresses].map((one) => inboundGroup.address(cluster, one, port));
  });
  return {
    all: inbounds,
    byService,
    byAddress,
    /**
     * Whether one of the inbounds with this address in the cluster is in the load-balancing set; undefined: there is no such
     * inbound. Reads `byAddress`.
     */
    isInSet: (read: Reader, cluster: string, address: string, port: number): boolean | undefined => {
      const found = read.members(byAddress, inboundGroup.address(cluster, address, port));
      return found.length === 0 ? undefined : found.some(({ value }) => value.isInSet);
    },
  };
}

/** Names of the groups of {@link indexInbounds}. */
export const inboundGroup = {
  /** The inbounds of a service, in the order of the set. */
  all: (mesh: string, service: string) => joined(mesh, service),
  /** The load-balancing set of a service, in its order. */
  set: (mesh: string, service: string) => joined(mesh, service, 'set'),
  /** The inbounds at an address of a cluster. */
  address: (cluster: string, address: string, port: number) => `${cluster}/${canonicalIp(address)}:${port}`,
} as const;

/** The complete load-balancing sets, in their order. For use outside a computation. */
export function loadBalancingSet(inbounds: Collection<InboundValue>): readonly Entry<InboundValue>[] {
  return [...inbounds.entries('')].filter(({ value }) => value.isInSet && value.service !== '').sort(byKey);
}

function byKey(a: Entry<unknown>, b: Entry<unknown>): number {
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
}
