import { parseEvents, YAMLException } from 'js-yaml';
import { type Diagnostic, diagnosticOf, type Location } from '../model/diagnostic.ts';
import type { FieldPath } from '../model/field-path.ts';
import {
  composeDocuments,
  type TextProblem,
  type YamlDocument,
  type YamlEvents,
  type YamlReading,
} from './compose-documents.ts';
import type { DecodeLimits } from './limits.ts';
import { createLineIndex, findField } from './positions.ts';
import type { FieldProblem } from './problem.ts';
import { syntaxProblems } from './syntax-errors.ts';
import { readText } from './text.ts';

/** The documents of a file, and the findings so far. */
export interface FileDocuments {
  /** Without syntax errors. */
  readonly documents: readonly YamlDocument[];
  readonly findings: readonly Finding[];
  place(document: YamlDocument, problem: FieldProblem): Finding;
  /** The location of the key or the value of a field; of its nearest parent if the field is missing. */
  locate(document: YamlDocument, path: FieldPath, part: 'key' | 'value'): Location;
}

/** A diagnostic, and its offset in the text for sorting. */
export interface Finding {
  readonly diagnostic: Diagnostic;
  readonly offset: number;
}

/** Parses a file as YAML, or as JSON if its name ends with `.json`. Never throws. */
export function readFile(path: string, bytes: Uint8Array, limits: DecodeLimits): FileDocuments {
  if (bytes.length > limits.maxBytes) {
    const message = `the file has ${bytes.length} bytes; at most ${limits.maxBytes} are read`;
    return nothing(diagnosticOf({ severity: 'error', reason: 'FileTooLarge', message, at: { path } }));
  }
  const reading = readText(bytes);
  if (!reading.ok) {
    const { reason, message, hint, line, column } = reading;
    return nothing(diagnosticOf({ severity: 'error', reason, message, hint, at: { path, line, column } }));
  }
  const { text } = reading;
  const parsed = path.toLowerCase().endsWith('.json') ? readJson(text, limits) : readYaml(text, limits);
  return withPlaces(path, text, parsed);
}

/** The diagnostics in the order of the text. */
export function inOrder(findings: readonly Finding[]): readonly Diagnostic[] {
  return findings.toSorted((a, b) => a.offset - b.offset).map((finding) => finding.diagnostic);
}

/** Whether no finding is an error. */
export function isClean(findings: readonly Finding[]): boolean {
  return findings.every((finding) => finding.diagnostic.severity !== 'error');
}

function nothing(diagnostic: Diagnostic): FileDocuments {
  const finding = { diagnostic, offset: 0 };
  return { documents: [], findings: [finding], place: () => finding, locate: () => diagnostic.at ?? { path: '' } };
}

/** Builds the index of lines only when a location is needed. */
function withPlaces(path: string, text: string, parsed: YamlReading): FileDocuments {
  let lines: ReturnType<typeof createLineIndex> | undefined;
  function locationOf(offset: number): Location {
    lines ??= createLineIndex(text);
    return { path, ...lines.position(offset) };
  }
  function at(problem: TextProblem | FieldProblem, offset: number): Finding {
    const { severity, reason, message, hint } = problem;
    const about = { severity, reason, message, ...(hint === undefined ? {} : { hint }) };
    return { offset, diagnostic: diagnosticOf({ ...about, at: locationOf(offset) }) };
  }
  function offsetIn(document: YamlDocument, field: FieldPath, part: 'key' | 'value'): number {
    const found = findField(text, document, field);
    return part === 'key' && found.depth === field.length ? found.key : found.value;
  }
  const findings = parsed.problems.map((problem) => at(problem, problem.offset));
  return {
    documents: parsed.documents,
    findings,
    place: (document, problem) =>
      at(problem, offsetIn(document, problem.path, problem.atKey === true ? 'key' : 'value')),
    locate: (document, field, part) => locationOf(offsetIn(document, field, part)),
  };
}

/** A broken text with more documents is not parsed in parts: the time grows with the square of their number. */
const MAX_PARTS = 100;

/** Parses YAML. Never throws. */
export function readYaml(text: string, limits: DecodeLimits): YamlReading {
  const events = parse(text, limits);
  if (Array.isArray(events)) return composeDocuments(text, events, limits);
  // The thorough parser does not limit nesting, so it must not get a text that is nested too deep.
  if (events.problem.reason === 'TooDeep') return { documents: [], problems: [events.problem] };
  const parts = splitDocuments(text);
  return parts.length === 1 || parts.length > MAX_PARTS
    ? { documents: [], problems: syntaxProblems(text, events.problem) }
    : readParts(text, parts, limits);
}

/**
 * Parses a broken text document by document, so that an error in one does not hide those in others. Empty lines replace
 * the text before a part, so that offsets in the part are offsets in the text.
 */
function readParts(text: string, parts: ReturnType<typeof splitDocuments>, limits: DecodeLimits): YamlReading {
  const readings = parts.map(({ start, end }) => {
    const part = '\n'.repeat(start) + text.slice(start, end);
    const events = parse(part, limits);
    return Array.isArray(events)
      ? composeDocuments(part, events, limits)
      : { documents: [], problems: syntaxProblems(part, events.problem) };
  });
  return {
    documents: readings.flatMap((reading) => reading.documents),
    problems: readings.flatMap((reading) => reading.problems),
  };
}

/** A line that begins with `---` ends a document wherever it stands. */
function splitDocuments(text: string) {
  const starts = [0];
  for (const match of text.matchAll(/^---(?=\s|$)/gm)) if (match.index > 0) starts.push(match.index);
  return starts.map((start, index) => ({ start, end: starts[index + 1] ?? text.length }));
}

function parse(text: string, limits: DecodeLimits): YamlEvents | { readonly problem: TextProblem } {
  try {
    return parseEvents(text, { maxDepth: Math.min(limits.maxDepth, 100) });
  } catch (error) {
    return { problem: problemOfParser(error) };
  }
}

/** Describes why the parser of events has stopped. */
function problemOfParser(error: unknown): TextProblem {
  if (!(error instanceof YAMLException)) {
    return { severity: 'error', reason: 'YamlSyntax', message: 'the file cannot be parsed', offset: 0 };
  }
  const offset = error.mark?.position ?? 0;
  return /maxDepth/.test(error.reason)
    ? { severity: 'error', reason: 'TooDeep', message: 'lists and mappings are nested more than 100 deep', offset }
    : { severity: 'error', reason: 'YamlSyntax', message: error.reason, offset };
}

/**
 * Parses JSON: reports a syntax error with its place, else parses the text as YAML, which reports duplicate keys and
 * positions. Tabs at the beginning of a line become spaces, which changes no offset and no value.
 */
export function readJson(text: string, limits: DecodeLimits): YamlReading {
  // An empty file holds no document, as in YAML.
  if (text.trim() === '') return { documents: [], problems: [] };
  const failure = jsonError(text);
  if (failure === undefined) {
    return readYaml(
      text.replace(/^\t+/gm, (tabs) => ' '.repeat(tabs.length)),
      limits,
    );
  }
  const offset = failure.offset ?? firstUnexpected(text);
  const message = offset >= text.trimEnd().length ? 'the JSON ends too early' : 'this is not JSON';
  return { documents: [], problems: [{ severity: 'error', reason: 'JsonSyntax', message, offset }] };
}

/** In characters: the search parses about twenty prefixes of the text. */
const SEARCH_LIMIT = 1024 * 1024;

/**
 * The offset of the error that JavaScript reports; undefined offset: it reports none, as for an unexpected token. Returns
 * undefined for valid JSON. The message itself quotes the text, which may be a Secret, so it is not used.
 */
function jsonError(text: string): { readonly offset: number | undefined } | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    const message = error instanceof Error ? error.message : '';
    const position = /^[^"']*(?:'.'[^"']*)*at position (\d+)/.exec(message)?.[1];
    if (position !== undefined) return { offset: Number(position) };
    return { offset: message.startsWith('Unexpected end') ? text.trimEnd().length : undefined };
  }
}

/** The offset of the first error: the length of the longest prefix that is incomplete but not wrong. */
function firstUnexpected(text: string): number {
  if (text.length > SEARCH_LIMIT) return 0;
  let good = 0;
  let bad = text.length;
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    const failure = jsonError(text.slice(0, middle));
    const isCutOff = failure === undefined || (failure.offset ?? -1) >= text.slice(0, middle).trimEnd().length;
    if (isCutOff) good = middle;
    else bad = middle;
  }
  return good;
}
