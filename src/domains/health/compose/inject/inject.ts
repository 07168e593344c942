import { readFile as readBytes } from 'node:fs/promises';
import { resolve } from 'node:path';
import { defaultDecodeLimits } from '../../../../manifest/limits.ts';
import { printChanged } from '../../../../manifest/print-changed.ts';
import { type FileDocuments, readFile } from '../../../../manifest/read-file.ts';
import { splitDocuments, type TextPiece } from '../../../../manifest/split-documents.ts';
import { readText } from '../../../../manifest/text.ts';
import type { Diagnostic, Location } from '../../../../model/fleet/diagnostic.ts';
import type { JsonValue } from '../../../../model/text/json.ts';
import { errorText } from '../../../../model/text/messages.ts';
import { isOptedOut } from '../../probes/opt-in.ts';
import { podsIn, withAt } from '../../probes/pod-templates.ts';
import { type RewriteOptions, rewritePod } from '../../probes/rewrite-pod.ts';

/** What to rewrite, and how. */
export interface InjectRequest extends RewriteOptions {
  /** A file relative to `cwd`; `-` is standard input. */
  readonly file: string;
  readonly cwd: string;
  readonly readStdin: (maxBytes: number) => Promise<Uint8Array>;
}

/** What a person should know of a Pod. */
export interface InjectFinding {
  readonly severity: 'error' | 'warning';
  readonly message: string;
  readonly at: Location;
}

/** Manifests with rewritten Pods. */
export interface Injection {
  /** Undefined: the manifests cannot be read, or a Pod was refused. */
  readonly text: string | undefined;
  /** Errors of files that cannot be read. */
  readonly diagnostics: readonly Diagnostic[];
  readonly findings: readonly InjectFinding[];
}

/**
 * Rewrites the Pods and Pod templates of manifests as the webhook does. All other documents, and what stands between them, are
 * as in the file, byte for byte. Rejects with a text for a person if the file cannot be read.
 */
export async function injectManifests(request: InjectRequest): Promise<Injection> {
  const { file } = request;
  const bytes = await bytesOf(request);
  const reading = readText(bytes);
  if (!reading.ok || bytes.length > defaultDecodeLimits.maxBytes) {
    return { text: undefined, diagnostics: errorsOf(read(file, bytes)), findings: [] };
  }
  const diagnostics: Diagnostic[] = [];
  const findings: InjectFinding[] = [];
  const texts = splitDocuments(reading.text).map((piece) => {
    if (piece.type === 'between') return piece.text;
    const documents = read(piece.format === 'json' ? `${file}.json` : file, Buffer.from(piece.text));
    diagnostics.push(...errorsOf(documents).map((found) => ({ ...found, at: placeIn(file, piece, found.at) })));
    const [document] = documents.documents;
    if (document === undefined) return piece.text;
    const changed = rewriteDocument(document.value, request, (path, finding) => {
      const at = placeIn(file, piece, documents.locate(document, path, 'value'));
      findings.push({ ...finding, at });
    });
    return changed === document.value ? piece.text : printed(piece, document.value, changed);
  });
  const isRefused = diagnostics.length > 0 || findings.some(({ severity }) => severity === 'error');
  const mark = BYTE_ORDER_MARK.every((byte, index) => bytes[index] === byte) ? '\ufeff' : '';
  return { text: isRefused ? undefined : `${mark}${texts.join('')}`, diagnostics, findings: findings.sort(byPlace) };
}

function byPlace({ at: a }: InjectFinding, { at: b }: InjectFinding): number {
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}

/** In UTF-8; decoding removes it. */
const BYTE_ORDER_MARK = Uint8Array.of(0xef, 0xbb, 0xbf);

async function bytesOf({ file, cwd, readStdin }: InjectRequest): Promise<Uint8Array> {
  if (file === '-') return readStdin(defaultDecodeLimits.maxBytes + 1);
  return readBytes(resolve(cwd, file)).catch((error: unknown) => {
    throw new Error(`cannot read ${file}: ${errorText(error)}`);
  });
}

function read(path: string, bytes: Uint8Array): FileDocuments {
  return readFile(path, bytes, defaultDecodeLimits);
}

function errorsOf(documents: FileDocuments | undefined): readonly Diagnostic[] {
  return (documents?.findings ?? []).map(({ diagnostic }) => diagnostic).filter(({ severity }) => severity === 'error');
}

/** A place in a document as a place in the file. */
function placeIn(file: string, piece: Extract<TextPiece, { type: 'document' }>, at: Location | undefined): Location {
  const { line = 1, column = 1 } = at ?? {};
  const { linesBefore, charactersBefore } = piece;
  return { path: file, line: line + linesBefore, column: line === 1 ? column + charactersBefore : column };
}

type Report = (path: readonly (string | number)[], finding: Omit<InjectFinding, 'at'>) => void;

/** The document with rewritten Pods; the document itself if nothing changes. */
function rewriteDocument(document: JsonValue, options: RewriteOptions, report: Report): JsonValue {
  let changed = document;
  for (const { path, pod, name } of podsIn(document)) {
    if (isOptedOut(pod)) continue;
    const rewriting = rewritePod(pod, options);
    if (rewriting.type === 'refused') {
      const { message, path: field } = rewriting.problem;
      report([...path, ...field], { severity: 'error', message: `${name}: ${message}` });
      continue;
    }
    for (const { message, path: field } of rewriting.warnings) {
      report([...path, ...field], { severity: 'warning', message: `${name}: ${message}` });
    }
    if (rewriting.type === 'rewritten') changed = withAt(changed, path, rewriting.pod);
  }
  return changed;
}

function printed({ format, text }: Extract<TextPiece, { type: 'document' }>, before: JsonValue, after: JsonValue) {
  if (format === 'yaml') return printChanged(text, before, after);
  const indent = /^\{\r?\n([ \t]+)/.exec(text)?.[1] ?? (text.includes('\n') ? 2 : undefined);
  return JSON.stringify(after, undefined, indent);
}
