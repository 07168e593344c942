import { clusterFolder } from '../../model/cluster-folder.ts';
import { compileGlob, type Glob, selfAndAncestors } from '../../model/glob.ts';
import { compareText, isSameList, type JsonValue, jsonEquals } from '../../model/json.ts';
import type { Hold } from '../../model/ledger.ts';
import type { Origin } from '../../model/output.ts';
import { reaches, type SourceRights, selectsFilesOf } from '../../model/source-rights.ts';
import type { Collection, Derived, Entry, Graph, Index, Reader } from '../collections/types.ts';
import { type ClusterValue, chooseClusters, clusterGroup } from '../fleet/clusters.ts';
import { type Declarations, type Declared, declaredOf } from '../fleet/declared.ts';
import { type DocumentValue, originOf } from '../fleet/sources.ts';

/** A Placement with the clusters that it selects. Partition empty, key its name. */
export interface PlacementValue {
  readonly declared: Declared<'Placement'>;
  readonly globs: readonly Glob[];
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
        ...{ declared, globs: paths.map(compileGlob), selectsNone },
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

/** Indexes Placements by the base folders of their globs, so that a path is matched only against some of them. */
export function indexPlacements<Value extends Pick<PlacementValue, 'globs'>>(
  graph: Graph,
  placements: Collection<Value>,
): Index<Value> {
  return graph.index(`${placements.name}ByFolder`, placements, ({ value }) => value.globs.map((glob) => glob.base));
}

/** How Placements are looked for. */
interface Looking<Value> {
  /** Inside a computation its reader. */
  readonly look?: Pick<Reader, 'members'>;
  /** Which Placements are wanted: the globs of others are not matched. Absent: all. */
  readonly may?: (value: Value) => boolean;
  /** Receives the work of matching the globs of a Placement, before it is done. */
  readonly count?: (steps: number, value: Value) => void;
}

/** The Placements whose globs match a path, each once. Only the globs whose folder contains the path are matched. */
export function placementsOf<Value extends Pick<PlacementValue, 'globs'>>(
  path: string,
  placements: Index<Value>,
  { look = { members: (index, group) => index.members(group) }, may = () => true, count }: Looking<Value> = {},
): readonly Entry<Value>[] {
  const found = new Map<Value, Entry<Value>>();
  for (const folder of selfAndAncestors(path)) {
    for (const entry of look.members(placements, folder)) {
      const { value } = entry;
      if (found.has(value) || !may(value)) continue;
      const counted = (steps: number): void => count?.(steps, value);
      if (value.globs.some((glob) => glob.base === folder && glob.matchWith(path, counted))) found.set(value, entry);
    }
  }
  return [...found.values()];
}

/** A Placement document that the rights of its source refuse. Partition: its source. Key: as of the document. */
export interface RefusedPlacement {
  readonly origin: Origin;
  readonly globs: readonly Glob[];
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
        ...{ origin: originOf({ partition, key }), globs: paths.map(compileGlob), clusters: chosen, why },
      });
    },
  });
}

/** The clusters of a document. Same address as the document. */
export interface Assignment {
  /** Registered clusters, in canonical order. */
  readonly clusters: readonly string[];
  /** By cluster: the Placement of another source that alone assigns the document to it, by rights of that source. */
  readonly placedBy?: Readonly<Record<string, Origin>>;
  /** The document lies under `clusters/NAME/`, and its source may not reach that cluster. */
  readonly outOfReach?: string;
  /** The document lies under `clusters/NAME/`, which its source may reach, and no KubernetesCluster has that name. */
  readonly unknownCluster?: string;
}

/** Assigns each document with an object for clusters to its clusters. */
export function deriveAssignments(
  graph: Graph,
  documents: Collection<DocumentValue>,
  placements: Index<PlacementValue>,
  clusters: Index<ClusterValue>,
  rights: Collection<SourceRights>,
): Derived<Assignment> {
  return graph.derive<DocumentValue, Assignment>({
    name: 'assignments',
    from: documents,
    reads: [placements, clusters, rights],
    compute: ({ partition, key, value: { path, content, refusal } }, read, emit) => {
      if (content.type !== 'object' || refusal !== undefined) return;
      const placing = placementsOf(path, placements, {
        look: read,
        may: (value) => maySelect(value, partition),
        count: limitedSteps(partition),
      });
      const [own, foreign] = [placing.filter(isOf(partition)), placing.filter((entry) => !isOf(partition)(entry))];
      const targets = new Set(own.flatMap(({ value }) => value.clusters));
      const folder = clusterFolder(path);
      const isOut = folder !== undefined && !reaches(read.get(rights, '', partition), folder);
      const isUnknown =
        folder !== undefined && !isOut && read.members(clusters, clusterGroup.name(folder)).length === 0;
      if (folder !== undefined && !isUnknown && !isOut) targets.add(folder);
      const placedBy = Object.fromEntries(
        foreign
          .flatMap(({ value }) => value.clusters.map((cluster) => [cluster, value.declared.origin] as const))
          .filter(([cluster]) => !targets.has(cluster))
          .toReversed(),
      );
      emit(partition, key, {
        clusters: [...targets, ...Object.keys(placedBy)].sort(compareText),
        ...(Object.keys(placedBy).length === 0 ? {} : { placedBy }),
        ...(isOut ? { outOfReach: folder } : isUnknown ? { unknownCluster: folder } : {}),
      });
    },
  });
}

/**
 * The steps of matching one path with the Placements of other sources. The revision of its own source bounds those of its own
 * Placements; what other sources select of it is bounded here, for one path and so for all files that it may have.
 */
const MOST_FOREIGN_STEPS = 100_000;

/** Counts the steps of the Placements of other sources. Throws above the limit: where the document goes is then not known. */
function limitedSteps(source: string): (steps: number, value: PlacementValue) => void {
  let left = MOST_FOREIGN_STEPS;
  return (steps, { declared }) => {
    if (declared.origin.source === source) return;
    left -= steps;
    if (left >= 0) return;
    const what = `Placement ${declared.name} of source ${declared.origin.source}`;
    throw new Error(
      `its path needs more than ${MOST_FOREIGN_STEPS} steps to match the Placements of other sources, the last of them ${what}: give it a shorter path, or the Placements fewer wildcards`,
    );
  };
}

/** Whether a Placement may select files of a source. */
export function maySelect({ declared, rights }: PlacementValue, source: string): boolean {
  return selectsFilesOf(rights, declared.origin.source, source);
}

/** Whether no rights can be taken away by which the Placement selects files of this source. */
function isOf(source: string): (placement: Entry<PlacementValue>) => boolean {
  return ({ value: { declared, rights } }) => rights === undefined || declared.origin.source === source;
}

/** A rule by which a document is assigned to a cluster. */
export type Route =
  | { readonly type: 'folder'; readonly cluster: string }
  | { readonly type: 'placement'; readonly name: string };

/** All rules by which a document of this file is assigned to a cluster; for explanations. */
export function routesTo(
  cluster: string,
  { source, path }: Origin,
  placements: Index<PlacementValue>,
): readonly Route[] {
  const may = (value: PlacementValue): boolean => value.clusters.includes(cluster) && maySelect(value, source);
  const byPlacement = placementsOf(path, placements, { may }).map(
    ({ key: name }): Route => ({ type: 'placement', name }),
  );
  return [...(clusterFolder(path) === cluster ? [{ type: 'folder', cluster } as const] : []), ...byPlacement];
}
