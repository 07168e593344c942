import { lstat, open, readdir, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { decodeFile } from '../../manifest/decode-file.ts';
import { defaultDecodeLimits } from '../../manifest/limits.ts';
import type { DecodedFile } from '../../model/desired.ts';
import { compareDiagnostics, type Diagnostic, diagnosticOf } from '../../model/diagnostic.ts';
import type { TreeChange } from '../../ports/git-repo.ts';
import { IGNORE_FILE, isManifestName } from '../../sources/tree/ignore-file.ts';
import { emptyTree, readTree } from '../../sources/tree/tree-reader.ts';
import type { ValidationReport, ValidationRequest } from './report.ts';

/** Decoded files by name: the path in the form of the request. */
type InputFiles = ReadonlyMap<string, DecodedFile>;

const STDIN = '-';
const { maxBytes: MAX_BYTES } = defaultDecodeLimits;

/**
 * Checks manifests as a server would read them. In a folder it checks every manifest that the `.fleetrelayignore` of the
 * folder does not exclude; a file that is named is checked in any case, and may be a server's RelayConfig as well. A file
 * that cannot be read is a diagnostic, never a rejection.
 */
export async function validatePaths({ paths, cwd, readStdin }: ValidationRequest): Promise<ValidationReport> {
  const files = new Map<string, DecodedFile>();
  const failures: Diagnostic[] = [];
  for (const path of new Set(paths)) {
    const location = resolve(cwd, path);
    const kind = path === STDIN ? 'stdin' : await kindOf(location);
    if (kind === 'stdin') files.set(STDIN, await decodeStdin(readStdin));
    else if (kind === 'file') files.set(path, await decodeNamed(path, location));
    else if (kind === 'folder') for (const file of await decodeFolder(path, location, failures)) files.set(...file);
    else failures.push(unreadable(path, kind));
  }
  const decoded = [...files.values()];
  const documents = decoded.flatMap(({ reading }) => (reading.readable ? reading.documents : [])).length;
  const diagnostics = [...failures, ...decoded.flatMap((file) => file.diagnostics)].sort(compareDiagnostics);
  // The rest of the report is filled when the schemas of Kubernetes are read.
  const rest = { resources: [], notEvaluated: [], excerpts: new Map<string, string>(), fixed: [] };
  return { files: files.size, documents, diagnostics, ...rest };
}

async function decodeStdin(readStdin: ValidationRequest['readStdin']): Promise<DecodedFile> {
  try {
    return decodeFile(STDIN, await readStdin(MAX_BYTES + 1), '');
  } catch (error) {
    return failed(unreadable(STDIN, problemOf(error)));
  }
}

/** Decodes a named file, as a RelayConfig if it is one. */
async function decodeNamed(name: string, location: string): Promise<DecodedFile> {
  const content = await contentOf(location);
  if ('reason' in content) {
    const reason = content.isTooLarge ? 'FileTooLarge' : 'FileUnreadable';
    return failed(diagnosticOf({ severity: 'error', reason, message: content.reason, at: { path: name } }));
  }
  const { bytes } = content;
  const decoded = decodeFile(name, bytes, '');
  if (!decoded.diagnostics.some(({ reason }) => reason === 'ServerConfigInRepository')) return decoded;
  const { decodeRelayConfig } = await import('../../manifest/relay-config.ts');
  const { diagnostics, config } = decodeRelayConfig(name, bytes);
  const readable = config !== undefined;
  return {
    reading: { blob: '', findings: [], ...(readable ? { readable, documents: [] } : { readable }) },
    diagnostics,
  };
}

/** Decodes the manifests below a folder, and an ignore file that cannot be used. */
async function decodeFolder(path: string, root: string, failures: Diagnostic[]): Promise<InputFiles> {
  const entries: TreeChange[] = [];
  for await (const entry of manifestsIn(root, '', (folder, error) => {
    failures.push(unreadable(below(path, folder), problemOf(error)));
  })) {
    entries.push(entry);
  }
  const read = (relative: string) => contentOf(`${root}/${relative}`);
  const { tree } = await readTree({ decode: decodeFile, read, maxFileBytes: MAX_BYTES }, emptyTree, entries);
  const named = ({ at, ...rest }: Diagnostic): Diagnostic =>
    at === undefined ? rest : { ...rest, at: { ...at, path: below(path, at.path) } };
  return new Map(
    [...tree.nodes].flatMap(([relative, { file }]) =>
      file === undefined
        ? []
        : [[below(path, relative), { ...file, diagnostics: file.diagnostics.map(named) }] as const],
    ),
  );
}

/** Manifests and the ignore file below a folder. Links are not followed, as in git; `.git` is never read. */
async function* manifestsIn(
  root: string,
  folder: string,
  failed: (folder: string, error: unknown) => void,
): AsyncGenerator<TreeChange> {
  const children = await readdir(`${root}/${folder}`, { withFileTypes: true }).catch((error: unknown) => {
    failed(folder, error);
    return [];
  });
  for (const child of children) {
    const path = folder === '' ? child.name : `${folder}/${child.name}`;
    if (child.isDirectory() && child.name !== '.git') yield* manifestsIn(root, path, failed);
    if (!(child.isFile() || child.isSymbolicLink()) || !(path === IGNORE_FILE || isManifestName(path))) continue;
    // A file that was removed meanwhile fails again when it is read.
    const size = await lstat(`${root}/${path}`).then(
      (found) => found.size,
      () => 0,
    );
    yield { path, entry: { kind: child.isFile() ? 'file' : 'symlink', size, blob: '' } };
  }
}

function failed(diagnostic: Diagnostic): DecodedFile {
  return { reading: { readable: false, blob: '', findings: [] }, diagnostics: [diagnostic] };
}

function unreadable(path: string, why: string): Diagnostic {
  return diagnosticOf({ severity: 'error', reason: 'FileUnreadable', message: `cannot be read: ${why}`, at: { path } });
}

/** The bytes of a file, or why there are none, as the end of a sentence. Reads nothing of a file that is too large. */
async function contentOf(
  location: string,
): Promise<{ readonly bytes: Uint8Array } | { readonly reason: string; readonly isTooLarge: boolean }> {
  try {
    await using file = await open(location);
    const { size } = await file.stat();
    if (size <= MAX_BYTES) return { bytes: await file.readFile() };
    return { reason: `the file has ${size} bytes; at most ${MAX_BYTES} are read`, isTooLarge: true };
  } catch (error) {
    return { reason: `cannot be read: ${problemOf(error)}`, isTooLarge: false };
  }
}

/** `file`, `folder`, or why it is neither. */
async function kindOf(location: string): Promise<string> {
  try {
    const found = await stat(location);
    return found.isDirectory() ? 'folder' : found.isFile() ? 'file' : 'it is neither a file nor a folder';
  } catch (error) {
    return problemOf(error);
  }
}

const PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  EACCES: 'permission is denied',
  EPERM: 'permission is denied',
};

function problemOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'an unknown reason';
  return PROBLEMS[code] ?? code;
}

/** A path below the folder in the form of the request; below `.` it stands alone. */
function below(path: string, relative: string): string {
  if (relative === '') return path;
  const folder = path.replace(/\/+$/, '');
  return folder === '.' ? relative : `${folder}/${relative}`;
}
