import { type Diagnostic, diagnosticOf, type Location } from '../model/fleet/diagnostic.ts';
import { sizeOf, type ValueSize } from '../model/objects/object-size.ts';
import type { FieldPath } from '../model/text/field-path.ts';
import { given } from '../model/values/given.ts';
import type { TextProblem, YamlDocument, YamlReading } from './compose-documents.ts';
import { editsFor } from './field-edits.ts';
import type { DecodeLimits } from './limits.ts';
import { tooManyPlaces } from './places.ts';
import { createLineIndex, findField } from './positions.ts';
import type { FieldProblem } from './problem.ts';
import { readJson } from './read-json.ts';
import { readYaml } from './read-yaml.ts';
import { readText } from './text.ts';
import { createWrittenScalars } from './written-scalars.ts';

/** The documents of a file, and the findings so far. */
export interface FileDocuments {
  readonly path: string;
  /** Without syntax errors. */
  readonly documents: readonly YamlDocument[];
  readonly findings: readonly FileFinding[];
  /** The finding at the place of the field. If its message shows a value as read, it also names the value as written. */
  place(document: YamlDocument, problem: FieldProblem): FileFinding;
  /** The size of a document's value. */
  sizeOf(document: YamlDocument): ValueSize;
  /** The location of the key or the value of a field; of its nearest parent if the field is missing. */
  locate(document: YamlDocument, path: FieldPath, part: 'key' | 'value'): Location;
}

/** A diagnostic, and its offset in the text for sorting. */
export interface FileFinding {
  readonly diagnostic: Diagnostic;
  readonly offset: number;
}

/** Parses a file as YAML, or as JSON if its name ends with `.json`. Never throws. */
export function readFile(path: string, bytes: Uint8Array, limits: DecodeLimits): FileDocuments {
  if (bytes.length > limits.maxBytes) {
    const message = `the file has ${bytes.length} bytes; at most ${limits.maxBytes} are read`;
    return nothing(path, diagnosticOf({ severity: 'error', reason: 'FileTooLarge', message, at: { path } }));
  }
  const reading = readText(bytes);
  if (!reading.ok) {
    const { reason, message, hint, line, column } = reading;
    return nothing(path, diagnosticOf({ severity: 'error', reason, message, hint, at: { path, line, column } }));
  }
  const { text } = reading;
  const crowded = tooManyPlaces(text, limits);
  if (crowded !== undefined) return withPlaces(path, text, { documents: [], problems: [crowded] });
  const parsed = path.toLowerCase().endsWith('.json') ? readJson(text, limits) : readYaml(text, limits);
  return withPlaces(path, text, parsed);
}

/** The diagnostics in the order of the text. */
export function inOrder(findings: readonly FileFinding[]): readonly Diagnostic[] {
  return findings.toSorted((a, b) => a.offset - b.offset).map((finding) => finding.diagnostic);
}

/** Whether no finding is an error. */
export function isClean(findings: readonly FileFinding[]): boolean {
  return findings.every((finding) => finding.diagnostic.severity !== 'error');
}

function nothing(path: string, diagnostic: Diagnostic): FileDocuments {
  const finding = { diagnostic, offset: 0 };
  return {
    path,
    documents: [],
    findings: [finding],
    place: () => finding,
    sizeOf: ({ value }) => sizeOf(value),
    locate: () => diagnostic.at ?? { path },
  };
}

/** Builds the index of lines only when a location is needed. */
function withPlaces(path: string, text: string, parsed: YamlReading): FileDocuments {
  let lines: ReturnType<typeof createLineIndex> | undefined;
  function locationOf(offset: number): Location {
    if (offset === 0) return { path, line: 1, column: 1 };
    lines ??= createLineIndex(text);
    return { path, ...lines.position(offset) };
  }
  function at(problem: TextProblem | FieldProblem, offset: number): FileFinding {
    const { severity, reason, message, hint } = problem;
    const about = { severity, reason, message, ...given({ hint }) };
    return { offset, diagnostic: diagnosticOf({ ...about, at: locationOf(offset) }) };
  }
  function offsetIn(document: YamlDocument, field: FieldPath, part: 'key' | 'value'): number {
    const found = findField(document, field);
    return part === 'key' && found.depth === field.length ? found.key : found.value;
  }
  const findings = parsed.problems.map((problem) => at(problem, problem.offset));
  const sizes = new Map<YamlDocument, ValueSize>();
  const withWritten = createWrittenScalars();
  return {
    path,
    documents: parsed.documents,
    findings,
    place: (document, problem) => {
      const { diagnostic, offset } = at(
        withWritten(document, problem),
        offsetIn(document, problem.path, problem.atKey === true ? 'key' : 'value'),
      );
      const fix = problem.fix && editsFor(document, problem.path, problem.fix);
      return { offset, diagnostic: fix === undefined ? diagnostic : { ...diagnostic, fix } };
    },
    sizeOf: (document) => {
      const size = sizes.get(document) ?? sizeOf(document.value);
      sizes.set(document, size);
      return size;
    },
    locate: (document, field, part) => locationOf(offsetIn(document, field, part)),
  };
}
