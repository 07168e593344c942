import type { Journal } from '../stored/journal.ts';
import type { MapWriter, WriteGroup, WriteGuard } from '../stored/write-group.ts';
import {
  type ClusterMapKind,
  type ClusterMapTypes,
  type ClusterReadings,
  clusterCodecs,
  clusterMapName,
} from './cluster-maps.ts';

/** What this process writes of one cluster: always of one moment. */
export type ClusterWriters = { readonly [Kind in ClusterMapKind]: MapWriter<ClusterMapTypes[Kind]> } & {
  readonly records: WriteGroup;
};

/** Which clusters' records this process writes, and by whose leave. */
export interface ClusterWriterTable {
  /** The writers of a cluster; undefined: another process writes its records. */
  of(cluster: string): ClusterWriters | undefined;
  owns(cluster: string): boolean;
  /** This process writes them from now on; `readings`: what the store has of it. Only if it does not do so already. */
  own(cluster: string, readings: ClusterReadings, guard?: WriteGuard): ClusterWriters;
  /** Another process writes them from now on; what waits is dropped. */
  disown(cluster: string): void;
}

/** `ownsAll`: no other process writes to the store, so a cluster that is not known yet is this process's as well. */
export function createClusterWriters(journal: Journal, ownsAll: boolean): ClusterWriterTable {
  const table = new Map<string, ClusterWriters>();
  const own: ClusterWriterTable['own'] = (cluster, readings, guard) => {
    const writers = createWriters(journal, cluster, readings, guard);
    table.set(cluster, writers);
    return writers;
  };
  return {
    of: (cluster) => table.get(cluster) ?? (ownsAll ? own(cluster, {}) : undefined),
    owns: (cluster) => table.has(cluster),
    own,
    disown: (cluster) => {
      table.get(cluster)?.records.close();
      table.delete(cluster);
    },
  };
}

/** Writers of one cluster; `readings`: what the store has of it. */
export function createWriters(
  journal: Journal,
  cluster: string,
  readings: ClusterReadings,
  guard?: WriteGuard,
): ClusterWriters {
  const records = journal.group(guard);
  const map = <Kind extends ClusterMapKind>(kind: Kind): MapWriter<ClusterMapTypes[Kind]> =>
    records.map(
      clusterMapName(cluster, kind),
      clusterCodecs[kind],
      readings[kind] ?? { type: 'missing', version: null, orphans: [] },
    );
  return { records, entries: map('entries'), live: map('live'), kinds: map('kinds'), results: map('results') };
}
