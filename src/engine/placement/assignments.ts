import { selfAndAncestors } from '../../model/glob.ts';
import { compareText } from '../../model/json.ts';
import type { Collection, Derived, Graph, Index, Reader } from '../collections/types.ts';
import { type ClusterValue, clusterGroup } from '../fleet/clusters.ts';
import type { DocumentValue } from '../fleet/sources.ts';
import type { PlacementValue } from './placements.ts';

/** Where a document goes. Same address as the document. */
export interface Assignment {
  /** Registered clusters, in canonical order. */
  readonly clusters: readonly string[];
  /** It lies under `clusters/NAME/`, and no KubernetesCluster has that name. */
  readonly unknownCluster?: string;
}

/** The rule by which a document reaches a cluster; computed only for explanations. */
export type Route =
  | { readonly type: 'folder'; readonly cluster: string }
  | { readonly type: 'placement'; readonly name: string };

/** Assigns every document that is shipped (not an engine kind) to its clusters. */
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
    compute: ({ partition, key, value }, read, emit) => {
      if (value.content.type !== 'object') return;
      const targets = new Set<string>();
      for (const placement of placementsOf(value.path, read, placements)) {
        for (const cluster of placement.clusters) targets.add(cluster);
      }
      const folder = clusterFolder(value.path);
      const unknown = folder !== undefined && read.members(clusters, clusterGroup.name(folder)).length === 0;
      if (folder !== undefined && !unknown) targets.add(folder);
      const assigned = [...targets].sort(compareText);
      emit(partition, key, { clusters: assigned, ...(unknown ? { unknownCluster: folder } : {}) });
    },
  });
}

/** The cluster that the folder rule names for a path: `clusters/NAME/...`. */
export function clusterFolder(path: string): string | undefined {
  return /^clusters\/([^/]+)\/./.exec(path)?.[1];
}

function placementsOf(path: string, read: Reader, placements: Index<PlacementValue>): readonly PlacementValue[] {
  return selfAndAncestors(path)
    .flatMap((folder) => read.members(placements, folder))
    .map((entry) => entry.value)
    .filter((placement) => placement.globs.some((glob) => glob.matches(path)));
}

/** Every way by which the document at a path reaches a cluster. */
export function routesTo(cluster: string, path: string, placements: Index<PlacementValue>): readonly Route[] {
  const byPlacement = [...new Set(selfAndAncestors(path).flatMap((folder) => placements.members(folder)))]
    .filter(({ value }) => value.clusters.includes(cluster) && value.globs.some((glob) => glob.matches(path)))
    .map(({ key: name }): Route => ({ type: 'placement', name }));
  return [...(clusterFolder(path) === cluster ? [{ type: 'folder', cluster } as const] : []), ...byPlacement];
}
