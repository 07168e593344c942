import { isForeign } from '../../manifest/foreign-documents.ts';
import { FOREIGN_REASONS, folderOf } from '../../manifest/tool-files.ts';
import type { DecodedFile } from '../../model/desired.ts';
import { type Diagnostic, sentenceOf } from '../../model/diagnostic.ts';
import { type Glob, selfAndAncestors } from '../../model/glob.ts';
import { quote } from '../../model/ids.ts';
import { compareText } from '../../model/json.ts';
import type { Pace } from './pace.ts';
import type { FilePlacement } from './placement-steps.ts';
import { isToolPart, type ToolFolders } from './tool-folders.ts';

/** What of a tree says which files of other tools should be desired state. */
export interface Wanting {
  /** The Placements of the tree. */
  readonly placements: Iterable<readonly FilePlacement[]>;
  /** Whether the tree declares a KubernetesCluster or a Placement. */
  readonly isFleet: () => boolean;
  readonly tools: ToolFolders;
  /** The kustomizations and charts, what they claim, and the other files for other tools. */
  readonly paths: Iterable<string>;
  /** Whether the last admitted revision had a document in the file. */
  readonly hadDocuments: (path: string) => boolean;
  readonly pace: Pace;
}

/**
 * The verdicts on the files of other tools in a tree. Beside desired state they are no fault. They are one where desired state is
 * wanted of them: a Placement selects them, or a file that they claim, or they lie under `clusters/`.
 */
export interface ForeignVerdicts {
  /** The end of a sentence that says why desired state is wanted of the file; undefined: it is not. */
  wantedBecause(path: string, file: Pick<DecodedFile, 'diagnostics'>): string | undefined;
  /** The kustomization or chart that claims the path; undefined: none. */
  claimant(path: string): string | undefined;
  /** Whether desired state is wanted of a claimed path. */
  isClaimWanted(path: string): boolean;
}

/** Judges the files of other tools; the event loop may turn between two paths. Their steps of matching count as those of manifests. */
export async function judgeForeign(wanting: Wanting): Promise<ForeignVerdicts> {
  const { isFleet, tools, paths, hadDocuments, pace } = wanting;
  const selecting = selectorOf([...wanting.placements].flat(), pace.count);
  const claims = claimsOf(tools);
  const isOfFleet = lazily(isFleet);
  /** Why files are placed, by path. */
  const placed = new Map<string, string>();
  /** Why desired state is wanted of the files of a kustomization or chart, by its path. */
  const wantedOf = new Map<string, string>();
  // In canonical order, so that every reader of the tree names the same path.
  for (const path of [...paths].sort(compareText)) {
    pace.path();
    if (pace.isDue()) await pace.turn();
    const placement = selecting(path);
    const isInCluster = placement === undefined && isUnderClusters(path) && isOfFleet();
    if (placement === undefined && !isInCluster) continue;
    const why = isInCluster ? underClusters(path) : `Placement ${placement} selects ${quote(path)}`;
    placed.set(path, why);
    for (const owner of tools.files.has(path) ? [path] : claimantsOf(claims, path)) {
      if (!wantedOf.has(owner)) wantedOf.set(owner, why);
    }
  }
  return {
    wantedBecause: (path, { diagnostics }) => {
      if (diagnostics.some(({ reason }) => reason === 'HelmChart' || reason === 'Kustomization')) {
        return wantedOf.get(path) ?? placed.get(path);
      }
      const why = placed.get(path) ?? (isUnderClusters(path) ? underClusters(path) : undefined);
      return why ?? (hadDocuments(path) ? HAD_DOCUMENTS : undefined);
    },
    claimant: (path) => (isToolPart(tools, path) ? claimantsOf(claims, path)[0] : undefined),
    isClaimWanted: (path) => placed.has(path),
  };
}

function lazily(find: () => boolean): () => boolean {
  let found: boolean | undefined;
  return () => {
    found ??= find();
    return found;
  };
}

function underClusters(path: string): string {
  return `${quote(path)} lies under clusters/`;
}

const HAD_DOCUMENTS = 'the last admitted revision had a manifest in it';

function isUnderClusters(path: string): boolean {
  return /^clusters\/[^/]+\/./.test(path);
}

/** Returns a function that finds the first Placement that selects a path. */
function selectorOf(
  placements: readonly FilePlacement[],
  count: (steps: number) => void,
): (path: string) => string | undefined {
  const byFolder = new Map<string, { readonly name: string; readonly glob: Glob }[]>();
  for (const { name, globs } of placements) {
    for (const glob of globs) byFolder.set(glob.base, [...(byFolder.get(glob.base) ?? []), { name, glob }]);
  }
  if (byFolder.size === 0) return () => undefined;
  return (path) => {
    for (const folder of selfAndAncestors(path)) {
      const found = byFolder.get(folder)?.find(({ glob }) => glob.matchWith(path, count));
      if (found !== undefined) return found.name;
    }
    return undefined;
  };
}

/** The kustomizations and charts by the files and folders that they claim, in canonical order. */
type Claims = ReadonlyMap<string, readonly string[]>;

function claimsOf({ files }: ToolFolders): Claims {
  const claims = new Map<string, string[]>();
  for (const path of [...files.keys()].sort(compareText)) {
    const { parts, reading } = files.get(path) as DecodedFile;
    for (const part of parts ?? (reading.readable ? [] : [folderOf(path)])) {
      claims.set(part, [...(claims.get(part) ?? []), path]);
    }
  }
  return claims;
}

/** The nearest claims of a path and of its folders. */
function claimantsOf(claims: Claims, path: string): readonly string[] {
  const found = [...(claims.get(path) ?? [])];
  for (let folder = folderOf(path); ; folder = folderOf(folder)) {
    found.push(...(claims.get(folder) ?? []));
    if (folder === '') return [...new Set(found)].filter((owner) => owner !== path);
  }
}

/** A file of another tool, of which desired state is wanted: its findings are errors, and it is unreadable. */
export function asUnreadable(file: DecodedFile, because: string): DecodedFile {
  const diagnostics = file.diagnostics.map((diagnostic) => asError(diagnostic, because));
  const { blob } = file.reading;
  const notRead = diagnostics.find(({ reason }) => FOREIGN_REASONS.includes(reason))?.message ?? because;
  return { ...file, reading: { readable: false, blob, findings: diagnostics.map(sentenceOf), notRead }, diagnostics };
}

/** The finding as it is where desired state is wanted of its file. */
export function asError(diagnostic: Diagnostic, because: string): Diagnostic {
  if (!isForeign(diagnostic)) return diagnostic;
  return { ...diagnostic, severity: 'error', message: `${diagnostic.message}, and ${because}` };
}

/** A file that a kustomization or chart claims, so that it is not read. `isWanted`: desired state is wanted of it. */
export function claimedFile(path: string, blob: string, claimant: string, isWanted: boolean): DecodedFile {
  const why = `${claimant} claims the file ${quote(path)}, and what it renders to is not read`;
  return {
    reading: isWanted
      ? { readable: false, blob, findings: [why], notRead: why }
      : { readable: true, blob, findings: [], documents: [], notRead: why },
    size: { documents: 0, nodes: 0, expandedBytes: 0 },
    diagnostics: [],
  };
}
