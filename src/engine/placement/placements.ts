import { compileGlob, type Glob, selfAndAncestors } from '../../model/glob.ts';
import { compareText, isSameList } from '../../model/json.ts';
import type { Collection, Derived, Entry, Graph, Index, Reader } from '../collections/types.ts';
import { type ClusterValue, chooseClusters, clusterGroup } from '../fleet/clusters.ts';
import { type Declarations, type Declared, declaredOf } from '../fleet/declared.ts';
import type { DocumentValue } from '../fleet/sources.ts';

/** A Placement with the clusters that it selects. Partition empty, key its name. */
export interface PlacementValue {
  readonly declared: Declared<'Placement'>;
  readonly globs: readonly Glob[];
  /** Selected clusters that are registered, in canonical order. */
  readonly clusters: readonly string[];
  /** Names in its list that no KubernetesCluster has. */
  readonly unknownClusters: readonly string[];
  /** Its selector of clusters matches none. */
  readonly selectsNone: boolean;
}

/** Derives the Placements with the clusters that each selects. */
export function derivePlacements(
  graph: Graph,
  declarations: Declarations,
  clusters: Index<ClusterValue>,
): Derived<PlacementValue> {
  return graph.derive<Declared<'Placement'>, PlacementValue>({
    name: 'placements',
    ...declaredOf(declarations, 'Placement'),
    reads: [clusters],
    equals: (a, b) =>
      a.declared === b.declared &&
      isSameList(a.clusters, b.clusters) &&
      isSameList(a.unknownClusters, b.unknownClusters) &&
      a.selectsNone === b.selectsNone,
    compute: ({ key, value: declared }, read, emit) => {
      const { paths, clusters: choice } = declared.value;
      const { clusters: chosen, unknown, selectsNone } = chooseClusters(choice, read, clusters);
      const globs = paths.map(compileGlob);
      emit('', key, { declared, globs, clusters: chosen, unknownClusters: unknown, selectsNone });
    },
  });
}

/** Indexes Placements by the base folders of their globs, so that a path is matched only against some of them. */
export function indexPlacements(graph: Graph, placements: Collection<PlacementValue>): Index<PlacementValue> {
  return graph.index('placementsByFolder', placements, ({ value }) => value.globs.map((glob) => glob.base));
}

/** The Placements whose globs match a path, each once. `look`: inside a computation its reader. */
export function placementsOf(
  path: string,
  placements: Index<PlacementValue>,
  look: Pick<Reader, 'members'> = { members: (index, group) => index.members(group) },
): readonly Entry<PlacementValue>[] {
  const found = selfAndAncestors(path)
    .flatMap((folder) => look.members(placements, folder))
    .filter(({ value: { globs } }) => globs.some((glob) => glob.matches(path)));
  return [...new Map(found.map((entry) => [entry.key, entry])).values()];
}

/** The clusters of a document. Same address as the document. */
export interface Assignment {
  /** Registered clusters, in canonical order. */
  readonly clusters: readonly string[];
  /** The document lies under `clusters/NAME/`, and no KubernetesCluster has that name. */
  readonly unknownCluster?: string;
}

/** Assigns each document with an object for clusters to its clusters. */
export function deriveAssignments(
  graph: Graph,
  documents: Collection<DocumentValue>,
  placements: Index<PlacementValue>,
  clusters: Index<ClusterValue>,
): Derived<Assignment> {
  return graph.derive<DocumentValue, Assignment>({
    name: 'assignments',
    from: documents,
    reads: [placements, clusters],
    compute: ({ partition, key, value: { path, content } }, read, emit) => {
      if (content.type !== 'object') return;
      const targets = new Set(placementsOf(path, placements, read).flatMap(({ value }) => value.clusters));
      const folder = clusterFolder(path);
      const isUnknown = folder !== undefined && read.members(clusters, clusterGroup.name(folder)).length === 0;
      if (folder !== undefined && !isUnknown) targets.add(folder);
      emit(partition, key, {
        clusters: [...targets].sort(compareText),
        ...(isUnknown ? { unknownCluster: folder } : {}),
      });
    },
  });
}

/** The cluster NAME of a path `clusters/NAME/...`. */
function clusterFolder(path: string): string | undefined {
  return /^clusters\/([^/]+)\/./.exec(path)?.[1];
}

/** A rule by which a document is assigned to a cluster. */
export type Route =
  | { readonly type: 'folder'; readonly cluster: string }
  | { readonly type: 'placement'; readonly name: string };

/** All rules by which the document at a path is assigned to a cluster; for explanations. */
export function routesTo(cluster: string, path: string, placements: Index<PlacementValue>): readonly Route[] {
  const byPlacement = placementsOf(path, placements)
    .filter(({ value }) => value.clusters.includes(cluster))
    .map(({ key: name }): Route => ({ type: 'placement', name }));
  return [...(clusterFolder(path) === cluster ? [{ type: 'folder', cluster } as const] : []), ...byPlacement];
}
