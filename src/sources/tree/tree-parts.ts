import { isForeign } from '../../manifest/foreign-documents.ts';
import type { DecodedFile, SourceDocument } from '../../model/fleet/desired.ts';
import { given } from '../../model/values/given.ts';
import type { TreePart, TreePartFile } from '../../ports/source.ts';
import { followsAll, IGNORE_FILE } from './ignore-file.ts';
import { readRules } from './judge-paths.ts';
import { type FilePlacement, placementsIn } from './placement-steps.ts';
import type { ReadTreeFile } from './tree-file.ts';
import { type Tree, type TreeNode, treeOf } from './tree-reader.ts';

const FILES_OF_PART = 1_000;

/** A tree in parts for another process, with only those documents that the reading of other files needs. */
export function* treeParts({ nodes, ignoreSteps, placementSteps, tools }: Tree): Generator<TreePart> {
  const whole = {
    ignoreSteps,
    placementTotal: placementSteps.total,
    toolFiles: [...tools.files.keys()],
    toolPaths: tools.paths,
    toolParts: tools.parts,
  };
  yield { whole, files: [] };
  let files: TreePartFile[] = [];
  for (const [path, { file, ...node }] of nodes) {
    const steps = placementSteps.ofPaths.get(path);
    files.push({
      path,
      ...node,
      ...given({ placementSteps: steps }),
      ...(file === undefined ? {} : { file: withNeededDocuments(file) }),
    });
    if (files.length < FILES_OF_PART) continue;
    yield { files };
    files = [];
  }
  yield { files };
}

/** A file of another tool keeps its documents: another verdict on it brings it into the changes as it is. */
function withNeededDocuments(file: DecodedFile): DecodedFile {
  const { reading } = file;
  return reading.readable && !file.diagnostics.some(isForeign)
    ? { ...file, reading: { ...reading, documents: reading.documents.filter(isNeededByOthers) } }
    : file;
}

/** Whether the verdict on other files depends on the document. */
function isNeededByOthers({ content }: SourceDocument): boolean {
  return content.type === 'declaration' && (content.kind === 'Placement' || content.kind === 'KubernetesCluster');
}

/** Makes a tree of its parts, on which changes can be read. Its ignore file is read again. */
export async function treeOfParts(parts: readonly TreePart[], read: ReadTreeFile): Promise<Tree> {
  const { ignoreSteps = 0, placementTotal = 0, toolFiles = [], toolPaths = [], toolParts } = parts[0]?.whole ?? {};
  const nodes = new Map<string, TreeNode>();
  const ofPaths = new Map<string, number>();
  const placements = new Map<string, readonly FilePlacement[]>();
  for (const { files } of parts) {
    for (const { path, placementSteps, ...node } of files) {
      nodes.set(path, node);
      if (placementSteps !== undefined) ofPaths.set(path, placementSteps);
      const found = node.file?.reading.readable === true ? placementsIn(node.file.reading.documents) : [];
      if (found.length > 0) placements.set(path, found);
    }
  }
  const ignore = nodes.get(IGNORE_FILE)?.entry;
  const membership = ignore === undefined ? followsAll : (await readRules(ignore, read)).membership;
  const files = new Map(toolFiles.flatMap((path) => filesAt(nodes, path)));
  const tools = { files, paths: toolPaths, parts: toolParts ?? new Set<string>() };
  const placementSteps = { placements, ofPaths, total: placementTotal };
  return treeOf({ nodes, membership, ignoreSteps, placementSteps, tools });
}

function filesAt(nodes: ReadonlyMap<string, TreeNode>, path: string): readonly (readonly [string, DecodedFile])[] {
  const file = nodes.get(path)?.file;
  return file === undefined ? [] : [[path, file]];
}
