import { folderOf, isChartName, type isToolFileName } from '../../manifest/tool-files.ts';
import type { DecodedFile } from '../../model/fleet/desired.ts';
import { compareText } from '../../model/text/json.ts';

/** The Helm charts and kustomizations of a tree. */
export interface ToolFolders {
  /** The files by which Helm and kustomize know them, decoded; without those in the folder of a chart. */
  readonly files: ReadonlyMap<string, DecodedFile>;
  /** All paths with the name of such a file. */
  readonly paths: readonly string[];
  /** Files and folders that belong to one of them; empty text is the complete tree. */
  readonly parts: ReadonlySet<string>;
}

export const noToolFolders: ToolFolders = { files: new Map(), paths: [], parts: new Set() };

/**
 * Reads the files by which Helm and kustomize know a folder: they decide which other files are manifests. The result does
 * not depend on the order of the paths.
 *
 * @param named by path: what `decode` needs of each file of the tree that has {@link isToolFileName}
 * @param decode undefined: the file is no manifest
 */
export async function readToolFolders<File>(
  named: ReadonlyMap<string, File>,
  decode: (file: File) => Promise<DecodedFile | undefined>,
): Promise<ToolFolders> {
  // A chart can lie in the folder of another one, so folders come before the folders in them.
  const paths = [...named.keys()].sort((a, b) => depthOf(a) - depthOf(b) || compareText(a, b));
  const charts = new Set<string>();
  const others = new Set<string>();
  const files = new Map<string, DecodedFile>();
  for (const path of [...paths.filter(isChartName), ...paths.filter((each) => !isChartName(each))]) {
    const wanted = named.get(path);
    if (wanted === undefined || isBelow(path, charts)) continue;
    const file = await decode(wanted);
    if (file === undefined) continue;
    files.set(path, file);
    for (const part of claimedBy(path, file)) (isChartName(path) ? charts : others).add(part);
  }
  return { files, paths, parts: charts.union(others) };
}

/**
 * The files and folders that belong to a chart or a kustomization. Without their names, because it cannot be parsed, no file beside it
 * is taken for a manifest.
 */
export function claimedBy(path: string, { parts, reading }: Pick<DecodedFile, 'parts' | 'reading'>): readonly string[] {
  return parts ?? (reading.readable ? [] : [folderOf(path)]);
}

/** Whether a file belongs to a chart or a kustomization, so that it is no manifest. */
export function isToolPart({ files, parts }: ToolFolders, path: string): boolean {
  return parts.size > 0 && !files.has(path) && (parts.has(path) || isBelow(path, parts));
}

/** Whether one of the folders contains the path. */
function isBelow(path: string, folders: ReadonlySet<string>): boolean {
  if (folders.size === 0) return false;
  for (let folder = folderOf(path); folder !== ''; folder = folderOf(folder)) if (folders.has(folder)) return true;
  return folders.has('');
}

function depthOf(path: string): number {
  return path.split('/').length;
}
