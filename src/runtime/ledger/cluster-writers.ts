import type { Journal } from '../stored/journal.ts';
import type { MapWriter, WriteGroup, WriteGuard } from '../stored/write-group.ts';
import {
  type ClusterMapKind,
  type ClusterMapTypes,
  type ClusterReadings,
  clusterCodecs,
  clusterMapName,
} from './cluster-maps.ts';

/** The writers of one cluster; their writes form one consistent state. */
export type ClusterWriters = { readonly [Kind in ClusterMapKind]: MapWriter<ClusterMapTypes[Kind]> } & {
  readonly records: WriteGroup;
};

/** The clusters whose records this process writes. */
export interface ClusterWriterTable {
  /** The writers of a cluster; undefined if another process writes its records. */
  of(cluster: string): ClusterWriters | undefined;
  owns(cluster: string): boolean;
  /** Makes this process the writer; `readings`: the maps in the store. Must not be called twice for a cluster. */
  own(cluster: string, readings: ClusterReadings, guard?: WriteGuard): ClusterWriters;
  /** Another process is the writer from now on; waiting writes are dropped. */
  disown(cluster: string): void;
}

/** `ownsAll`: no other process writes to the store, so this process also owns unknown clusters. */
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

/** Creates the writers of one cluster; `readings`: the maps in the store. */
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
