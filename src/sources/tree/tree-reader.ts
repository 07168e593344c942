import type { DecodedFile } from '../../model/desired.ts';
import type { Diagnostic } from '../../model/diagnostic.ts';
import { errorText } from '../../model/error-text.ts';
import { compareText } from '../../model/json.ts';
import { pathProblem } from '../../model/path-limits.ts';
import { followsAll, IGNORE_FILE, isManifestName, type Membership, parseIgnoreFile } from './membership.ts';
import { unreadableFile, warningAt } from './unreadable.ts';

/** One entry of a tree of files. `blob` changes exactly when the content does. */
export interface TreeEntry {
  readonly kind: 'file' | 'symlink' | 'submodule';
  readonly blob: string;
  /** Bytes. */
  readonly size: number;
}

/** `entry` null: the path is gone. */
export interface TreeChange {
  readonly path: string;
  readonly entry: TreeEntry | null;
}

/** Reads and checks one manifest. */
export type DecodeFile = (path: string, bytes: Uint8Array, blob: string) => DecodedFile | Promise<DecodedFile>;

/** Bytes of a file of the tree that is being prepared; `reason` says why not, as the end of a sentence. */
export type ReadTreeFile = (
  path: string,
  entry: TreeEntry,
) => Promise<{ readonly bytes: Uint8Array } | { readonly reason: string }>;

/** What a tree would be after a set of changes. Nothing has happened yet. */
export interface PreparedTree extends TreeDelta {
  /** Manifests in the tree afterwards, readable or not. */
  readonly manifests: number;
  readonly unreadable: number;
  readonly diagnostics: readonly Diagnostic[];
  /** Which state of the reader it starts from. */
  readonly generation: number;
}

interface TreeDelta {
  readonly entries: ReadonlyMap<string, TreeEntry | null>;
  /** Manifests that read differently than before; null: no longer one of the source's files. */
  readonly files: ReadonlyMap<string, DecodedFile | null>;
  /** Warnings about entries that are no manifests; null: nothing to be said any more. */
  readonly remarks: ReadonlyMap<string, Diagnostic | null>;
  readonly membership: Membership;
}

/** The manifests of one tree, kept up to date change by change: a blob is read and decoded once. */
export interface TreeReader {
  /** Manifests in the current tree, readable or not. */
  manifests(): number;
  /** Works out what a tree that differs by `changes` holds. Reads only what is new. */
  prepare(changes: readonly TreeChange[], read: ReadTreeFile): Promise<PreparedTree>;
  /** Was it prepared from the current tree? */
  isCurrent(prepared: PreparedTree): boolean;
  /** Makes a prepared tree the current one. Throws if it was prepared from another one. */
  admit(prepared: PreparedTree): void;
  entryOf(path: string): TreeEntry | undefined;
  /** All paths of the current tree, manifests or not. */
  paths(): readonly string[];
}

export interface TreeLimits {
  /** Larger files are unreadable. */
  readonly maxFileBytes: number;
}

interface State {
  readonly decode: DecodeFile;
  readonly limits: TreeLimits;
  readonly entries: Map<string, TreeEntry>;
  readonly files: Map<string, DecodedFile>;
  readonly remarks: Map<string, Diagnostic>;
  membership: Membership;
  generation: number;
  /** Decoded for a tree that was prepared and not admitted: the next one probably holds the same blobs. */
  spare: Pick<TreeDelta, 'entries' | 'files'>;
}

const MAX_IGNORE_BYTES = 256 * 1024;
const READ_AT_ONCE = 32;
const READ_AT_ONCE_BYTES = 16 * 1024 * 1024;

/** Creates a reader of the empty tree. */
export function createTreeReader(deps: { readonly decode: DecodeFile }, limits: TreeLimits): TreeReader {
  const state: State = {
    decode: deps.decode,
    limits,
    entries: new Map(),
    files: new Map(),
    remarks: new Map(),
    membership: followsAll,
    generation: 0,
    spare: { entries: new Map(), files: new Map() },
  };
  return {
    manifests: () => state.files.size - (state.files.has(IGNORE_FILE) ? 1 : 0),
    prepare: (changes, read) => prepare(state, new Map(changes.map(({ path, entry }) => [path, entry])), read),
    isCurrent: (prepared) => prepared.generation === state.generation,
    admit: (prepared) => {
      if (prepared.generation !== state.generation) throw new Error('the tree was prepared from another one');
      applyTo(state.entries, prepared.entries);
      applyTo(state.files, prepared.files);
      applyTo(state.remarks, prepared.remarks);
      state.membership = prepared.membership;
      state.generation += 1;
      state.spare = { entries: new Map(), files: new Map() };
    },
    entryOf: (path) => state.entries.get(path),
    paths: () => [...state.entries.keys()],
  };
}

async function prepare(
  state: State,
  changes: ReadonlyMap<string, TreeEntry | null>,
  read: ReadTreeFile,
): Promise<PreparedTree> {
  const { generation } = state;
  const rules = await readRules(state, changes, read);
  const files = new Map<string, DecodedFile | null>();
  const remarks = new Map<string, Diagnostic | null>();
  if (rules.file !== undefined && (rules.file !== null || state.files.has(IGNORE_FILE))) {
    files.set(IGNORE_FILE, rules.file);
  }
  // Other rules can change what belongs to the source anywhere in the tree.
  const candidates = new Set(rules.changed ? [...state.entries.keys(), ...changes.keys()] : changes.keys());
  candidates.delete(IGNORE_FILE);
  const toDecode: (readonly [string, TreeEntry])[] = [];
  for (const path of candidates) {
    const changed = changes.get(path);
    const entry = changed === undefined ? (state.entries.get(path) ?? null) : changed;
    const tooLong = pathProblem(path) !== undefined;
    const followed = entry !== null && !tooLong && rules.membership.follows(path);
    // Rules are not asked about a path that is too long: a manifest there is unreadable, not gone.
    const member = entry !== null && (tooLong || followed) && entry.kind !== 'submodule' && isManifestName(path);
    if (member) toDecode.push([path, entry]);
    else if (state.files.has(path)) files.set(path, null);
    const remark = followed && !member ? remarkOn(path, entry) : undefined;
    if (remark !== undefined) remarks.set(path, remark);
    else if (state.remarks.has(path)) remarks.set(path, null);
  }
  for (const [path, file] of await decodeAll(state, toDecode, read)) {
    if (state.files.get(path) !== file) files.set(path, file);
  }
  state.spare = { entries: changes, files };
  return summarize(state, { entries: changes, files, remarks, membership: rules.membership }, generation);
}

/** The ignore rules after the changes. An ignore file that cannot be read is an unreadable file of the source. */
async function readRules(
  state: State,
  changes: ReadonlyMap<string, TreeEntry | null>,
  read: ReadTreeFile,
): Promise<{ membership: Membership; changed: boolean; file?: DecodedFile | null }> {
  const entry = changes.get(IGNORE_FILE);
  if (entry === undefined) return { membership: state.membership, changed: false };
  if (entry === null) return { membership: followsAll, changed: true, file: null };
  const broken = (what: string, line?: number) => ({
    membership: followsAll,
    changed: true,
    file: unreadableFile(IGNORE_FILE, entry.blob, 'FileUnreadable', what, undefined, line),
  });
  if (entry.kind !== 'file') return broken('is not a plain file');
  if (entry.size > MAX_IGNORE_BYTES) return broken(`is larger than ${MAX_IGNORE_BYTES} bytes`);
  const content = await read(IGNORE_FILE, entry);
  if ('reason' in content) return broken(content.reason);
  const parsed = parseIgnoreFile(new TextDecoder().decode(content.bytes));
  return parsed.ok ? { membership: parsed.membership, changed: true, file: null } : broken(parsed.problem, parsed.line);
}

/** Decodes in portions, so that neither memory nor the number of open reads grows with the tree. */
async function decodeAll(
  state: State,
  wanted: (readonly [string, TreeEntry])[],
  read: ReadTreeFile,
): Promise<ReadonlyMap<string, DecodedFile>> {
  const decoded = new Map<string, DecodedFile>();
  wanted.sort((a, b) => compareText(a[0], b[0]));
  let portion: Promise<void>[] = [];
  let bytes = 0;
  for (const [path, entry] of wanted) {
    portion.push(decodeOne(state, path, entry, read).then((file) => void decoded.set(path, file)));
    bytes += Math.min(entry.size, state.limits.maxFileBytes);
    if (portion.length >= READ_AT_ONCE || bytes >= READ_AT_ONCE_BYTES) {
      await Promise.all(portion);
      portion = [];
      bytes = 0;
    }
  }
  await Promise.all(portion);
  return decoded;
}

async function decodeOne(state: State, path: string, entry: TreeEntry, read: ReadTreeFile): Promise<DecodedFile> {
  const { blob, kind, size } = entry;
  for (const { files, entries } of [state, state.spare]) {
    const known = files.get(path);
    // A link and a file can have the same blob.
    if (known?.reading.blob === blob && entries.get(path)?.kind === kind) return known;
  }
  const problem = pathProblem(path);
  if (problem !== undefined) {
    const shown = path.length > 200 ? `${path.slice(0, 200)}...` : path;
    return unreadableFile(shown, blob, 'PathTooLong', problem, 'give it a shorter one');
  }
  if (kind === 'symlink') {
    const hint = `put the file itself there, or list it in ${IGNORE_FILE}`;
    return unreadableFile(path, blob, 'SymbolicLink', 'is a symbolic link, which is not followed', hint);
  }
  if (size > state.limits.maxFileBytes) {
    const what = `is ${size} bytes large; at most ${state.limits.maxFileBytes} are read`;
    return unreadableFile(path, blob, 'FileTooLarge', what, `split it, or list it in ${IGNORE_FILE}`);
  }
  const content = await read(path, entry);
  if ('reason' in content) return unreadableFile(path, blob, 'FileUnreadable', content.reason);
  try {
    return await state.decode(path, content.bytes, blob);
  } catch (error) {
    const why = errorText(error);
    return unreadableFile(path, blob, 'DecoderFailed', `could not be decoded: ${why}`);
  }
}

function summarize(state: State, delta: TreeDelta, generation: number): PreparedTree {
  let manifests = 0;
  let unreadable = 0;
  const said: Diagnostic[] = [];
  for (const [path, file] of overlay(state.files, delta.files)) {
    if (path !== IGNORE_FILE) manifests += 1;
    if (!file.reading.readable) unreadable += 1;
    said.push(...file.diagnostics);
  }
  for (const [, remark] of overlay(state.remarks, delta.remarks)) said.push(remark);
  return { ...delta, manifests, unreadable, diagnostics: said.sort(compareDiagnostics), generation };
}

function remarkOn(path: string, entry: TreeEntry): Diagnostic | undefined {
  if (entry.kind === 'submodule') return warningAt(path, 'SubmoduleIgnored', 'is a submodule, which is not followed');
  return entry.kind === 'symlink'
    ? warningAt(path, 'SymbolicLinkIgnored', 'is a symbolic link, which is not followed')
    : undefined;
}

function* overlay<Value>(
  before: ReadonlyMap<string, Value>,
  changes: ReadonlyMap<string, Value | null>,
): Generator<readonly [string, Value]> {
  for (const entry of before) if (!changes.has(entry[0])) yield entry;
  for (const [path, value] of changes) if (value !== null) yield [path, value];
}

function applyTo<Value>(map: Map<string, Value>, changes: ReadonlyMap<string, Value | null>): void {
  for (const [path, value] of changes) {
    if (value === null) map.delete(path);
    else map.set(path, value);
  }
}

function compareDiagnostics(a: Diagnostic, b: Diagnostic): number {
  return (
    compareText(a.at?.path ?? '', b.at?.path ?? '') ||
    (a.at?.line ?? 0) - (b.at?.line ?? 0) ||
    (a.at?.column ?? 0) - (b.at?.column ?? 0) ||
    compareText(a.reason, b.reason) ||
    compareText(a.message, b.message)
  );
}
