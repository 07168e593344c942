import { isToolFileName } from '../../manifest/tool-files.ts';
import type { DecodedFile } from '../../model/desired.ts';
import {
  compareDiagnostics,
  type Diagnostic,
  diagnosticOf,
  type FindingReason,
  sentenceOf,
} from '../../model/diagnostic.ts';
import { quote } from '../../model/ids.ts';
import { compareText, isSameList } from '../../model/json.ts';
import { errorText } from '../../model/messages.ts';
import { pathProblem } from '../../model/path-pattern.ts';
import type { Excess, RevisionLimits } from '../../model/revision-limits.ts';
import type { TreeChange, TreeEntry } from '../../ports/git-repo.ts';
import type { RevisionObservation } from '../../ports/source.ts';
import { followsAll, IGNORE_FILE, isManifestName, type Membership, parseIgnoreFile } from './ignore-file.ts';
import { BeyondLimit, createRevisionCount } from './revision-count.ts';
import { createSharedDecoding } from './shared-decoding.ts';
import { isToolPart, noToolFolders, readToolFolders, type ToolFolders } from './tool-folders.ts';
import type { DecodeFile, ReadTreeFile } from './tree-file.ts';

/** A tree of files with its decoded manifests. Never changed after it was read. */
export interface Tree {
  readonly nodes: ReadonlyMap<string, TreeNode>;
  /** Which paths the ignore file of the tree excludes. */
  readonly membership: Membership;
  /** Its Helm charts and kustomizations. */
  readonly tools: ToolFolders;
  /** Number of manifests, readable or not. */
  readonly manifests: number;
  /** Number of files of the source that cannot be read. */
  readonly unreadable: number;
  /** Of all files, in canonical order. */
  readonly diagnostics: readonly Diagnostic[];
}

interface TreeNode {
  readonly entry: TreeEntry;
  /** Present for a manifest, and for an ignore file that cannot be read. */
  readonly file?: DecodedFile;
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

/** A manifest to decode, or one that is refused unread. */
interface Wanted {
  readonly path: string;
  readonly entry: TreeEntry;
  readonly refused?: DecodedFile;
}

export interface TreeReadOptions {
  readonly decode: DecodeFile;
  readonly read: ReadTreeFile;
  /** Larger files are unreadable. */
  readonly maxFileBytes: number;
  readonly limits: RevisionLimits;
  /** A tree that was read and not admitted: its manifests are not decoded again. */
  readonly spare?: Tree | undefined;
}

export const emptyTree: Tree = {
  nodes: new Map(),
  membership: followsAll,
  tools: noToolFolders,
  manifests: 0,
  unreadable: 0,
  diagnostics: [],
};

const MAX_IGNORE_BYTES = 256 * 1024;
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
  try {
    return await readWithin({ ...options, count, decodeShared: createSharedDecoding(decode, read) }, before, changes);
  } catch (error) {
    if (error instanceof BeyondLimit) return { excess: error.excess };
    throw error;
  }
}

async function readWithin(reading: Reading, before: Tree, changes: readonly TreeChange[]): Promise<ReadTree> {
  const { count } = reading;
  const entries = new Map(changes.map(({ path, entry }) => [path, entry]));
  const ignore = entries.get(IGNORE_FILE);
  const rules = ignore === undefined ? { membership: before.membership } : await readRules(ignore, reading.read);
  const entryAt = (path: string) =>
    (entries.has(path) ? entries.get(path) : before.nodes.get(path)?.entry) ?? undefined;
  const partAt = (path: string, entry: TreeEntry) => partOf(path, entry, rules.membership, reading.maxFileBytes);
  // Other rules can change which paths of the complete tree belong to the source.
  const judged = new Set(ignore === undefined ? [] : before.nodes.keys()).union(entries);
  const named = new Set(
    [...before.tools.paths, ...judged].filter((path) => isToolFileName(path) && entryAt(path) !== undefined),
  );
  // They are decoded before it is known which other files are manifests.
  count.manifests([...named].flatMap((path) => entryAt(path) ?? []));
  const tools = await readToolFolders(new Map([...named].map((path) => [path, path])), async (path) => {
    const entry = entryAt(path);
    const wanted = entry && wantedAs(path, entry, partAt(path, entry));
    const file = wanted && (await decodeOne(reading, before, wanted));
    if (file !== undefined) count.decoded(file);
    return file;
  });
  const paths = [...new Set([...judged, ...movedBetween(before, tools)])].sort(compareText);
  const nodes = new Map(before.nodes);
  const toDecode: Wanted[] = [];
  for (const path of paths) {
    const entry = entryAt(path);
    const file = tools.files.get(path);
    if (entry === undefined) nodes.delete(path);
    else if (path === IGNORE_FILE) nodes.set(path, { entry, ...('file' in rules ? { file: rules.file } : {}) });
    else if (file !== undefined) nodes.set(path, { entry, file });
    else {
      const part = isToolPart(tools, path) ? 'none' : partAt(path, entry);
      const wanted = wantedAs(path, entry, part);
      if (wanted !== undefined) toDecode.push(wanted);
      else nodes.set(path, typeof part === 'string' ? { entry } : { entry, ...part });
    }
  }
  count.paths([...nodes.keys(), ...toDecode.flatMap(({ path }) => (nodes.has(path) ? [] : [path]))]);
  const replaced = new Set(toDecode.map(({ path }) => path));
  const kept = [...nodes].flatMap(([path, { entry, file }]) =>
    file === undefined || replaced.has(path) ? [] : [{ path, entry, file }],
  );
  count.manifests([...kept, ...toDecode].map(({ entry }) => entry));
  for (const { path, file } of kept) if (!tools.files.has(path)) count.decoded(file);
  for (const [path, entry, file] of await decodeAll(reading, before, toDecode)) nodes.set(path, { entry, file });
  const changed = paths.flatMap((path) => {
    const file = nodes.get(path)?.file;
    return file === before.nodes.get(path)?.file ? [] : [{ path, file: file?.reading ?? null }];
  });
  return { before, tree: treeOf(nodes, rules.membership, tools), changes: changed };
}

/** The paths that have become manifests, or are none any more, because of other charts and kustomizations. */
function movedBetween({ nodes, tools: before }: Tree, after: ToolFolders): readonly string[] {
  const isSame =
    before.parts.symmetricDifference(after.parts).size === 0 &&
    isSameList([...before.files.keys()], [...after.files.keys()]);
  return isSame ? [] : [...nodes.keys()].filter((path) => isToolPart(before, path) !== isToolPart(after, path));
}

/** The entry as a manifest; undefined if it is none. */
function wantedAs(path: string, entry: TreeEntry, part: ReturnType<typeof partOf>): Wanted | undefined {
  if (part === 'manifest') return { path, entry };
  return part !== 'none' && 'file' in part ? { path, entry, refused: part.file } : undefined;
}

/**
 * The part that an entry has in a source: a manifest to decode, a manifest that cannot be read (`file`), no manifest, or that
 * with a warning.
 */
export function partOf(
  path: string,
  { kind, size, blob }: TreeEntry,
  membership: Membership,
  maxFileBytes: number,
): 'manifest' | 'none' | { readonly file: DecodedFile } | { readonly warning: Diagnostic } {
  const problem = pathProblem(path);
  const isFollowed = problem === undefined && membership.follows(path);
  // Rules do not apply to a path that is too long: a manifest there is unreadable, not removed.
  if (!(isFollowed || problem !== undefined) || kind === 'submodule' || !isManifestName(path)) {
    const warning = isFollowed ? warningOn(path, kind) : undefined;
    return warning === undefined ? 'none' : { warning };
  }
  if (problem !== undefined) {
    const shown = path.length > 200 ? `${path.slice(0, 200)}...` : path;
    return { file: unreadableFile(shown, blob, 'PathTooLong', problem, 'give it a shorter one') };
  }
  if (kind === 'symlink') {
    const hint = `put the file itself there, or list it in ${IGNORE_FILE}`;
    return { file: unreadableFile(path, blob, 'SymbolicLink', 'is a symbolic link, which is not followed', hint) };
  }
  if (size > maxFileBytes) {
    const what = `is ${size} bytes large; at most ${maxFileBytes} are read`;
    return { file: unreadableFile(path, blob, 'FileTooLarge', what, `split it, or list it in ${IGNORE_FILE}`) };
  }
  return 'manifest';
}

function treeOf(nodes: ReadonlyMap<string, TreeNode>, membership: Membership, tools: ToolFolders): Tree {
  let manifests = 0;
  let unreadable = 0;
  const diagnostics: Diagnostic[] = [];
  for (const [path, { file, warning }] of nodes) {
    if (warning !== undefined) diagnostics.push(warning);
    if (file === undefined) continue;
    if (path !== IGNORE_FILE) manifests += 1;
    if (!file.reading.readable) unreadable += 1;
    diagnostics.push(...file.diagnostics);
  }
  return { nodes, membership, tools, manifests, unreadable, diagnostics: diagnostics.sort(compareDiagnostics) };
}

/** Reads the ignore rules. An ignore file that cannot be read is an unreadable file of the source. */
export async function readRules(
  entry: TreeEntry | null,
  read: ReadTreeFile,
): Promise<{ readonly membership: Membership; readonly file?: DecodedFile }> {
  if (entry === null) return { membership: followsAll };
  const broken = (what: string, line?: number) => ({
    membership: followsAll,
    file: unreadableFile(IGNORE_FILE, entry.blob, 'IgnoreFile', what, undefined, line),
  });
  if (entry.kind !== 'file') return broken('is not a plain file');
  if (entry.size > MAX_IGNORE_BYTES) return broken(`is larger than ${MAX_IGNORE_BYTES} bytes`);
  const content = await read(IGNORE_FILE, entry);
  if ('reason' in content) return broken(content.reason);
  const parsed = parseIgnoreFile(new TextDecoder().decode(content.bytes));
  return parsed.ok ? { membership: parsed.membership } : broken(parsed.problem, parsed.line);
}

/** Decodes in portions, so that neither memory nor the number of open reads grows with the tree. */
async function decodeAll(
  reading: Reading,
  before: Tree,
  wanted: readonly Wanted[],
): Promise<readonly (readonly [string, TreeEntry, DecodedFile])[]> {
  const decoded: (readonly [string, TreeEntry, DecodedFile])[] = [];
  let portion: Promise<void>[] = [];
  let bytes = 0;
  for (const each of wanted) {
    const { path, entry } = each;
    portion.push(
      decodeOne(reading, before, each).then((file) => {
        reading.count.decoded(file);
        decoded.push([path, entry, file]);
      }),
    );
    bytes += Math.min(entry.size, reading.maxFileBytes);
    if (portion.length >= READ_AT_ONCE || bytes >= READ_AT_ONCE_BYTES) {
      await Promise.all(portion);
      portion = [];
      bytes = 0;
    }
  }
  await Promise.all(portion);
  return decoded;
}

async function decodeOne(
  { decodeShared, spare }: Reading,
  before: Tree,
  { path, entry, refused }: Wanted,
): Promise<DecodedFile> {
  const { blob, kind } = entry;
  for (const known of [before.nodes.get(path), spare?.nodes.get(path)]) {
    // A link and a file can have the same blob.
    if (known?.file?.reading.blob === blob && known.entry.kind === kind) return known.file;
  }
  if (refused !== undefined) return refused;
  const decoding = await decodeShared(path, entry);
  if ('file' in decoding) return decoding.file;
  if ('reason' in decoding) return unreadableFile(path, blob, 'FileUnreadable', decoding.reason);
  return unreadableFile(path, blob, 'DecoderFailed', `could not be decoded: ${errorText(decoding.defect)}`);
}

function warningOn(path: string, kind: TreeEntry['kind']): Diagnostic | undefined {
  if (kind === 'file') return undefined;
  const [reason, what]: [FindingReason, string] =
    kind === 'submodule' ? ['SubmoduleIgnored', 'a submodule'] : ['SymbolicLinkIgnored', 'a symbolic link'];
  const message = `${quote(path)} is ${what}, which is not followed`;
  return diagnosticOf({ severity: 'warning', reason, message, at: { path } });
}

/** A file that exists and cannot be read. `what` continues the sentence after the file's name. */
export function unreadableFile(
  path: string,
  blob: string,
  reason: FindingReason,
  what: string,
  hint?: string,
  line?: number,
): DecodedFile {
  const message = `${quote(path)} ${what}`;
  const at = { path, ...(line === undefined ? {} : { line }) };
  const diagnostic = diagnosticOf({ severity: 'error', reason, message, at, ...(hint === undefined ? {} : { hint }) });
  const reading = { readable: false, blob, findings: [sentenceOf(diagnostic)] } as const;
  return { reading, size: { documents: 0, nodes: 0 }, diagnostics: [diagnostic] };
}
