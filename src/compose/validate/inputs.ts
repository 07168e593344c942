import { lstatSync, readdirSync, statSync } from 'node:fs';
import { relative, resolve, sep } from 'node:path';
import { childOfWalk, LEFT_OUT } from '../../adapters/files/child-of-walk.ts';
import { createMembersReader } from '../../adapters/git/work-tree-files.ts';
import { createSystemClock } from '../../adapters/system/clock.ts';
import { decoders } from '../../domains/decoders.ts';
import { decodeFile } from '../../manifest/decode-file.ts';
import { defaultDecodeLimits } from '../../manifest/limits.ts';
import { isToolFileName } from '../../manifest/tool-files.ts';
import { type Diagnostic, diagnosticOf } from '../../model/fleet/diagnostic.ts';
import { quote } from '../../model/fleet/ids.ts';
import { defaultRevisionLimits, type RevisionLimits } from '../../model/limits/revision-limits.ts';
import { compareText } from '../../model/text/json.ts';
import { firstNames } from '../../model/text/messages.ts';
import type { FileTreeEntry, FolderMembers, ReadMembers } from '../../ports/file-tree.ts';
import { partOf } from '../../sources/tree/entry-part.ts';
import { IGNORE_FILE, isManifestName } from '../../sources/tree/ignore-file.ts';
import { readRules } from '../../sources/tree/judge-paths.ts';
import { isToolPart, readToolFolders, type ToolFolders } from '../../sources/tree/tool-folders.ts';
import { unreadableFile } from '../../sources/tree/unreadable-file.ts';
import { type FileBytes, problemOf, type ReadBytes } from './file-bytes.ts';
import type { ValidationRequest } from './report.ts';
import { type KustomizeResource, kustomizeResources } from './resources.ts';
import { BeyondRevision, createListingCount } from './revision-limits.ts';

/** The name of standard input among the paths. */
export const STDIN = '-';

const { maxBytes: MAX_BYTES } = defaultDecodeLimits;

/** A file to check. */
export interface InputFile {
  /** Its path in the form of the request. */
  readonly name: string;
  /** Its absolute path; empty for standard input. */
  readonly location: string;
  /** The request names it: it is read in any case, also through a link, and may be a RelayConfig. */
  readonly isNamed: boolean;
  /** Of standard input, which can be read only once. */
  readonly bytes?: Uint8Array;
  /** A kustomization lists it, so that it is no desired state. */
  readonly resource?: KustomizeResource;
}

/** The bytes of an input; valid until the next call of `read`. */
export function bytesOf({ location, isNamed, bytes }: InputFile, read: ReadBytes): FileBytes {
  return bytes === undefined ? read(location, isNamed) : { ok: true, bytes };
}

/** The files of a request, in the order of its paths and then of their names, each once. */
export interface Inputs {
  readonly files: readonly InputFile[];
  /** Files that are not read, because they may not be or cannot be. They count as files. */
  readonly refused: readonly Diagnostic[];
  /** Paths that cannot be read, neither as a file nor as a folder; they do not count as files. */
  readonly failed: readonly Diagnostic[];
  /** The folders whose ignore file counts, as absolute paths. */
  readonly ignoreFolders: readonly string[];
  /** The steps of matching paths with the rules of these ignore files. */
  readonly ignoreSteps: number;
  /** The absolute paths of manifests in these folders that are refused unread. */
  readonly unread: readonly string[];
  /** The absolute paths of files that belong to charts and kustomizations. */
  readonly claimed: readonly string[];
  /** The charts and kustomizations of each folder, by its absolute path. */
  readonly tools: ReadonlyMap<string, ToolFolders>;
}

/**
 * Lists the files of a request. In a folder these are all manifests that the `.fleetrelayignore` of the folder does not exclude and
 * that belong to no Helm chart. What kustomizations list is checked too. Links are not followed, as in git. In a work tree only what
 * git would commit counts.
 */
export async function listInputs(
  { paths, cwd, readStdin, env = {} }: Pick<ValidationRequest, 'paths' | 'cwd' | 'readStdin' | 'env'>,
  read: ReadBytes,
  limits: RevisionLimits = defaultRevisionLimits,
  found: (files: number) => Promise<void> = async () => undefined,
): Promise<Inputs> {
  const files = new Map<string, InputFile>();
  const readMembers = createMembersReader({ clock: createSystemClock(), environment: env });
  const rest = {
    refused: [] as Diagnostic[],
    failed: [] as Diagnostic[],
    ignoreFolders: [] as string[],
    ignoreSteps: 0,
    unread: [] as string[],
    claimed: [] as string[],
    tools: new Map<string, ToolFolders>(),
  };
  for (const path of new Set(paths)) {
    const location = resolve(cwd, path);
    const kind = path === STDIN ? 'stdin' : kindOf(location);
    if (kind === 'stdin') await addStdin(readStdin, files, rest.refused);
    else if (kind === 'folder')
      rest.ignoreSteps += await listFolder(path, location, read, { files, ...rest, limits, found, readMembers });
    else if (kind === 'file') files.set(location, { name: path, location, isNamed: true });
    else rest.failed.push(unreadable(path, kind));
  }
  return { files: [...files.values()], ...rest };
}

async function addStdin(
  readStdin: ValidationRequest['readStdin'],
  files: Map<string, InputFile>,
  refused: Diagnostic[],
): Promise<void> {
  try {
    files.set(STDIN, { name: STDIN, location: '', isNamed: true, bytes: await readStdin(MAX_BYTES + 1) });
  } catch (error) {
    refused.push(unreadable(STDIN, problemOf(error)));
  }
}

interface Listing {
  readonly files: Map<string, InputFile>;
  readonly refused: Diagnostic[];
  readonly failed: Diagnostic[];
  readonly ignoreFolders: string[];
  readonly unread: string[];
  readonly claimed: string[];
  readonly tools: Map<string, ToolFolders>;
  readonly limits: RevisionLimits;
  readonly found: (files: number) => Promise<void>;
  readonly readMembers: ReadMembers;
}

/** Returns the steps of matching its paths with its ignore rules. */
async function listFolder(path: string, root: string, read: ReadBytes, listing: Listing): Promise<number> {
  listing.ignoreFolders.push(root);
  try {
    return await listWithin(path, root, read, listing);
  } catch (error) {
    if (!(error instanceof BeyondRevision)) throw error;
    for (const location of listing.files.keys()) if (location.startsWith(`${root}/`)) listing.files.delete(location);
    listing.failed.push(error.diagnostic);
    return 0;
  }
}

async function listWithin(path: string, root: string, read: ReadBytes, listing: Listing): Promise<number> {
  const entries: Entry[] = [];
  const count = createListingCount(listing.limits, (relative) => below(path, relative));
  const members = await listing.readMembers(root);
  const leftOut = (members?.leftOut ?? []).filter(isManifestName);
  if (leftOut.length > 0) listing.failed.push(sparse(path, leftOut));
  if (members?.leftOut.includes(IGNORE_FILE) === true) {
    listing.failed.push(unreadable(below(path, IGNORE_FILE), `it ${LEFT_OUT}`));
  }
  const failed = (folder: string, error: unknown): void => {
    listing.failed.push(unreadable(below(path, folder), problemOf(error)));
  };
  for (const entry of entriesIn({ root, members, count: count.entry, failed })) {
    entries.push(entry);
    if (entries.length % 512 === 0) await listing.found(listing.files.size + entries.length);
  }
  const ignore = entries.find((entry) => entry.path === IGNORE_FILE);
  const rules = await readRules(ignore === undefined ? null : entryOf(ignore, root), async (name) => {
    const content = read(`${root}/${name}`, false);
    return content.ok ? { bytes: content.bytes } : { reason: content.reason };
  });
  const named = (diagnostic: Diagnostic): Diagnostic =>
    diagnostic.at === undefined
      ? diagnostic
      : { ...diagnostic, at: { ...diagnostic.at, path: below(path, diagnostic.at.path) } };
  if ('file' in rules) listing.refused.push(...rules.file.diagnostics.map(named));
  const { judged, steps } = await count.matching(rules.membership, entries);
  const follows = (at: string): boolean => judged.get(at)?.follows !== false;
  // The size is judged when the file is read.
  const partAt = ({ path: at, kind }: Entry) => partOf(at, { kind, size: 0, blob: '' }, follows, MAX_BYTES);
  const tools = await readToolFolders(
    new Map(entries.filter((entry) => isToolFileName(entry.path)).map((entry) => [entry.path, entry] as const)),
    async (entry) => {
      const part = partAt(entry);
      count.toolFile(entry.path, entryOf(entry, root));
      if (part !== 'manifest') return part !== 'none' && 'file' in part ? part.file : undefined;
      const content = read(`${root}/${entry.path}`, false);
      return content.ok
        ? decodeFile(entry.path, content.bytes, '', { decoders })
        : unreadableFile(entry.path, '', 'FileUnreadable', content.reason);
    },
  );
  listing.tools.set(root, tools);
  const resourceAt = kustomizeResources(tools);
  for (const entry of entries) {
    if (entry.path === IGNORE_FILE) continue;
    const part = partAt(entry);
    const location = `${root}/${entry.path}`;
    if (isToolPart(tools, entry.path)) {
      if (part !== 'manifest' && (part === 'none' || !('file' in part))) continue;
      listing.claimed.push(location);
      count.manifest(entry.path);
      const resource = part === 'manifest' ? resourceAt(entry.path) : undefined;
      if (resource !== undefined && !listing.files.has(location)) {
        count.resource(entry.path, entryOf(entry, root));
        listing.files.set(location, { name: below(path, entry.path), location, isNamed: false, resource });
      }
      continue;
    }
    if (part === 'manifest') {
      count.manifest(entry.path, entryOf(entry, root));
      if (!listing.files.has(location)) {
        listing.files.set(location, { name: below(path, entry.path), location, isNamed: false });
      }
    } else if (part !== 'none' && 'file' in part) {
      listing.refused.push(...part.file.diagnostics.map(named));
      listing.unread.push(location);
    } else if (part !== 'none') listing.failed.push(named(part.warning));
  }
  return steps;
}

interface Entry {
  /** Relative to the folder of the request. */
  readonly path: string;
  readonly kind: FileTreeEntry['kind'];
}

/** A folder to read; its path ends with a slash. */
interface Folder {
  readonly path: string;
  readonly kind: 'folder';
}

interface Walk {
  readonly root: string;
  /** What git would commit; undefined: everything counts. */
  readonly members: FolderMembers | undefined;
  readonly count: (path: string, isFolder: boolean) => void;
  readonly failed: (folder: string, error: unknown) => void;
}

/**
 * Manifests and the ignore file below a folder, in canonical order; of a work tree links and submodules, too. Links are not followed;
 * what begins with a dot is not read.
 */
function* entriesIn(walk: Walk): Generator<Entry> {
  const { root, members, count, failed } = walk;
  const open: (Entry | Folder)[] = [{ path: '', kind: 'folder' }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next.kind !== 'folder') {
      yield next;
      continue;
    }
    const { path: folder } = next;
    const children: (Entry | Folder)[] = [];
    const found = childrenOf(`${root}/${folder}`, (error) => failed(folder.slice(0, -1), error));
    for (const child of found.sort((a, b) => compareText(a.name, b.name))) {
      const path = `${folder}${child.name}`;
      if (path === '.git') continue;
      const { isCounted, kind } = childOfWalk({ members, wanted }, path, child);
      if (isCounted) count(path, child.isDirectory());
      if (kind === 'folder') children.push({ path: `${path}/`, kind });
      else if (kind !== undefined) children.push({ path, kind });
    }
    children.sort((a, b) => compareText(b.path, a.path));
    for (const child of children) open.push(child);
  }
}

const wanted = (path: string): boolean => path === IGNORE_FILE || isManifestName(path);

function childrenOf(folder: string, failed: (error: unknown) => void) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    failed(error);
    return [];
  }
}

/** The ignore file, whose size is judged before it is read. A file that was removed meanwhile fails again when it is read. */
function entryOf({ path, kind }: Entry, root: string) {
  const size = lstatSync(`${root}/${path}`, { throwIfNoEntry: false })?.size ?? 0;
  return { kind, size, blob: '' };
}

/** The root of the source that the request is about: the folder that it names, or the current one if it names several. */
export function sourceRoot([folder, ...others]: readonly string[], cwd: string): string {
  return folder === undefined || others.length > 0 ? cwd : folder;
}

/** The path of a file relative to the root of its source, with `/`. */
export function pathInSource(root: string, location: string): string {
  return relative(root, location).split(sep).join('/');
}

/** The warning of a work tree without some of its files: what they declare is not known. */
function sparse(path: string, files: readonly string[]): Diagnostic {
  const named = firstNames(files.map(quote), NAMED);
  const message = `the checkout is sparse: these manifests of the repository are not in the work tree and are not checked: ${named}`;
  const hint = 'check them out with `git sparse-checkout add` if they belong to the desired state';
  return diagnosticOf({ severity: 'warning', reason: 'FileUnreadable', message, hint, at: { path } });
}

/** Files that a warning names. */
const NAMED = 3;

/** The diagnostic of a path that cannot be read. */
function unreadable(path: string, why: string): Diagnostic {
  return diagnosticOf({ severity: 'error', reason: 'FileUnreadable', message: `cannot be read: ${why}`, at: { path } });
}

/** `file`, `folder`, or the reason why the path is neither. */
function kindOf(location: string): string {
  try {
    const found = statSync(location);
    return found.isDirectory() ? 'folder' : found.isFile() ? 'file' : 'it is neither a file nor a folder';
  } catch (error) {
    return problemOf(error);
  }
}

/** A path below the folder in the form of the request; below `.` it stands alone. */
function below(path: string, relative: string): string {
  if (relative === '') return path;
  const folder = path.replace(/\/+$/, '');
  return folder === '.' ? relative : `${folder}/${relative}`;
}
