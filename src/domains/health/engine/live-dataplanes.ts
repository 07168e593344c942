import type { Collection, Derived, Graph } from '../../../engine/collections/types.ts';
import type { LiveObject } from '../../../model/agent/agent.ts';
import { type ObjectKey, objectRefOf } from '../../../model/objects/object-key.ts';
import { isAddress } from '../../../model/text/ip-address.ts';
import { isJsonObject, type JsonObject, objectOf } from '../../../model/text/json.ts';
import { withCamelCaseNames } from '../../../model/text/proto-json.ts';
import {
  type Dataplane,
  dataplaneIdOf,
  dataplaneLabels,
  dataplaneOf,
  type Inbound,
  isPort,
} from '../model/dataplane.ts';
import { streamOfSubscriptions } from '../model/dataplane-health.ts';
import { connectionOfStream, dataplaneKey, type KnownDataplane, type Uncounted } from './dataplanes.ts';
import { isOfKind, keyOfKind, liveKinds, ownerOf } from './live-objects.ts';
import { drainingIfTerminating, otherIps, podIps } from './pod.ts';
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
      const same = ownerOf(value)?.kind === 'Pod' ? undefined : read.get(declared, '', dataplaneKey(id));
      // It counts as the first source's, so no other source takes its place.
      if (same?.from.type === 'declared' && same.from.source === undefined) {
        emit(cluster, key, { uncounted: 'declared' });
        return;
      }
      const other = (kind: string): JsonObject =>
        read.get(live, cluster, keyOfKind(kind, namespace, name))?.value ?? {};
      const stream = streamOfSubscriptions(objectOf(other(liveKinds.insight).status).subscriptions);
      const pod = other(liveKinds.pod);
      const { dataplane, doubts } = usable(dataplaneOf(spec, id, dataplaneLabels(value)), podIps(pod));
      emit(cluster, key, {
        dataplane,
        from: { type: 'live', cluster, key: key as ObjectKey },
        connection: drainingIfTerminating(connectionOfStream(stream), pod),
        causes: dataplane.inbounds.map(declaredCauses),
        doubts,
      });
    },
  });
}

/** Most inbounds, and most listeners, of a live Dataplane. A control plane writes one for each port of a Service. */
const MOST = 1_000;

/** The data plane without inbounds that no connection can reach. `ips`: the addresses of its Pod. */
function usable(dataplane: Dataplane, ips: readonly string[]): Pick<KnownDataplane, 'dataplane' | 'doubts'> {
  const { inbounds, listeners } = dataplane;
  const considered = inbounds.slice(0, MOST);
  const problems = considered.map(problemOf);
  const first = problems.findIndex((problem) => problem !== undefined);
  const left = problems.filter((problem) => problem !== undefined).length - 1;
  const doubts = [
    ...(first < 0 ? [] : [`inbound ${first} ${problems[first]}${left > 0 ? `; ${left} more` : ''}: it counts nowhere`]),
    ...(inbounds.length > MOST ? [`it has ${inbounds.length} inbounds: only the first ${MOST} count`] : []),
  ];
  return {
    dataplane: {
      ...dataplane,
      inbounds: considered
        .filter((_, at) => problems[at] === undefined)
        .map((inbound) => ({ ...inbound, ...otherIps(ips, inbound.address) })),
      listeners: listeners.slice(0, MOST),
    },
    doubts: doubts.map((text) => ({ reason: 'UnreadableDataplane', text })),
  };
}

function problemOf({ address, port }: Inbound): string | undefined {
  if (!isPort(port)) return 'has no port from 1 to 65535';
  return isAddress(address) ? undefined : 'has no valid address';
}
