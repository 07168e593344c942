import type { Collection, Graph } from '../../../engine/collections/types.ts';
import type { DataplaneValue } from './dataplanes.ts';
import { joined } from './joined.ts';
import type { ServiceStatus, ServiceValue } from './services.ts';
import type { DataplaneStatus } from './status.ts';

/** How many data planes and services of a mesh have each status. */
export interface MeshCounts {
  readonly mesh: string;
  readonly dataplanes: StatusCounts;
  readonly services: StatusCounts;
}

/** Numbers by status of a service, as Kuma spells it; 0 is written too. */
export type StatusCounts = Readonly<Record<ServiceStatus, number>>;

const SPELLED: Readonly<Record<DataplaneStatus, ServiceStatus>> = {
  Online: 'online',
  'Partially degraded': 'partially_degraded',
  Offline: 'offline',
};

/**
 * Keeps the counts of each mesh that has a data plane. To ask for them costs a step for each mesh, however many data planes it
 * has. In no particular order.
 */
export function countMeshes(
  graph: Graph,
  dataplanes: Collection<DataplaneValue>,
  services: Collection<ServiceValue>,
): () => readonly MeshCounts[] {
  const dataplanesByStatus = graph.index('dataplanesByStatus', dataplanes, ({ value: { dataplane, status } }) => [
    joined(dataplane.mesh, SPELLED[status]),
  ]);
  const servicesByStatus = graph.index('servicesByStatus', services, ({ value: { mesh, status } }) => [
    joined(mesh, status),
  ]);
  const counts = (count: (group: string) => number, mesh: string): StatusCounts => ({
    online: count(joined(mesh, 'online')),
    partially_degraded: count(joined(mesh, 'partially_degraded')),
    offline: count(joined(mesh, 'offline')),
  });
  return () => {
    const groups = [...dataplanesByStatus.groups()];
    // What belongs to a service is a data plane: no other mesh has services.
    const meshes = new Set(groups.map((group) => group.slice(0, group.indexOf('\u0000'))));
    return [...meshes].map((mesh) => ({
      mesh,
      dataplanes: counts(dataplanesByStatus.count, mesh),
      services: counts(servicesByStatus.count, mesh),
    }));
  };
}
