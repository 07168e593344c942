import type { Hold } from '../../model/fleet/ledger.ts';
import type { Origin } from '../../model/fleet/output.ts';
import { reaches, type SourceRights } from '../../model/fleet/source-rights.ts';
import { compareText, isSameList, type JsonValue, jsonEquals } from '../../model/text/json.ts';
import type { Collection, Derived, Graph, Index } from '../collections/types.ts';
import { type ClusterValue, chooseClusters } from '../fleet/clusters.ts';
import { type Declarations, type Declared, declaredOf } from '../fleet/declared.ts';
import { type DocumentValue, originOf } from '../fleet/sources.ts';
import { type GlobsByFolder, globsByFolder } from './matching.ts';

/** A Placement with the clusters that it selects. Partition empty, key its name. */
export interface PlacementValue {
  readonly declared: Declared<'Placement'>;
  readonly globs: GlobsByFolder;
  /** Selected clusters that are registered, in canonical order. */
  readonly clusters: readonly string[];
  /** Names in its list that its source may reach and that no KubernetesCluster has. */
  readonly unknownClusters: readonly string[];
  /** Its selector of clusters matches none. */
  readonly selectsNone: boolean;
  /** Selected clusters, and names in its list, that its source may not reach; in canonical order. */
  readonly outOfReach: readonly string[];
  /** The rights of its source; absent: it may do everything. */
  readonly rights?: SourceRights;
}

/** Derives the Placements with the clusters that each selects. */
export function derivePlacements(
  graph: Graph,
  declarations: Declarations,
  clusters: Index<ClusterValue>,
  rights: Collection<SourceRights>,
): Derived<PlacementValue> {
  return graph.derive<Declared<'Placement'>, PlacementValue>({
    name: 'placements',
    ...declaredOf(declarations, 'Placement'),
    reads: [clusters, rights],
    equals: (a, b) =>
      a.declared === b.declared &&
      isSameList(a.clusters, b.clusters) &&
      isSameList(a.unknownClusters, b.unknownClusters) &&
      isSameList(a.outOfReach, b.outOfReach) &&
      isSameRights(a.rights, b.rights) &&
      a.selectsNone === b.selectsNone,
    compute: ({ key, value: declared }, read, emit) => {
      const { paths, clusters: choice } = declared.value;
      const { clusters: chosen, unknown, selectsNone } = chooseClusters(choice, read, clusters);
      const own = read.get(rights, '', declared.origin.source);
      emit('', key, {
        declared,
        globs: globsByFolder(paths),
        selectsNone,
        clusters: chosen.filter((cluster) => reaches(own, cluster)),
        unknownClusters: unknown.filter((cluster) => reaches(own, cluster)),
        outOfReach: [...chosen, ...unknown].filter((cluster) => !reaches(own, cluster)).sort(compareText),
        ...(own === undefined ? {} : { rights: own }),
      });
    },
  });
}

function isSameRights(a: SourceRights | undefined, b: SourceRights | undefined): boolean {
  return a === b || jsonEquals(a as unknown as JsonValue, b as unknown as JsonValue);
}

/** A Placement document that the rights of its source refuse. Partition: its source. Key: the document's. */
export interface RefusedPlacement {
  readonly origin: Origin;
  readonly globs: GlobsByFolder;
  /** The clusters that it would select. */
  readonly clusters: readonly string[];
  readonly why: Hold;
}

/** Derives the Placements that are refused: what they have placed is not removed. */
export function deriveRefusedPlacements(
  graph: Graph,
  documents: Collection<DocumentValue>,
  clusters: Index<ClusterValue>,
): Derived<RefusedPlacement> {
  return graph.derive<DocumentValue, RefusedPlacement>({
    name: 'refusedPlacements',
    from: documents,
    reads: [clusters],
    compute: ({ partition, key, value: { content, refusal: why } }, read, emit) => {
      if (why === undefined || content.type !== 'declaration' || content.kind !== 'Placement') return;
      const { paths, clusters: choice } = content.value;
      const { clusters: chosen } = chooseClusters(choice, read, clusters);
      emit(partition, key, {
        origin: originOf({ partition, key }),
        globs: globsByFolder(paths),
        clusters: chosen,
        why,
      });
    },
  });
}
