import { open, readdir, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { decodeFile } from '../manifest/decode-file.ts';
import { defaultDecodeLimits } from '../manifest/limits.ts';
import type { DecodedFile } from '../model/desired.ts';
import { compareDiagnostics, type Diagnostic, diagnosticOf } from '../model/diagnostic.ts';
import { compareText } from '../model/json.ts';
import {
  followsAll,
  IGNORE_FILE,
  isManifestName,
  type Membership,
  parseIgnoreFile,
} from '../sources/tree/ignore-file.ts';

/** What is to be validated. */
export interface ValidationRequest {
  /** Files and folders, relative to `cwd`; `-` is standard input. */
  readonly paths: readonly string[];
  readonly cwd: string;
  /** Rejects, or gives more than it was asked for, if there is more. */
  readonly readStdin: (maxBytes: number) => Promise<Uint8Array>;
}

/** What was found: every diagnostic in canonical order (path, line, column, message), paths as the person wrote them. */
export interface ValidationReport {
  readonly files: number;
  /** In files without an error. */
  readonly documents: number;
  readonly diagnostics: readonly Diagnostic[];
}

/** One file to be read, under the name that the person knows it by. */
interface InputFile {
  readonly name: string;
  readonly location: string;
}

const STDIN = '-';

/**
 * Checks manifests as a server would read them. In a folder every manifest that its `.fleetrelayignore` does not exclude
 * is checked; a file that is named is checked in any case, and may be a server's RelayConfig as well. What cannot be read
 * is a diagnostic, never a rejection.
 */
export async function validatePaths(request: ValidationRequest): Promise<ValidationReport> {
  const files = new Map<string, readonly Diagnostic[]>();
  let documents = 0;
  const add = (name: string, decoded: DecodedFile): void => {
    if (decoded.reading.readable && !files.has(name)) documents += decoded.reading.documents.length;
    files.set(name, decoded.diagnostics);
  };
  const troubles: Diagnostic[] = [];
  for (const path of new Set(request.paths)) {
    if (path === STDIN) add(STDIN, await readStdin(request));
    else await validatePath(path, request.cwd, add, troubles);
  }
  const diagnostics = [...troubles, ...[...files.values()].flat()].sort(compareDiagnostics);
  return { files: files.size, documents, diagnostics };
}

type Add = (name: string, decoded: DecodedFile) => void;

async function validatePath(path: string, cwd: string, add: Add, troubles: Diagnostic[]): Promise<void> {
  const location = resolve(cwd, path);
  const kind = await kindOf(location);
  if (kind === 'folder') {
    for await (const file of manifestsIn(path, location, troubles)) add(file.name, await readManifest(file));
  } else if (kind === 'file') {
    add(path, await orServerConfig({ name: path, location }));
  } else troubles.push(unreadable(path, kind));
}

/** A named file that turns out to be a server's configuration is checked as one. */
async function orServerConfig(file: InputFile): Promise<DecodedFile> {
  const bytes = await read(file);
  if ('message' in bytes) return failed(bytes);
  const decoded = decodeFile(file.name, bytes, '');
  if (!decoded.diagnostics.some((diagnostic) => diagnostic.reason === 'ServerConfigInRepository')) return decoded;
  const { decodeRelayConfig } = await import('../manifest/relay-config.ts');
  const { diagnostics, config } = decodeRelayConfig(file.name, bytes);
  const readable = config !== undefined;
  return {
    reading: { blob: '', findings: [], ...(readable ? { readable, documents: [] } : { readable }) },
    diagnostics,
  };
}

async function readManifest(file: InputFile): Promise<DecodedFile> {
  const bytes = await read(file);
  return 'message' in bytes ? failed(bytes) : decodeFile(file.name, bytes, '');
}

async function readStdin(request: ValidationRequest): Promise<DecodedFile> {
  try {
    return decodeFile(STDIN, await request.readStdin(defaultDecodeLimits.maxBytes + 1), '');
  } catch (error) {
    return failed(unreadable(STDIN, reasonOf(error)));
  }
}

function failed(diagnostic: Diagnostic): DecodedFile {
  return { reading: { readable: false, blob: '', findings: [] }, diagnostics: [diagnostic] };
}

function unreadable(path: string, why: string): Diagnostic {
  return diagnosticOf({ severity: 'error', reason: 'FileUnreadable', message: `cannot be read: ${why}`, at: { path } });
}

/** The bytes, or the diagnostic that says why there are none. Not a byte of a file that is too large is read. */
async function read({ name, location }: InputFile): Promise<Uint8Array | Diagnostic> {
  try {
    await using file = await open(location);
    const { size } = await file.stat();
    if (size <= defaultDecodeLimits.maxBytes) return await file.readFile();
    const message = `the file has ${size} bytes; at most ${defaultDecodeLimits.maxBytes} are read`;
    return diagnosticOf({ severity: 'error', reason: 'FileTooLarge', message, at: { path: name } });
  } catch (error) {
    return unreadable(name, reasonOf(error));
  }
}

/** Manifests below a folder in canonical order. Links are not followed, as in a source; `.git` is never looked into. */
async function* manifestsIn(path: string, root: string, troubles: Diagnostic[]): AsyncGenerator<InputFile> {
  const membership = await membershipOf(join(path, IGNORE_FILE), `${root}/${IGNORE_FILE}`, troubles);
  for await (const { relative, isLink } of filesIn(path, root, '', membership, troubles)) {
    const name = join(path, relative);
    if (!isManifestName(relative)) continue;
    if (!isLink) yield { name, location: `${root}/${relative}` };
    else {
      const message = 'is a symbolic link, which is not followed';
      troubles.push(diagnosticOf({ severity: 'error', reason: 'SymbolicLink', message, at: { path: name } }));
    }
  }
}

/** By the ignore file of a folder; one that cannot be used is said, as a source would say it, and leaves nothing out. */
async function membershipOf(name: string, location: string, troubles: Diagnostic[]): Promise<Membership> {
  const bytes = await read({ name, location });
  if ('message' in bytes) return followsAll;
  const parsed = parseIgnoreFile(new TextDecoder().decode(bytes));
  if (parsed.ok) return parsed.membership;
  const at = { path: name, line: parsed.line, column: 1 };
  troubles.push(
    diagnosticOf({ severity: 'error', reason: 'IgnoreFile', message: `the ignore file ${parsed.problem}`, at }),
  );
  return followsAll;
}

interface FoundFile {
  readonly relative: string;
  readonly isLink: boolean;
}

async function* filesIn(
  path: string,
  root: string,
  folder: string,
  membership: Membership,
  troubles: Diagnostic[],
): AsyncGenerator<FoundFile> {
  const entries = await readdir(`${root}/${folder}`, { withFileTypes: true }).catch((error: unknown) => {
    troubles.push(unreadable(join(path, folder), reasonOf(error)));
    return [];
  });
  for (const entry of entries.sort((a, b) => compareText(a.name, b.name))) {
    const relative = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) {
      if (entry.name === '.git' || !membership.follows(`${relative}/`)) continue;
      yield* filesIn(path, root, relative, membership, troubles);
    } else if ((entry.isFile() || entry.isSymbolicLink()) && membership.follows(relative)) {
      yield { relative, isLink: entry.isSymbolicLink() };
    }
  }
}

/** `file`, `folder`, or why it is neither. */
async function kindOf(location: string): Promise<string> {
  try {
    const found = await stat(location);
    return found.isDirectory() ? 'folder' : found.isFile() ? 'file' : 'it is neither a file nor a folder';
  } catch (error) {
    return reasonOf(error);
  }
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  switch (code) {
    case 'ENOENT':
      return 'there is no such file or folder';
    case 'EACCES':
    case 'EPERM':
      return 'permission is denied';
    default:
      return typeof code === 'string' ? code : 'an unknown reason';
  }
}

/** A name below the path as written; below `.` it stands alone. */
function join(path: string, relative: string): string {
  if (relative === '') return path;
  const folder = path.replace(/\/+$/, '');
  return folder === '.' ? relative : `${folder}/${relative}`;
}
