import { type Diagnostic, diagnosticOf, type Location } from '../model/diagnostic.ts';
import type { FieldPath } from '../model/field-path.ts';
import type { YamlReading } from './compose-documents.ts';
import type { DecodeLimits } from './limits.ts';
import { createLineIndex, type LineIndex } from './line-index.ts';
import { findField } from './positions.ts';
import type { FieldProblem } from './problem.ts';
import { readJson } from './read-json.ts';
import { readYaml } from './read-yaml.ts';
import { readText } from './text.ts';
import type { TextProblem, YamlDocument } from './yaml-events.ts';

/** A file as documents, and what can already be said about it. */
export interface FileDocuments {
  /** Those that nothing is wrong with so far. */
  readonly documents: readonly YamlDocument[];
  readonly findings: readonly Finding[];
  place(document: YamlDocument, problem: FieldProblem): Finding;
  /** Where a field stands, or its nearest parent if it is missing: its key, or its value. */
  locate(document: YamlDocument, path: FieldPath, part: 'key' | 'value'): Location;
}

/** A diagnostic with its offset in the text, which orders the findings of a file. */
export interface Finding {
  readonly diagnostic: Diagnostic;
  readonly offset: number;
}

/** Reads the bytes of one file as YAML, or as JSON if its name ends so. Never throws for any bytes. */
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

/** The diagnostics of findings in the order of the text. */
export function inOrder(findings: readonly Finding[]): readonly Diagnostic[] {
  return findings.toSorted((a, b) => a.offset - b.offset).map((finding) => finding.diagnostic);
}

/** True if nothing among them is an error. */
export function isClean(findings: readonly Finding[]): boolean {
  return findings.every((finding) => finding.diagnostic.severity !== 'error');
}

function nothing(diagnostic: Diagnostic): FileDocuments {
  const finding = { diagnostic, offset: 0 };
  return { documents: [], findings: [finding], place: () => finding, locate: () => diagnostic.at ?? { path: '' } };
}

/** The index of lines is only built when there is something to say. */
function withPlaces(path: string, text: string, parsed: YamlReading): FileDocuments {
  let lines: LineIndex | undefined;
  function locationOf(offset: number): Location {
    lines ??= createLineIndex(text);
    return { path, ...lines.position(offset) };
  }
  function at(problem: TextProblem | FieldProblem, offset: number): Finding {
    const { severity, reason, message, hint } = problem;
    const said = { severity, reason, message, ...(hint === undefined ? {} : { hint }) };
    return { offset, diagnostic: diagnosticOf({ ...said, at: locationOf(offset) }) };
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
