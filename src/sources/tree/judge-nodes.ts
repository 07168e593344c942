import { isForeign } from '../../manifest/foreign-documents.ts';
import type { DecodedFile, SourceDocument } from '../../model/desired.ts';
import { type JsonValue, jsonEquals } from '../../model/json.ts';
import type { TreeEntry } from '../../ports/git-repo.ts';
import { asUnreadable, claimedFile, type ForeignVerdicts, judgeForeign } from './foreign-files.ts';
import type { Pace } from './pace.ts';
import type { PlacementSteps } from './placement-steps.ts';
import type { ToolFolders } from './tool-folders.ts';

/** The part of a node of a tree that matters here. */
interface JudgedNode {
  readonly entry: TreeEntry;
  readonly file?: DecodedFile;
  readonly isClaimed?: true;
  readonly asDecoded?: DecodedFile;
  readonly hadDocuments?: true;
}

/** Whether the last admitted revision had documents in a file, by its node in the tree before. */
export function hadDocuments(node: JudgedNode | undefined): Pick<JudgedNode, 'hadDocuments'> {
  const { file, asDecoded, hadDocuments } = node ?? {};
  if (file === undefined) return {};
  const { reading } = asDecoded ?? file;
  const isKnown = reading.readable && reading.notRead === undefined;
  return (isKnown ? reading.documents.length > 0 : hadDocuments) ? { hadDocuments: true } : {};
}

/** A tree whose files are decoded. */
interface ToJudge {
  /** The nodes of the tree before it. */
  readonly before: ReadonlyMap<string, JudgedNode>;
  readonly nodes: Map<string, JudgedNode>;
  readonly tools: ToolFolders;
  readonly pace: Pace;
}

/** Judges the files of other tools, and puts them into the nodes as they are judged. Returns the paths whose file differs by that. */
export async function judgeNodes(
  { before, nodes, tools, pace }: ToJudge,
  placements: PlacementSteps['placements'],
): Promise<ReadonlySet<string>> {
  const foreign = [...nodes].filter(
    ([, { file, isClaimed, asDecoded }]) => isClaimed || isOfOtherTool(asDecoded ?? file),
  );
  const differing = new Set<string>();
  if (foreign.length === 0) return differing;
  const verdicts = await judgeForeign({
    ...{ placements: placements.values(), tools, paths: foreign.map(([path]) => path), pace },
    isFleet: () => placements.size > 0 || hasCluster(nodes),
    hadDocuments: (path) => nodes.get(path)?.hadDocuments === true,
  });
  for (const [path, node] of foreign) {
    const known = before.get(path);
    const file = judgedFile(verdicts, path, node);
    const same = known?.file !== undefined && isSameVerdict(known, node, file) ? known.file : file;
    const asDecoded = node.isClaimed === true ? undefined : (node.asDecoded ?? node.file);
    nodes.set(path, { ...node, file: same, ...(asDecoded && { asDecoded }) });
    if (same !== known?.file) differing.add(path);
  }
  return differing;
}

function judgedFile(
  verdicts: ForeignVerdicts,
  path: string,
  { entry, isClaimed, asDecoded, file }: JudgedNode,
): DecodedFile {
  if (isClaimed === true) {
    return claimedFile(path, entry.blob, verdicts.claimant(path) ?? '', verdicts.isClaimWanted(path));
  }
  const decoded = (asDecoded ?? file) as DecodedFile;
  const because = verdicts.wantedBecause(path, decoded);
  return because === undefined ? decoded : asUnreadable(decoded, because);
}

/** Whether the file is judged as in the tree before, so that it has not changed. */
function isSameVerdict(known: JudgedNode, node: JudgedNode, file: DecodedFile): boolean {
  const isSameContent =
    node.isClaimed === true ? known.isClaimed === true : known.asDecoded === (node.asDecoded ?? node.file);
  const verdict = ({ reading }: DecodedFile): JsonValue => [
    reading.blob,
    reading.readable,
    [...reading.findings],
    reading.notRead ?? '',
  ];
  return isSameContent && known.file !== undefined && jsonEquals(verdict(known.file), verdict(file));
}

function isOfOtherTool(file: DecodedFile | undefined): boolean {
  return file?.reading.readable === true
    ? file.reading.notRead !== undefined
    : file?.diagnostics.some(isForeign) === true;
}

function hasCluster(nodes: ReadonlyMap<string, JudgedNode>): boolean {
  return nodes
    .values()
    .some(({ file }) => file?.reading.readable === true && file.reading.documents.some(isClusterDeclaration));
}

function isClusterDeclaration({ content }: SourceDocument): boolean {
  return content.type === 'declaration' && content.kind === 'KubernetesCluster';
}
