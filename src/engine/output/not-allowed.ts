import { clusterFolder } from '../../model/fleet/cluster-folder.ts';
import type { Hold, LedgerEntry } from '../../model/fleet/ledger.ts';
import type { Origin } from '../../model/fleet/output.ts';
import { outOfReach, reaches, refusedNamespace, type SourceRights } from '../../model/fleet/source-rights.ts';
import { kindOf, type ObjectKey, objectRefOf } from '../../model/objects/object-key.ts';
import type { Collection, Graph, Index, Reader } from '../collections/types.ts';
import { type DocumentValue, declares, fileGroup, originOf } from '../fleet/sources.ts';
import type { FileValue } from '../inputs.ts';
import { type Assignment, maySelect, type PlacementIndexes, selectorsOf } from '../placement/assignments.ts';
import { selectFile } from '../placement/matching.ts';
import type { PlacementValue, RefusedPlacement } from '../placement/placements.ts';
import { possibleKeys } from '../placement/wants.ts';

/** Objects of a declaration that its source may not make. Partition: its source. */
export interface Barred {
  /** As `group/Kind`. */
  readonly kinds: readonly string[];
  /** Those in these clusters, and those computed from them. */
  readonly clusters: 'all' | readonly string[];
  readonly why: Hold;
}

/** What the rights of sources keep from the clusters. */
export interface RefusedReads {
  readonly rights: Collection<SourceRights>;
  readonly documentsByFile: Index<DocumentValue>;
  /** See {@link indexShared}. */
  readonly sharedByKey: Index<Assignment>;
  readonly files: Collection<FileValue>;
  readonly placementIndexes: PlacementIndexes;
  readonly placementsByFile: Index<PlacementValue>;
  readonly refusedPlacementsByFolder: Index<RefusedPlacement>;
  /** By the file of the declaration. */
  readonly barred: readonly Index<Barred>[];
}

/** An object of a cluster without a candidate. */
interface Unwanted {
  readonly cluster: string;
  readonly key: ObjectKey;
  readonly entry: LedgerEntry;
}

/**
 * Why nothing gives an object of a cluster any more: a source that gave it may not do so now. Undefined: the sources do not
 * give it, whatever they may do. Only rules of sources that the entry names count, so that no source keeps an object of another.
 */
export function whyNotAllowed(read: Reader, reads: RefusedReads, at: Unwanted): Hold | undefined {
  for (const origin of at.entry.origins) {
    const why = barredBy(read, reads, at, origin) ?? refusedDocument(read, reads, at, origin);
    if (why !== undefined) return why;
  }
  return undefined;
}

/** Whether an origin gives no object, and only a Placement: what is in other files of its source does not matter. */
export function onlyPlaces(
  read: Reader,
  { files, documentsByFile, placementsByFile }: RefusedReads,
  origin: Origin,
  key: ObjectKey,
): boolean {
  if (read.count(placementsByFile, fileGroup(origin)) === 0) return false;
  const file = read.get(files, origin.source, origin.path);
  const isRead = file?.readable !== false && file?.notRead === undefined;
  return isRead && declares(read, documentsByFile, origin, key).length === 0;
}

function barredBy(read: Reader, { barred }: RefusedReads, { cluster, key, entry }: Unwanted, origin: Origin) {
  const kind = kindOf(key);
  const all = barred.flatMap((index) => read.members(index, fileGroup(origin)));
  return all.find(
    ({ value: { kinds, clusters } }) =>
      kinds.includes(kind) &&
      (clusters === 'all' || clusters.includes(cluster) || entry.scope.some((of) => clusters.includes(of))),
  )?.value.why;
}

function refusedDocument(read: Reader, reads: RefusedReads, at: Unwanted, origin: Origin): Hold | undefined {
  const { key } = at;
  const documents = declares(read, reads.documentsByFile, origin, key);
  if (documents.length === 0) return undefined;
  const routes = routesOf(read, reads, at, origin);
  const own = read.get(reads.rights, '', origin.source);
  const ref = objectRefOf(key);
  const inNamespace = refusedNamespace(own, origin.source, ref, ref.namespace === '' ? 'Cluster' : 'Namespaced');
  const refusals = documents.map(({ refusal }) => refusal ?? inNamespace);
  if (refusals.every((refusal) => refusal !== undefined)) return routes.length > 0 ? refusals[0] : undefined;
  return routes.includes('allowed') ? undefined : routes.find((route) => route !== 'allowed');
}

/** The rules that would assign a file to the cluster, and why one must not. */
function routesOf(
  read: Reader,
  { rights, placementIndexes, refusedPlacementsByFolder }: RefusedReads,
  { cluster, entry }: Unwanted,
  { source, path }: Origin,
): readonly ('allowed' | Hold)[] {
  const isNamed = (by: string): boolean => by === source || entry.origins.some((origin) => origin.source === by);
  const isOut = (by: string): Hold => ({ reason: 'NotAllowed', message: outOfReach(by, cluster) });
  const inFolder = clusterFolder(path) === cluster;
  const ofFolder: 'allowed' | Hold = reaches(read.get(rights, '', source), cluster) ? 'allowed' : isOut(source);
  const concerns = ({ declared, clusters, outOfReach: far }: PlacementValue): boolean =>
    clusters.includes(cluster) || (far.includes(cluster) && isNamed(declared.origin.source));
  const file = { source, path };
  const named = [source, ...entry.origins.map((origin) => origin.source)];
  const { byFolder, shares } = placementIndexes;
  const sources = [...named, ...selectorsOf(source, placementIndexes, read)];
  const inForce = selectFile(file, { byFolder, shares, sources, look: read });
  const placements = inForce.selecting.flatMap(({ value }): readonly ('allowed' | Hold)[] => {
    if (!concerns(value)) return [];
    const by = value.declared.origin.source;
    const isChosen = value.clusters.includes(cluster);
    if (isChosen && maySelect(value, source)) return ['allowed'];
    const message = `source ${by} may not select files of source ${source} (allow.files of the source in the RelayConfig)`;
    return [isChosen ? { reason: 'NotAllowed', message } : isOut(by)];
  });
  const refused = selectFile(file, { byFolder: refusedPlacementsByFolder, shares, sources: named, look: read });
  const whys = refused.selecting.flatMap(({ value: { why, clusters } }) => (clusters.includes(cluster) ? [why] : []));
  const inDoubt = [...inForce.leftOut, ...refused.leftOut].map(
    (by): Hold => ({ reason: 'PlacementInDoubt', message: tooManySteps(by) }),
  );
  return [...(inFolder ? [ofFolder] : []), ...placements, ...whys, ...inDoubt];
}

/**
 * Why it is unknown whether a Placement of another source gives the object. Another document declares it now, maybe in another file than
 * before, and one of these holds of the path of that file: the Placements of the other source need too many steps for it, or one in a
 * file that cannot be read may select it. The document counts if its source declared the object, or if the source of such Placements
 * placed it. So no source keeps an object of another.
 */
export function whyMoved(
  read: Reader,
  { sharedByKey, placementIndexes }: RefusedReads,
  { cluster, key, entry }: Unwanted,
  {
    declaring,
    isDoubtful,
  }: {
    /** The origins of the entry and of its contenders. */
    readonly declaring: readonly Origin[];
    /** Whether a source may have more than what could be read. */
    readonly isDoubtful: (source: string) => boolean;
  },
): Hold | undefined {
  const [, ...others] = entry.origins;
  for (const { partition, value } of read.members(sharedByKey, key)) {
    const { leftOut = [], clusters } = value;
    const isOwn = declaring.some(({ source }) => source === partition);
    const placing = (by: readonly string[]): string | undefined =>
      isOwn ? by[0] : by.find((each) => others.some(({ source }) => source === each));
    const expensive = placing(leftOut);
    if (expensive !== undefined) return inDoubt(partition, tooManySteps(expensive));
    if (clusters.includes(cluster)) continue;
    const allowed = read.members(placementIndexes.allowed, partition).map(({ key: by }) => by);
    const doubtful = placing(allowed.filter(isDoubtful));
    if (doubtful === undefined) continue;
    return inDoubt(partition, `source ${doubtful}, which cannot be read whole, may hold the rule that places its file`);
  }
  return undefined;
}

function inDoubt(source: string, why: string): Hold {
  return { reason: 'PlacementInDoubt', message: `source ${source} declares it, and ${why}` };
}

function tooManySteps(by: string): string {
  return `the Placements of source ${by} need too many steps to match the path of its file`;
}

/** Indexes documents that other sources may select, by the keys that their objects may have in a cluster. */
export function indexShared(graph: Graph, assignments: Collection<Assignment>): Index<Assignment> {
  return graph.index('sharedByKey', assignments, ({ value: { ref } }) => (ref === undefined ? [] : possibleKeys(ref)));
}

/** Indexes what is barred by the file of its declaration. */
export function indexBarred(graph: Graph, barred: Collection<Barred>): Index<Barred> {
  return graph.index(`${barred.name}ByFile`, barred, (entry) => [fileGroup(originOf(entry))]);
}
