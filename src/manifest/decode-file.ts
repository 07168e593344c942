import type { DecodedFile, SourceDocument } from '../model/desired.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../model/json.ts';
import type { DocumentReading } from './kinds/reading.ts';
import { type DecodeLimits, defaultDecodeLimits } from './limits.ts';
import { createLineIndex, type LineIndex } from './line-index.ts';
import { findField } from './positions.ts';
import type { FieldPath, FieldProblem } from './problem.ts';
import { readDocument } from './read-document.ts';
import { readJson, readYaml, type TextDocuments } from './read-yaml.ts';
import { readText } from './text.ts';
import type { TextProblem } from './yaml-documents.ts';

/**
 * Decodes one manifest file (YAML with any number of documents, or JSON). Never throws for any bytes: what is wrong is
 * said in the diagnostics, in the order of the file, and one error makes the whole file unreadable.
 *
 * @param path relative to the root of the source, with `/`; `.json` is read as JSON
 * @param blob identifies the bytes (git's object id, or a digest); handed on in the reading
 */
export function decodeFile(
  path: string,
  bytes: Uint8Array,
  blob: string,
  limits: DecodeLimits = defaultDecodeLimits,
): DecodedFile {
  if (bytes.length > limits.maxBytes) {
    const message = `the file has ${bytes.length} bytes; at most ${limits.maxBytes} are read`;
    return unreadable(blob, [{ severity: 'error', reason: 'FileTooLarge', message, at: { path } }]);
  }
  const reading = readText(bytes);
  if (!reading.ok) {
    const { reason, message, hint, line, column } = reading;
    return unreadable(blob, [{ severity: 'error', reason, message, hint, at: { path, line, column } }]);
  }
  const text = reading.text;
  const parsed = path.toLowerCase().endsWith('.json') ? readJson(text, limits) : readYaml(text, limits);
  const place = createPlacer(path, text, parsed);
  const diagnostics: Placed[] = parsed.problems.map(place.problem);
  const documents = parsed.problems.some(isError) ? [] : readDocuments(parsed, limits, place, diagnostics);
  const sorted = diagnostics.sort((a, b) => a.offset - b.offset).map((placed) => placed.diagnostic);
  if (sorted.some(isError)) return unreadable(blob, sorted);
  return { reading: { readable: true, blob, documents }, diagnostics: sorted };
}

function unreadable(blob: string, diagnostics: readonly Diagnostic[]): DecodedFile {
  return { reading: { readable: false, blob }, diagnostics };
}

function isError(problem: { readonly severity: 'error' | 'warning' }): boolean {
  return problem.severity === 'error';
}

function readDocuments(
  parsed: TextDocuments,
  limits: DecodeLimits,
  place: Placer,
  diagnostics: Placed[],
): readonly SourceDocument[] {
  const documents: SourceDocument[] = [];
  const seen = new Map<string, number>();
  let index = 0;
  for (const { value, root } of parsed.documents) {
    for (const part of flatten(value)) {
      if (index >= limits.maxDocuments) {
        const message = `the file holds more than ${limits.maxDocuments} documents`;
        diagnostics.push(
          place.field(root, { severity: 'error', reason: 'TooManyDocuments', message, path: part.path }),
        );
        return documents;
      }
      const reading = readDocument(part.value);
      for (const problem of reading.problems) diagnostics.push(place.field(root, below(part.path, problem)));
      const document = sourceDocument(reading, index, seen);
      if (document !== undefined) documents.push(document);
      index += 1;
    }
  }
  return documents;
}

function sourceDocument(
  reading: DocumentReading,
  index: number,
  seen: Map<string, number>,
): SourceDocument | undefined {
  if (reading.content === undefined || reading.identity === undefined) return undefined;
  const count = (seen.get(reading.identity) ?? 0) + 1;
  seen.set(reading.identity, count);
  const identity = count === 1 ? reading.identity : `${reading.identity}#${count}`;
  return { identity, index, content: reading.content };
}

interface Part {
  readonly value: JsonValue;
  readonly path: FieldPath;
}

/** A document, or the items of a `v1 List` (nested ones too); an empty document is none. */
function* flatten(value: JsonValue, path: FieldPath = []): Generator<Part> {
  if (value === null) return;
  if (isJsonObject(value) && isList(value)) {
    for (const [index, item] of (value.items as readonly JsonValue[]).entries()) {
      yield* flatten(item, [...path, 'items', index]);
    }
    return;
  }
  yield { value, path };
}

function isList(value: JsonObject): boolean {
  return value.apiVersion === 'v1' && value.kind === 'List' && Array.isArray(value.items);
}

function below(path: FieldPath, problem: FieldProblem): FieldProblem {
  return path.length === 0 ? problem : { ...problem, path: [...path, ...problem.path] };
}

interface Placed {
  readonly diagnostic: Diagnostic;
  readonly offset: number;
}

interface Placer {
  problem(problem: TextProblem): Placed;
  field(root: number, problem: FieldProblem): Placed;
}

/** Gives problems their line and column; the index of lines is only built when there is a problem. */
function createPlacer(path: string, text: string, parsed: TextDocuments): Placer {
  let lines: LineIndex | undefined;
  function placed(problem: TextProblem | FieldProblem, offset: number): Placed {
    lines ??= createLineIndex(text);
    const { severity, reason, message, hint } = problem;
    const at = { path, ...lines.position(offset) };
    return { offset, diagnostic: { severity, reason, message, ...(hint === undefined ? {} : { hint }), at } };
  }
  return {
    problem: (problem) => placed(problem, problem.offset),
    field(root, problem) {
      const found = findField(text, parsed.events ?? [], root, problem.path);
      const atKey = problem.atKey === true && found.depth === problem.path.length;
      return placed(problem, atKey ? found.key : found.value);
    },
  };
}
