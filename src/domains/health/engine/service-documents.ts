import type { Collection, Derived, Graph } from '../../../engine/collections/types.ts';
import { pathSegment, statusFile } from '../../../model/fleet/status-path.ts';
import { bucketOf } from '../../../model/text/digest.ts';
import { compareText, type JsonObject } from '../../../model/text/json.ts';
import type { DataplaneValue } from './dataplanes.ts';
import { joined } from './joined.ts';
import { dataplaneOfMember, type MemberValue, type ServiceValue } from './services.ts';
import { connectionFields, serviceRow } from './views.ts';

/** Folder of the status branch with a file for each service. */
export const SERVICES_FOLDER = 'services';

/** Data planes that the file of a service names. */
const MOST_NAMED = 20;

/**
 * Derives the files of the services on the status branch: what `get services` says, and data planes that are not online. Those
 * are kept in parts, so that the cost of one more does not follow their number.
 */
export function deriveServiceDocuments(
  graph: Graph,
  services: Collection<ServiceValue>,
  members: Collection<MemberValue>,
  dataplanes: Collection<DataplaneValue>,
): Derived<JsonObject> {
  const notOnline = graph.index('serviceMembersNotOnline', members, ({ key, value: { mesh, service, isOnline } }) =>
    isOnline ? [] : [joined(mesh, service, String(bucketOf(key)))],
  );
  const counts = graph.counts('serviceMembersNotOnlineCounts', notOnline);
  const parts = graph.index('servicePartsNotOnline', counts, ({ key }) => [key.slice(0, key.lastIndexOf('\u0000'))]);
  return graph.derive<ServiceValue, JsonObject>({
    name: 'serviceDocuments',
    from: services,
    reads: [notOnline, parts, dataplanes],
    // It names data planes of all clusters.
    seesAll: true,
    compute: ({ key, value }, read, emit) => {
      const named: JsonObject[] = [];
      for (const part of read.members(parts, key)) {
        if (named.length === MOST_NAMED) break;
        for (const member of read.first(notOnline, part.key, MOST_NAMED - named.length)) {
          const { partition: cluster, key: at } = dataplaneOfMember(member.key);
          const value = read.get(dataplanes, cluster, at);
          if (value !== undefined) named.push(rowOf(cluster, value));
        }
      }
      const path = statusFile([SERVICES_FOLDER, pathSegment(value.mesh)], value.name);
      emit('', path, { ...serviceRow(value), notOnline: named.sort(byName) });
    },
  });
}

function rowOf(cluster: string, { dataplane: { name }, status, notes, connection }: DataplaneValue): JsonObject {
  return { name, ...(cluster === '' ? {} : { cluster }), status, notes, connection: connectionFields(connection) };
}

function byName(a: JsonObject, b: JsonObject): number {
  return compareText(String(a.name), String(b.name)) || compareText(String(a.cluster ?? ''), String(b.cluster ?? ''));
}
