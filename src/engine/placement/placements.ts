import { compileGlob, type Glob } from '../../model/glob.ts';
import type { Collection, Derived, Graph, Index } from '../collections/types.ts';
import type { ClusterValue } from '../fleet/clusters.ts';
import { type Declarations, type Declared, declaredOf } from '../fleet/declared.ts';
import { chooseClusters } from './selector.ts';

/** A Placement with its clusters worked out. Partition empty, key its name. */
export interface PlacementValue {
  readonly declared: Declared<'Placement'>;
  readonly globs: readonly Glob[];
  /** Selected clusters that are registered, in canonical order. */
  readonly clusters: readonly string[];
  /** Names that it lists and that no KubernetesCluster has. */
  readonly unknownClusters: readonly string[];
}

/** The Placements and the clusters that each selects. */
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
      a.declared === b.declared && sameTexts(a.clusters, b.clusters) && sameTexts(a.unknownClusters, b.unknownClusters),
    compute: ({ key, value: declaration }, read, emit) => {
      const { paths, clusterNames, clusterSelector } = declaration.value;
      const choice = { names: clusterNames, ...(clusterSelector === undefined ? {} : { selector: clusterSelector }) };
      const { clusters: chosen, unknown } = chooseClusters(choice, read, clusters);
      emit('', key, {
        declared: declaration,
        globs: paths.map(compileGlob),
        clusters: chosen,
        unknownClusters: unknown,
      });
    },
  });
}

/** Placements by the folders that their globs look into, so that a path finds its Placements without asking them all. */
export function indexPlacements(graph: Graph, placements: Collection<PlacementValue>): Index<PlacementValue> {
  return graph.index('placementsByFolder', placements, ({ value }) => [
    ...new Set(value.globs.map((glob) => glob.base)),
  ]);
}

function sameTexts(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, index) => text === b[index]);
}
