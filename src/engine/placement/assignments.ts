import { clusterFolder } from '../../model/fleet/cluster-folder.ts';
import type { DriftMode } from '../../model/fleet/drift.ts';
import type { SourceName } from '../../model/fleet/ids.ts';
import type { Origin } from '../../model/fleet/output.ts';
import { reaches, refusedObject, type SourceRights, selectsFilesOf } from '../../model/fleet/source-rights.ts';
import type { ObjectRef } from '../../model/objects/object-key.ts';
import { compareText, ownMember } from '../../model/text/json.ts';
import type { Collection, Derived, Entry, Graph, Index, Reader } from '../collections/types.ts';
import { type ClusterValue, clusterGroup } from '../fleet/clusters.ts';
import { documentKey } from '../fleet/sources.ts';
import type { FileValue } from '../inputs.ts';
import { fromOutside, indexByFolder, type Look, type Selection, selectFile, shareOfPath } from './matching.ts';
import type { PlacementValue } from './placements.ts';

/** The clusters of a document. Same address as the document. */
export interface Assignment {
  /** Registered clusters, in canonical order. */
  readonly clusters: readonly string[];
  /** By cluster: the Placement of another source that alone assigns the document to it, by rights of that source. */
  readonly placedBy?: Readonly<Record<string, Origin>>;
  /** By cluster: what the Placements that assign the document to it say of drift. Absent: none says anything. */
  readonly driftModes?: Readonly<Record<string, DriftMode>>;
  /** The document lies under `clusters/NAME/`, and its source may not reach that cluster. */
  readonly outOfReach?: string;
  /** The document lies under `clusters/NAME/`, which its source may reach, and no KubernetesCluster has that name. */
  readonly unknownCluster?: string;
  /** Sources whose Placements need too many steps to match its path, and so do not place it; in canonical order. */
  readonly leftOut?: readonly string[];
  /** The object that the document declares, if other sources may select it; its namespace may be a default. */
  readonly ref?: ObjectRef;
}

/** By what the Placements of a file are found. */
export interface PlacementIndexes {
  /** See {@link indexByFolder}. */
  readonly byFolder: Index<PlacementValue>;
  /** Sources that have Placements, by the sources whose files these may select. */
  readonly selectors: Index<SelectedSources>;
  /** Sources by the other sources whose files their Placements may select, if they have any. */
  readonly allowed: Index<SourceRights>;
  /** By source: the most steps of matching one of its files with the Placements of each other source ({@link shareOfPath}). */
  readonly shares: Collection<number>;
}

/** The other sources whose files the Placements of a source may select. */
type SelectedSources = readonly string[] | 'all';

/** In {@link PlacementIndexes.selectors}: sources whose Placements may select files of every source. */
const EVERY = '';

/** Declares the indexes of Placements. A Placement that may not select a file costs nothing when the file is matched. */
export function indexPlacements(
  graph: Graph,
  placements: Collection<PlacementValue>,
  rights: Collection<SourceRights>,
  files: Collection<FileValue>,
): PlacementIndexes {
  const bySource = graph.index('placementsBySource', placements, ({ value }) => [value.declared.origin.source]);
  const selecting = graph.derive<number, SelectedSources>({
    name: 'selectingSources',
    from: graph.counts('placementsOfSources', bySource),
    reads: [rights],
    compute: ({ key: source }, read, emit) => emit('', source, read.get(rights, '', source)?.files ?? 'all'),
  });
  const selectors = graph.index<SelectedSources>('selectorsOfSources', selecting, ({ key, value }) =>
    value === 'all' ? [EVERY] : new Set([key, ...value]),
  );
  const allowed = graph.index(
    'sourcesByAllowedFiles',
    rights,
    ({ key: by, value: { files: sources } }) => new Set(sources.filter((source) => source !== by)),
  );
  const withDocuments = graph.index('filesWithDocuments', files, ({ partition, value }) =>
    value.readable && value.documents.length > 0 ? [partition] : [],
  );
  const shares = graph.derive<number, number>({
    name: 'sharesOfPaths',
    from: graph.counts('filesOfSources', withDocuments),
    reads: [allowed],
    compute: ({ key: source, value: count }, read, emit) =>
      emit('', source, shareOfPath(count, read.count(allowed, source))),
  });
  return { byFolder: indexByFolder(graph, placements), selectors, allowed, shares };
}

/** The sources whose Placements may select files of a source. */
export function selectorsOf(
  source: string,
  { selectors }: PlacementIndexes,
  look: Pick<Reader, 'members'> = fromOutside,
): readonly string[] {
  return [EVERY, source].flatMap((group) => look.members(selectors, group).map(({ key }) => key));
}

/** The sources that have Placements. */
export function placingSources({ selectors }: PlacementIndexes): readonly string[] {
  return [...selectors.groups()].flatMap((group) => selectors.members(group).map(({ key }) => key));
}

/** The Placements that select a file and may do so. */
export function placementsOf(
  file: Origin,
  indexes: PlacementIndexes,
  look: Look = fromOutside,
): Selection<PlacementValue> {
  const { byFolder, shares } = indexes;
  return selectFile(file, { byFolder, shares, sources: selectorsOf(file.source, indexes, look), look });
}

interface AssignmentInputs {
  readonly files: Collection<FileValue>;
  readonly placementIndexes: PlacementIndexes;
  readonly clusterIndex: Index<ClusterValue>;
  readonly rights: Collection<SourceRights>;
}

/**
 * Assigns each document with an object for clusters to its clusters. They follow from its path, so a file is matched once for all
 * its documents.
 */
export function deriveAssignments(graph: Graph, inputs: AssignmentInputs): Derived<Assignment> {
  const { files, placementIndexes, clusterIndex, rights } = inputs;
  return graph.derive<FileValue, Assignment>({
    name: 'assignments',
    from: files,
    reads: [...Object.values(placementIndexes), clusterIndex, rights],
    compute: ({ partition, key: path, value: file }, read, emit) => {
      if (!file.readable) return;
      const own = read.get(rights, '', partition);
      const placed = file.documents.flatMap(({ identity, content }) =>
        content.type === 'object' && refusedObject(own, partition, content.ref) === undefined
          ? [{ identity, ref: content.ref }]
          : [],
      );
      if (placed.length === 0) return;
      const assignment = assignmentOf({ source: partition as SourceName, path }, inputs, read);
      const isShared = read.count(placementIndexes.allowed, partition) > 0;
      for (const { identity, ref } of placed) {
        emit(partition, documentKey(path, identity), isShared ? { ...assignment, ref } : assignment);
      }
    },
  });
}

function assignmentOf(file: Origin, { placementIndexes, clusterIndex, rights }: AssignmentInputs, read: Reader) {
  const { source, path } = file;
  const { selecting, leftOut } = placementsOf(file, placementIndexes, read);
  const [own, foreign] = [selecting.filter(isOf(source)), selecting.filter((entry) => !isOf(source)(entry))];
  const targets = new Set(own.flatMap(({ value }) => value.clusters));
  const folder = clusterFolder(path);
  const isOut = folder !== undefined && !reaches(read.get(rights, '', source), folder);
  const isUnknown =
    folder !== undefined && !isOut && read.members(clusterIndex, clusterGroup.name(folder)).length === 0;
  if (folder !== undefined && !isUnknown && !isOut) targets.add(folder);
  const placedBy = Object.fromEntries(
    foreign
      .flatMap(({ value }) => value.clusters.map((cluster) => [cluster, value.declared.origin] as const))
      .filter(([cluster]) => !targets.has(cluster))
      .toReversed(),
  );
  const driftModes = driftModesOf(own, foreign, placedBy);
  return {
    clusters: [...targets, ...Object.keys(placedBy)].sort(compareText),
    ...(Object.keys(placedBy).length === 0 ? {} : { placedBy }),
    ...(driftModes === undefined ? {} : { driftModes }),
    ...(isOut ? { outOfReach: folder } : isUnknown ? { unknownCluster: folder } : {}),
    ...(leftOut.length === 0 ? {} : { leftOut }),
  };
}

/**
 * What the Placements of a document say of drift, by cluster. The one that leaves what others have done wins. Placements of other
 * sources count only where they alone assign the document.
 */
function driftModesOf(
  own: readonly Entry<PlacementValue>[],
  foreign: readonly Entry<PlacementValue>[],
  placedBy: Readonly<Record<string, Origin>>,
): Assignment['driftModes'] {
  const modes: Record<string, DriftMode> = {};
  const take = ({ value: { declared, clusters } }: Entry<PlacementValue>, isAlone: boolean): void => {
    const { driftMode } = declared.value;
    if (driftMode === undefined) return;
    for (const cluster of clusters) {
      if (isAlone && !Object.hasOwn(placedBy, cluster)) continue;
      if (ownMember(modes, cluster) !== 'Report') modes[cluster] = driftMode;
    }
  };
  for (const placement of own) take(placement, false);
  for (const placement of foreign) take(placement, true);
  return Object.keys(modes).length === 0 ? undefined : modes;
}

/** Whether a Placement may select files of a source. */
export function maySelect({ declared, rights }: PlacementValue, source: string): boolean {
  return selectsFilesOf(rights, declared.origin.source, source);
}

/** Whether the Placement may select files of this source without `allow.files` of the RelayConfig. */
function isOf(source: string): (placement: Entry<PlacementValue>) => boolean {
  return ({ value: { declared, rights } }) => rights === undefined || declared.origin.source === source;
}

/** A rule by which a document is assigned to a cluster. */
export type Route =
  | { readonly type: 'folder'; readonly cluster: string }
  | { readonly type: 'placement'; readonly name: string };

/** All rules by which a document of this file is assigned to a cluster; for explanations. */
export function routesTo(cluster: string, file: Origin, indexes: PlacementIndexes): readonly Route[] {
  const byPlacement = placementsOf(file, indexes).selecting.flatMap(({ key: name, value }): readonly Route[] =>
    value.clusters.includes(cluster) ? [{ type: 'placement', name }] : [],
  );
  return [...(clusterFolder(file.path) === cluster ? [{ type: 'folder', cluster } as const] : []), ...byPlacement];
}
