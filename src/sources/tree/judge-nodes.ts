import { isForeign } from '../../manifest/foreign-documents.ts';
import type { DecodedFile, SourceDocument } from '../../model/fleet/desired.ts';
import type { TreeEntry } from '../../ports/git-repo.ts';
import { asUnreadable, type Claim, claimedFile, judgeForeign } from './foreign-files.ts';
import type { Pace } from './pace.ts';
import type { PlacementSteps } from './placement-steps.ts';
import type { ToolFolders } from './tool-folders.ts';

/** A node of a tree, with the verdict on it if it is a file of another tool, or claimed by one. */
interface JudgedNode {
  readonly entry: TreeEntry;
  readonly file?: DecodedFile;
  readonly claim?: Claim;
  readonly because?: string;
}

/** The file of a node as it is judged in its tree; undefined: it is none of the source. */
export function judgedFile({ entry, file, claim, because }: JudgedNode): DecodedFile | undefined {
  if (claim !== undefined) return claimedFile(entry.blob, claim);
  return file === undefined || because === undefined ? file : asUnreadable(file, because);
}

/** All files of a tree as they are judged, by path. */
export function judgedFiles(nodes: ReadonlyMap<string, JudgedNode>): ReadonlyMap<string, DecodedFile> {
  const files = new Map<string, DecodedFile>();
  for (const [path, node] of nodes) {
    const file = judgedFile(node);
    if (file !== undefined) files.set(path, file);
  }
  return files;
}

/** Whether both nodes have the same file with the same verdict. */
export function isSameFile(a: JudgedNode | undefined, b: JudgedNode | undefined): boolean {
  return (
    a?.file === b?.file &&
    a?.because === b?.because &&
    a?.claim?.claimant === b?.claim?.claimant &&
    a?.claim?.isWanted === b?.claim?.isWanted &&
    (a?.claim === undefined || a.entry.blob === b?.entry.blob)
  );
}

/** A tree whose files are decoded. */
interface ToJudge {
  readonly nodes: Map<string, JudgedNode>;
  readonly tools: ToolFolders;
  readonly pace: Pace;
}

/**
 * Judges the files of other tools and what such tools claim, and puts the verdicts into the nodes. Returns the paths whose verdict is
 * another one than their node had.
 */
export async function judgeNodes(
  { nodes, tools, pace }: ToJudge,
  placements: PlacementSteps['placements'],
): Promise<ReadonlySet<string>> {
  const foreign = [...nodes].filter(([, { file, claim }]) => claim !== undefined || file?.diagnostics.some(isForeign));
  const differing = new Set<string>();
  if (foreign.length === 0) return differing;
  const paths = foreign.map(([path]) => path);
  const isFleet = (): boolean => placements.size > 0 || hasCluster(nodes);
  const verdicts = await judgeForeign({ placements: placements.values(), isFleet, tools, paths, pace });
  for (const [path, node] of foreign) {
    pace.path();
    if (pace.isDue()) await pace.turn();
    const { because: _before, ...rest } = node;
    const because = node.file === undefined ? undefined : verdicts.wantedBecause(path, node.file);
    const judged: JudgedNode = {
      ...rest,
      ...(node.claim !== undefined && { claim: verdicts.claimOf(path) }),
      ...(because !== undefined && { because }),
    };
    if (isSameFile(node, judged)) continue;
    nodes.set(path, judged);
    differing.add(path);
  }
  return differing;
}

function hasCluster(nodes: ReadonlyMap<string, JudgedNode>): boolean {
  return nodes
    .values()
    .some(({ file }) => file?.reading.readable === true && file.reading.documents.some(isClusterDeclaration));
}

function isClusterDeclaration({ content }: SourceDocument): boolean {
  return content.type === 'declaration' && content.kind === 'KubernetesCluster';
}
