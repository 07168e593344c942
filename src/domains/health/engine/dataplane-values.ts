import type { Collection, Derived, Graph } from '../../../engine/collections/types.ts';
import { type DataplaneValue, dataplaneKey, type KnownDataplane, type Uncounted } from './dataplanes.ts';
import { type ServiceOwner, withinRights } from './service-owners.ts';
import { statusOf } from './status.ts';

/** Derives the status of all known data planes. */
export function deriveDataplanes(
  graph: Graph,
  known: readonly Collection<KnownDataplane | Uncounted>[],
  owners: Collection<ServiceOwner>,
): Derived<DataplaneValue> {
  return graph.derive<KnownDataplane | Uncounted, DataplaneValue>({
    name: 'dataplanes',
    from: known,
    reads: [owners],
    compute: ({ partition, value: found }, read, emit) => {
      if ('uncounted' in found) return;
      const value = withinRights(found, read, owners);
      const { dataplane, causes, connection } = value;
      emit(partition, dataplaneKey(dataplane), { ...value, ...statusOf(dataplane, causes, connection) });
    },
  });
}
