import { compareDiagnostics, type Diagnostic } from '../../model/diagnostic.ts';
import { compareText } from '../../model/json.ts';
import type { CheckedFile } from './check-file.ts';
import { createBytesReader, type FileBytes } from './file-bytes.ts';
import { type InputFile, type Inputs, STDIN } from './inputs.ts';
import type { ResourceOutcome, ValidationReport, ValidationRequest } from './report.ts';

/** A file with its findings. */
export interface JudgedFile {
  readonly file: InputFile;
  readonly checked: CheckedFile;
}

interface Judged {
  readonly request: ValidationRequest;
  readonly inputs: Inputs;
  readonly files: readonly JudgedFile[];
  readonly stdin: FileBytes | undefined;
}

/** Makes the report: suppressions are honoured, outcomes derived from the findings, everything is in canonical order. */
export function reportOf({ request, inputs, files, stdin }: Judged): ValidationReport {
  const read = createBytesReader();
  const excerpts = new Map<string, string>();
  const diagnostics: Diagnostic[] = [...inputs.refused, ...inputs.failed];
  const resources: ResourceOutcome[] = [];
  let documents = 0;
  for (const { file, checked } of files) {
    const found = checked.diagnostics;
    if (found.length > 0 || checked.hasSuppressions) {
      const content = file.name === STDIN ? stdin : read(file.location, file.isNamed);
      const text = content?.ok === true ? new TextDecoder().decode(content.bytes) : '';
      // found = suppress(...)
      if (request.excerpts === true) addExcerpts(text, found, excerpts);
    }
    diagnostics.push(...found);
    resources.push(...outcomesOf(file.name, checked, found));
    if (found.every(({ severity }) => severity === 'warning')) documents += checked.documents.length;
  }
  return {
    files: files.length + inputs.refused.length,
    documents,
    diagnostics: diagnostics.sort(compareDiagnostics),
    resources: resources.sort((a, b) => compareText(a.path, b.path)),
    notEvaluated: [],
    excerpts,
    fixed: [],
  };
}

/** An error makes the last document that begins at its line or above invalid. */
function outcomesOf(
  path: string,
  { documents }: CheckedFile,
  found: readonly Diagnostic[],
): readonly ResourceOutcome[] {
  const invalid = new Set(
    found.flatMap(({ severity, at }) =>
      severity === 'error' ? [documents.findLast(({ line }) => line <= (at?.line ?? 1))] : [],
    ),
  );
  return documents.map((document) => {
    const { state, ...identity } = document;
    const outcome = state === 'checked' ? 'valid' : state;
    return { path, ...identity, state: invalid.has(document) ? 'invalid' : outcome };
  });
}

/** Longer lines are not shown. */
const LONGEST_LINE = 2_000;

/** Adds the lines of findings. A text that may hold a Secret is not shown: a line at fault can be one of its values. */
function addExcerpts(text: string, found: readonly Diagnostic[], excerpts: Map<string, string>): void {
  if (/\bSecret/.test(text)) return;
  const lines = text.split('\n');
  for (const { at } of found) {
    const line = at?.line === undefined ? undefined : lines[at.line - 1];
    if (at !== undefined && line !== undefined && line.length <= LONGEST_LINE) {
      excerpts.set(`${at.path}:${at.line}`, line);
    }
  }
}
