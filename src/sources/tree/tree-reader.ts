import { isToolFileName } from '../../manifest/tool-files.ts';
import type { DecodedFile } from '../../model/fleet/desired.ts';
import { compareDiagnostics, type Diagnostic } from '../../model/fleet/diagnostic.ts';
import type { Excess, RevisionLimits } from '../../model/limits/revision-limits.ts';
import { compareText, isSameList } from '../../model/text/json.ts';
import { errorText } from '../../model/text/messages.ts';
import type { TreeChange, TreeEntry } from '../../ports/git-repo.ts';
import type { RevisionObservation } from '../../ports/source.ts';
import { partOf, type Wanted, wantedAs } from './entry-part.ts';
import type { Claim } from './foreign-files.ts';
import { followsAll, IGNORE_FILE, type Membership } from './ignore-file.ts';
import { isSameFile, judgedFile, judgeNodes } from './judge-nodes.ts';
import { judgePaths } from './judge-paths.ts';
import { createPace, type Turn } from './pace.ts';
import { countPlacements, noPlacements, type PlacementSteps } from './placement-steps.ts';
import { BeyondLimit, createRevisionCount } from './revision-count.ts';
import { createSharedDecoding } from './shared-decoding.ts';
import { isToolPart, noToolFolders, readToolFolders, type ToolFolders } from './tool-folders.ts';
import type { DecodeFile, ReadTreeFile } from './tree-file.ts';
import { unreadableFile } from './unreadable-file.ts';

/** A tree of files with its decoded manifests. Never changed after it was read. */
export interface Tree {
  readonly nodes: ReadonlyMap<string, TreeNode>;
  /** Which paths the ignore file of the tree excludes. */
  readonly membership: Membership;
  /** The steps of matching all paths with the rules of the ignore file. */
  readonly ignoreSteps: number;
  readonly placementSteps: PlacementSteps;
  /** Its Helm charts and kustomizations. */
  readonly tools: ToolFolders;
  /** Number of manifests, readable or not; without the files of other tools. */
  readonly manifests: number;
  /** Number of files of the source that cannot be read. */
  readonly unreadable: number;
  /** Of all files, in canonical order. */
  readonly diagnostics: readonly Diagnostic[];
}

export interface TreeNode {
  readonly entry: TreeEntry;
  /** The steps of matching its path with the rules of the ignore file; absent: none. */
  readonly ignoreSteps?: number;
  /** The ignore rules exclude it. */
  readonly isIgnored?: true;
  /** Present for a manifest, and for an ignore file that cannot be read. As it was decoded: {@link judgedFile} is as the source has it. */
  readonly file?: DecodedFile;
  /** A kustomization or chart claims the file, so that it is not decoded. */
  readonly claim?: Claim;
  /** Why desired state is wanted of a file for another tool; absent: it is not. */
  readonly because?: string;
  /** A warning about an entry that is no manifest. */
  readonly warning?: Diagnostic;
}

/** A tree, and the files that read differently than in the tree before. */
export interface ReadTree {
  readonly before: Tree;
  readonly tree: Tree;
  readonly changes: RevisionObservation['changes'];
}

/** The first limit that a tree exceeds; it was not read to its end. */
export interface ExceedingTree {
  readonly excess: Excess;
}

export interface TreeReadOptions {
  readonly decode: DecodeFile;
  readonly read: ReadTreeFile;
  /** Larger files are unreadable. */
  readonly maxFileBytes: number;
  readonly limits: RevisionLimits;
  /** A tree that was read and not admitted: its manifests are not decoded again. */
  readonly spare?: Tree | undefined;
  /** Lets the event loop turn during long work; absent: it turns only while files are read. */
  readonly turn?: Turn;
}

export const emptyTree: Tree = {
  nodes: new Map(),
  membership: followsAll,
  ignoreSteps: 0,
  placementSteps: noPlacements,
  tools: noToolFolders,
  manifests: 0,
  unreadable: 0,
  diagnostics: [],
};

const READ_AT_ONCE = 32;
const READ_AT_ONCE_BYTES = 16 * 1024 * 1024;

/** Returns the changes that lead from a tree to exactly these entries. */
export function changesTo({ nodes }: Tree, entries: ReadonlyMap<string, TreeEntry>): readonly TreeChange[] {
  const changes: TreeChange[] = [];
  for (const path of nodes.keys()) if (!entries.has(path)) changes.push({ path, entry: null });
  for (const [path, entry] of entries) {
    if (nodes.get(path)?.entry.blob !== entry.blob) changes.push({ path, entry });
  }
  return changes;
}

/** How one tree is read. */
interface Reading extends TreeReadOptions {
  readonly count: ReturnType<typeof createRevisionCount>;
  readonly decodeShared: ReturnType<typeof createSharedDecoding>;
  readonly pace: ReturnType<typeof createPace>;
}

/**
 * Reads the tree that differs from `before` by `changes`. Reads and decodes only new content, once for all its paths, and
 * files that have become manifests because the chart or kustomization around them is gone. Ends at the first limit that the
 * tree exceeds. Rejects if `read` does, or if `decode` was ended.
 */
export async function readTree(
  options: TreeReadOptions,
  before: Tree,
  changes: readonly TreeChange[],
): Promise<ReadTree | ExceedingTree> {
  const { decode, read, limits, maxFileBytes } = options;
  const count = createRevisionCount(limits, maxFileBytes);
  const [decodeShared, pace] = [createSharedDecoding(decode, read), createPace(options.turn)];
  try {
    return await readWithin({ ...options, count, decodeShared, pace }, before, changes);
  } catch (error) {
    if (error instanceof BeyondLimit) return { excess: error.excess };
    throw error;
  }
}

async function readWithin(reading: Reading, before: Tree, changes: readonly TreeChange[]): Promise<ReadTree> {
  const { count, limits, pace } = reading;
  const entries = new Map(changes.map(({ path, entry }) => [path, entry]));
  const entryAt = (path: string) => entryAfter(before, entries, path);
  count.paths(pathsAfter(before, entries));
  await pace.paths(before.nodes.size + entries.size);
  const rules = await judgePaths(reading, before, entries);
  const partAt = (path: string, entry: TreeEntry) => partOf(path, entry, rules.follows, reading.maxFileBytes);
  const named = new Set(
    [...before.tools.paths, ...rules.paths].filter((path) => isToolFileName(path) && entryAt(path) !== undefined),
  );
  // They are decoded before it is known which other files are manifests.
  count.manifests([...named].flatMap((path) => entryAt(path) ?? []));
  const tools = await readToolFolders(new Map([...named].map((path) => [path, path])), async (path) => {
    const entry = entryAt(path);
    const wanted = entry && wantedAs(path, entry, partAt(path, entry));
    const file = wanted && (await decodeOne(reading, before, wanted));
    if (file !== undefined) count.decoded(path, file);
    return file;
  });
  const moved = movedBetween(before, tools).filter((path) => entryAt(path) !== undefined);
  const changedPaths = rules.paths.union(new Set(moved));
  const paths = [...changedPaths].sort(compareText);
  await pace.paths(paths.length);
  const nodes = new Map(before.nodes);
  await pace.paths(nodes.size);
  const toDecode = await placeEntries({ before, nodes, entries, tools, rules, pace }, paths, partAt);
  await pace.paths(nodes.size);
  const replaced = new Set(toDecode.map(({ path }) => path));
  const kept = [...nodes].flatMap(([path, { entry, file }]) =>
    file === undefined || replaced.has(path) ? [] : [{ path, entry, file }],
  );
  count.manifests(
    [...kept, ...toDecode].map(({ entry }) => entry),
    nodes.values().reduce((sum, { claim }) => sum + (claim === undefined ? 0 : 1), 0),
  );
  const decoded = await decodeNew(reading, before, { kept, tools, toDecode });
  for (const [path, file] of decoded) nodes.set(path, { ...(nodes.get(path) as TreeNode), file });
  const placementSteps = await countPlacements({ before, nodes, paths }, { limits, others: rules.steps, pace });
  const judged = await judgeNodes({ nodes, tools, pace }, placementSteps.placements);
  await pace.paths(nodes.size);
  await pace.paths(paths.length);
  const changed = [...changedPaths.union(judged)].sort(compareText).flatMap((path) => {
    const node = nodes.get(path);
    if (isSameFile(node, before.nodes.get(path))) return [];
    return [{ path, file: (node && judgedFile(node)?.reading) ?? null }];
  });
  await pace.paths(paths.length);
  const { membership, steps: ignoreSteps } = rules;
  return { before, tree: treeOf({ nodes, membership, ignoreSteps, placementSteps, tools }), changes: changed };
}

/** A tree before its files are decoded. */
interface ToPlace {
  readonly before: Tree;
  readonly nodes: Map<string, TreeNode>;
  readonly entries: ReadonlyMap<string, TreeEntry | null>;
  readonly tools: ToolFolders;
  readonly rules: Awaited<ReturnType<typeof judgePaths>>;
  readonly pace: Reading['pace'];
}

/** Gives the paths their nodes. Returns the manifests that are to be decoded. */
async function placeEntries(
  { before, nodes, entries, tools, rules, pace }: ToPlace,
  paths: readonly string[],
  partAt: (path: string, entry: TreeEntry) => ReturnType<typeof partOf>,
): Promise<readonly Wanted[]> {
  const toDecode: Wanted[] = [];
  for (const path of paths) {
    if (pace.isDue()) await pace.turn();
    pace.path();
    const entry = entryAfter(before, entries, path);
    const file = tools.files.get(path);
    const node = entry && { entry, ...rules.resultAt(path) };
    if (node === undefined) nodes.delete(path);
    else if (path === IGNORE_FILE) {
      const unreadable = entries.has(path) ? rules.file : before.nodes.get(path)?.file;
      nodes.set(path, { ...node, ...(unreadable && { file: unreadable }) });
    } else if (file !== undefined) nodes.set(path, { ...node, file });
    else {
      const part = partAt(path, node.entry);
      const wanted = wantedAs(path, node.entry, part);
      if (isToolPart(tools, path)) nodes.set(path, wanted === undefined ? node : { ...node, claim: unjudged });
      else {
        if (wanted !== undefined) toDecode.push(wanted);
        nodes.set(path, wanted !== undefined || typeof part === 'string' ? node : { ...node, ...part });
      }
    }
  }
  return toDecode;
}

/** The claim of a file before it is judged. */
const unjudged: Claim = { claimant: '', isWanted: false };

/** The entry at a path of the tree after changes; undefined: there is none. */
function entryAfter(
  { nodes }: Tree,
  entries: ReadonlyMap<string, TreeEntry | null>,
  path: string,
): TreeEntry | undefined {
  return (entries.has(path) ? entries.get(path) : nodes.get(path)?.entry) ?? undefined;
}

/** The paths of the tree after changes, in no particular order. */
function* pathsAfter({ nodes }: Tree, entries: ReadonlyMap<string, TreeEntry | null>): Generator<string> {
  for (const path of nodes.keys()) if (!entries.has(path)) yield path;
  for (const [path, entry] of entries) if (entry !== null) yield path;
}

/** The paths that have become manifests, or are none any more, because of other charts and kustomizations. */
function movedBetween({ nodes, tools: before }: Tree, after: ToolFolders): readonly string[] {
  const isSame =
    before.parts.symmetricDifference(after.parts).size === 0 &&
    isSameList([...before.files.keys()], [...after.files.keys()]);
  return isSame ? [] : [...nodes.keys()].filter((path) => isToolPart(before, path) !== isToolPart(after, path));
}

/** A tree with its counts. */
export function treeOf(read: Omit<Tree, 'manifests' | 'unreadable' | 'diagnostics'>): Tree {
  let manifests = 0;
  let unreadable = 0;
  const diagnostics: Diagnostic[] = [];
  for (const [path, node] of read.nodes) {
    if (node.warning !== undefined) diagnostics.push(node.warning);
    // A claimed file that is wanted is a fault of the kustomization or chart, which counts already.
    const file = node.claim === undefined ? judgedFile(node) : undefined;
    if (file === undefined) continue;
    if (path !== IGNORE_FILE && mayHoldManifests(file)) manifests += 1;
    if (!file.reading.readable) unreadable += 1;
    for (const diagnostic of file.diagnostics) diagnostics.push(diagnostic);
  }
  return { ...read, manifests, unreadable, diagnostics: diagnostics.sort(compareDiagnostics) };
}

/** Whether a file declares something, or cannot be read; one of another tool declares nothing. */
function mayHoldManifests({ reading }: DecodedFile): boolean {
  return !reading.readable || reading.notRead === undefined || reading.documents.length > 0;
}

/** The manifests of a tree that is read. */
interface Manifests {
  /** They are decoded; files of charts and kustomizations are among them. */
  readonly kept: readonly { readonly path: string; readonly file: DecodedFile }[];
  /** They are counted already. */
  readonly tools: ToolFolders;
  readonly toDecode: readonly Wanted[];
}

/** Decodes new manifests. Throws {@link BeyondLimit} if the tree exceeds a limit with them. */
async function decodeNew(
  reading: Reading,
  before: Tree,
  { kept, tools, toDecode }: Manifests,
): Promise<ReadonlyMap<string, DecodedFile>> {
  const decoded = new Map<string, DecodedFile>();
  try {
    for (const { path, file } of kept) if (!tools.files.has(path)) reading.count.decoded(path, file);
    await decodeAll(reading, before, toDecode, decoded);
    return decoded;
  } catch (error) {
    if (!(error instanceof BeyondLimit)) throw error;
    const files = new Map([...kept.map(({ path, file }) => [path, file] as const), ...decoded]);
    await countInOrder(reading, before, files, toDecode);
    throw error;
  }
}

/**
 * Counts all files in canonical order, so that an excess does not depend on earlier revisions. Otherwise files of the tree before
 * are counted first. Throws {@link BeyondLimit} at the first excess.
 */
async function countInOrder(
  reading: Reading,
  before: Tree,
  files: ReadonlyMap<string, DecodedFile>,
  toDecode: readonly Wanted[],
): Promise<void> {
  const count = createRevisionCount(reading.limits, reading.maxFileBytes);
  const wanted = new Map(toDecode.map((each) => [each.path, each]));
  for (const path of [...new Set([...files.keys(), ...wanted.keys()])].sort(compareText)) {
    const each = wanted.get(path);
    const file = files.get(path) ?? (each && (await decodeOne(reading, before, each)));
    if (file !== undefined) count.decoded(path, file);
    reading.pace.path();
    if (reading.pace.isDue()) await reading.pace.turn();
  }
}

/** Decodes into `decoded`, in portions, so that neither memory nor the number of open reads grows with the tree. */
async function decodeAll(
  reading: Reading,
  before: Tree,
  wanted: readonly Wanted[],
  decoded: Map<string, DecodedFile>,
): Promise<void> {
  let portion: Promise<readonly [string, DecodedFile]>[] = [];
  let bytes = 0;
  const finish = async (): Promise<void> => {
    for (const [path, file] of await Promise.all(portion)) {
      decoded.set(path, file);
      reading.count.decoded(path, file);
    }
    portion = [];
    bytes = 0;
  };
  for (const each of wanted) {
    const { path, entry } = each;
    portion.push(decodeOne(reading, before, each).then((file) => [path, file] as const));
    bytes += Math.min(entry.size, reading.maxFileBytes);
    if (portion.length >= READ_AT_ONCE || bytes >= READ_AT_ONCE_BYTES) await finish();
  }
  await finish();
}

async function decodeOne(
  { decodeShared, spare }: Reading,
  before: Tree,
  { path, entry, refused }: Wanted,
): Promise<DecodedFile> {
  const { blob, kind } = entry;
  for (const known of [before.nodes.get(path), spare?.nodes.get(path)]) {
    const file = known?.file;
    // A link and a file can have the same blob.
    if (file?.reading.blob === blob && known?.entry.kind === kind) return file;
  }
  if (refused !== undefined) return refused;
  const decoding = await decodeShared(path, entry);
  if ('file' in decoding) return decoding.file;
  if ('reason' in decoding) return unreadableFile(path, blob, 'FileUnreadable', decoding.reason);
  return unreadableFile(path, blob, 'DecoderFailed', `could not be decoded: ${errorText(decoding.defect)}`);
}
