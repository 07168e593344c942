import type { LiveObject } from '../../model/agent.ts';
import { dataplaneIdOf, dataplaneOf } from '../../model/dataplane.ts';
import { streamOfSubscriptions } from '../../model/dataplane-health.ts';
import { isJsonObject, type JsonObject, objectOf } from '../../model/json.ts';
import { type ObjectKey, objectRefOf } from '../../model/object-key.ts';
import { withCamelCaseNames } from '../../model/proto-json.ts';
import type { Collection, Derived, Graph } from '../collections/types.ts';
import { connectionOfStream, dataplaneKey, type KnownDataplane, type Uncounted } from './dataplanes.ts';
import { isOfKind, keyOfKind, liveKinds, ownerOf } from './live-objects.ts';
import { drainingIfTerminating } from './pod.ts';
import { declaredCauses } from './status.ts';

/** Derives the live Dataplanes, as their control plane has filled them in. Partition: their cluster. Key: their object. */
export function deriveLiveDataplanes(
  graph: Graph,
  live: Collection<LiveObject>,
  declared: Collection<KnownDataplane>,
): Derived<KnownDataplane | Uncounted> {
  return graph.derive<LiveObject, KnownDataplane | Uncounted>({
    name: 'liveDataplanes',
    from: live,
    keys: isOfKind(liveKinds.dataplane),
    reads: [live, declared],
    compute: ({ partition: cluster, key, value: { value } }, read, emit) => {
      const { namespace, name } = objectRefOf(key as ObjectKey);
      const spec = withCamelCaseNames(objectOf(value.spec));
      if (!isJsonObject(spec.networking)) {
        emit(cluster, key, { uncounted: 'unreadable' });
        return;
      }
      const id = dataplaneIdOf(value);
      if (ownerOf(value)?.kind !== 'Pod' && read.get(declared, '', dataplaneKey(id)) !== undefined) {
        emit(cluster, key, { uncounted: 'declared' });
        return;
      }
      const other = (kind: string): JsonObject =>
        read.get(live, cluster, keyOfKind(kind, namespace, name))?.value ?? {};
      const stream = streamOfSubscriptions(objectOf(other(liveKinds.insight).status).subscriptions);
      const dataplane = dataplaneOf(spec, id);
      emit(cluster, key, {
        dataplane,
        from: { type: 'live', cluster, key: key as ObjectKey },
        connection: drainingIfTerminating(connectionOfStream(stream), other(liveKinds.pod)),
        causes: dataplane.inbounds.map(declaredCauses),
        warnings: [],
      });
    },
  });
}
