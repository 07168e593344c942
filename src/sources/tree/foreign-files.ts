import { isForeign } from '../../manifest/foreign-documents.ts';
import { FOREIGN_REASONS, isChartName } from '../../manifest/tool-files.ts';
import { clusterFolder, isInClusters } from '../../model/fleet/cluster-folder.ts';
import type { DecodedFile } from '../../model/fleet/desired.ts';
import { type Diagnostic, type FindingReason, sentenceOf } from '../../model/fleet/diagnostic.ts';
import { quote } from '../../model/fleet/ids.ts';
import { selfAndAncestors } from '../../model/text/glob.ts';
import { compareText } from '../../model/text/json.ts';
import type { Pace } from './pace.ts';
import type { FilePlacement } from './placement-steps.ts';
import { claimedBy, type ToolFolders } from './tool-folders.ts';

/** What of a tree says which files of other tools should be desired state. */
export interface Wanting {
  /** The Placements of the tree. */
  readonly placements: Iterable<readonly FilePlacement[]>;
  /** Whether the tree declares a KubernetesCluster or a Placement. */
  readonly isFleet: () => boolean;
  readonly tools: ToolFolders;
  /** The kustomizations and charts, what they claim, and the other files for other tools. */
  readonly paths: Iterable<string>;
  readonly pace: Pace;
}

/**
 * The verdicts on the files of other tools in a tree. Beside desired state they are no fault. They are one where desired state is
 * wanted of them: a Placement of the tree selects them, or a file that they claim, or they lie in `clusters/`.
 */
export interface ForeignVerdicts {
  /** The end of a sentence that says why desired state is wanted of the file; undefined: it is not. */
  wantedBecause(path: string, file: Pick<DecodedFile, 'diagnostics'>): string | undefined;
  /** What is said of a path that a kustomization or chart claims. */
  claimOf(path: string): Claim;
}

/** A kustomization or chart claims a file, so that it is not read. */
export interface Claim {
  /** The path of the kustomization or Chart.yaml. */
  readonly claimant: string;
  /** Desired state is wanted of the file. */
  readonly isWanted: boolean;
}

/** Why desired state is wanted of a path. */
interface WantedPath {
  readonly path: string;
  readonly why: string;
}

/**
 * Judges the files of other tools; the event loop may turn between two paths. Steps of matching count as they do for manifests.
 * The work grows with the number of paths and of claims, not with their product.
 */
export async function judgeForeign(wanting: Wanting): Promise<ForeignVerdicts> {
  const { isFleet, tools, paths, pace } = wanting;
  const selecting = selectorOf([...wanting.placements].flat(), pace.count);
  const claims = await claimsOf(tools, pace);
  const isOfFleet = lazily(isFleet);
  const placed = new Map<string, WantedPath>();
  /** By the claimed files and folders: the first path in them that is placed. */
  const placedParts = new Map<string, WantedPath>();
  // In canonical order, so that every reader of the tree names the same path.
  for (const path of [...paths].sort(compareText)) {
    pace.path();
    if (pace.isDue()) await pace.turn();
    const placement = selecting(path);
    const isInCluster = placement === undefined && clusterFolder(path) !== undefined && isOfFleet();
    if (placement === undefined && !isInCluster) continue;
    const why = isInCluster ? inClusters(path) : `Placement ${placement} selects ${quote(path)}`;
    const wanted = { path, why };
    placed.set(path, wanted);
    if (tools.files.has(path)) continue;
    for (const part of selfAndAncestors(path)) {
      if (claims.has(part) && !placedParts.has(part)) placedParts.set(part, wanted);
    }
  }
  const firstOf = (owner: string): WantedPath | undefined => {
    const file = tools.files.get(owner);
    const parts = file === undefined ? [] : claimedBy(owner, file);
    pace.count(parts.length);
    let first = placed.get(owner);
    for (const part of parts) {
      const found = placedParts.get(part);
      if (found !== undefined && (first === undefined || compareText(found.path, first.path) < 0)) first = found;
    }
    return first;
  };
  return {
    wantedBecause: (path, { diagnostics }) => {
      const has = (...reasons: readonly FindingReason[]): boolean =>
        diagnostics.some(({ reason }) => reasons.includes(reason));
      if (has('HelmChart', 'Kustomization')) return firstOf(path)?.why;
      return placed.get(path)?.why ?? (has('NoManifest') && isInClusters(path) ? inClusters(path) : undefined);
    },
    claimOf: (path) => {
      const part = selfAndAncestors(path).find((each) => claims.has(each));
      return { claimant: (part !== undefined && claims.get(part)) || '', isWanted: placed.has(path) };
    },
  };
}

function lazily(find: () => boolean): () => boolean {
  let found: boolean | undefined;
  return () => {
    found ??= find();
    return found;
  };
}

function inClusters(path: string): string {
  return `${quote(path)} lies under clusters/`;
}

/** Returns a function that finds the first Placement that selects a path. */
function selectorOf(
  placements: readonly FilePlacement[],
  count: (steps: number) => void,
): (path: string) => string | undefined {
  const all = placements.flatMap(({ name, globs }) => globs.map((glob) => ({ name, glob })));
  const byFolder = Map.groupBy(all, ({ glob }) => glob.base);
  if (byFolder.size === 0) return () => undefined;
  return (path) => {
    for (const folder of selfAndAncestors(path)) {
      const found = byFolder.get(folder)?.find(({ glob }) => glob.matchWith(path, count));
      if (found !== undefined) return found.name;
    }
    return undefined;
  };
}

/** The first kustomization or chart, in canonical order, that claims a file or folder. */
async function claimsOf({ files }: ToolFolders, pace: Pace): Promise<ReadonlyMap<string, string>> {
  const claims = new Map<string, string>();
  for (const [path, file] of [...files].sort(([a], [b]) => compareText(a, b))) {
    pace.path();
    if (pace.isDue()) await pace.turn();
    const parts = claimedBy(path, file);
    pace.count(parts.length);
    for (const part of parts) if (!claims.has(part)) claims.set(part, path);
  }
  return claims;
}

/** A file of another tool that is wanted as desired state: its findings are errors, and it is unreadable. */
export function asUnreadable(file: DecodedFile, because: string): DecodedFile {
  const diagnostics = file.diagnostics.map((diagnostic) => asError(diagnostic, because));
  const { blob } = file.reading;
  const notRead = diagnostics.find(({ reason }) => FOREIGN_REASONS.includes(reason))?.message ?? because;
  return { ...file, reading: { readable: false, blob, findings: diagnostics.map(sentenceOf), notRead }, diagnostics };
}

/** The finding as it is where desired state is wanted of its file. */
export function asError(diagnostic: Diagnostic, because: string): Diagnostic {
  if (!isForeign(diagnostic)) return diagnostic;
  return {
    ...diagnostic,
    severity: 'error',
    message: `${diagnostic.message}, which is an error here because ${because}`,
  };
}

/** A file that a kustomization or chart claims, so that it is not read. */
export function claimedFile(blob: string, { claimant, isWanted }: Claim): DecodedFile {
  // All files of one claimant share the text.
  const why = `${claimant} claims the file, and fleetrelay renders no ${isChartName(claimant) ? 'charts' : 'kustomizations'}`;
  return {
    reading: isWanted
      ? { readable: false, blob, findings: [why], notRead: why }
      : { readable: true, blob, findings: [], documents: [], notRead: why },
    size: { documents: 0, nodes: 0, expandedBytes: 0 },
    diagnostics: [],
  };
}
