import { mayHoldSecret } from '../../manifest/secret-text.ts';
import { compareDiagnostics, type Diagnostic, type FindingCode } from '../../model/fleet/diagnostic.ts';
import { findings } from '../../model/fleet/findings.ts';
import { compareText } from '../../model/text/json.ts';
import { suppress } from '../../validation/suppressions.ts';
import type { CheckedFile } from './check-file.ts';
import { createBytesReader } from './file-bytes.ts';
import { bytesOf, type InputFile, type Inputs, STDIN } from './inputs.ts';
import { beginsBefore, type ResourceOutcome, type ValidationReport, type ValidationRequest } from './report.ts';

interface Judged {
  readonly request: ValidationRequest;
  readonly inputs: Inputs;
  /** In the order of the files of the inputs. */
  readonly checked: readonly CheckedFile[];
  readonly notEvaluated: ReadonlySet<string>;
  /** The files to report; all of them unless set. */
  readonly affected?: ReadonlySet<InputFile> | undefined;
}

/** Makes the report: suppressions are honoured, outcomes derived from the findings, everything is in canonical order. */
export function reportOf({ request, inputs, checked: all, notEvaluated, affected }: Judged): ValidationReport {
  const read = createBytesReader();
  const isChecked = isCheckedBy(request);
  const excerpts = new Map<string, string>();
  const diagnostics: Diagnostic[] = [...inputs.refused, ...inputs.failed];
  const resources: ResourceOutcome[] = [];
  let files = inputs.refused.length;
  let documents = 0;
  for (const [index, file] of inputs.files.entries()) {
    const checked = all[index];
    if (checked === undefined || affected?.has(file) === false) continue;
    files += 1;
    let found = checked.diagnostics;
    if (found.length > 0 || checked.hasSuppressions) {
      const content = bytesOf(file, read);
      const text = content.ok ? new TextDecoder().decode(content.bytes) : '';
      found = suppress(file.name, text, found, { isChecked });
      if (file.name === STDIN) found = found.map(withoutIgnoreHint);
      if (request.excerpts === true) addExcerpts(text, found, excerpts);
    }
    diagnostics.push(...found);
    resources.push(...outcomesOf(file.name, checked, found));
    if (found.every(({ severity }) => severity === 'warning')) documents += checked.documents.length;
  }
  return {
    files,
    documents,
    diagnostics: diagnostics.sort(compareDiagnostics),
    resources: resources.sort((a, b) => compareText(a.path, b.path)),
    notEvaluated: [...notEvaluated].sort(compareText),
    excerpts,
    fixed: [],
  };
}

/** What a hint says of an ignore file, which cannot list standard input. */
const IGNORE_HINT = /(?:^|, (?:or|and) )(?:if the file is no manifest, )?list [a-z ]+ in \.fleetrelayignore.*$/;

function withoutIgnoreHint(finding: Diagnostic): Diagnostic {
  const { hint, ...rest } = finding;
  const shorter = hint?.replace(IGNORE_HINT, '') ?? '';
  return shorter === '' ? rest : { ...rest, hint: shorter };
}

/** Whether a run looks for findings of a code in every document of a file. Rules across files need more than one file. */
function isCheckedBy({ skip = [], ignoreMissingSchemas }: ValidationRequest): (code: FindingCode) => boolean {
  return (code) =>
    skip.length === 0 && !/^FR[34]/.test(code) && !(ignoreMissingSchemas === true && code === findings.NoSchema.code);
}

/** An error makes the last document that begins at its place or above invalid. */
function outcomesOf(
  path: string,
  { documents }: CheckedFile,
  found: readonly Diagnostic[],
): readonly ResourceOutcome[] {
  const invalid = new Set(
    found.flatMap(({ severity, at }) =>
      severity === 'error' ? [documents.findLast((document) => beginsBefore(document, at))] : [],
    ),
  );
  return documents.map((document) => {
    const { state, references, ...identity } = document;
    const outcome = state === 'checked' ? 'valid' : state;
    return { path, ...identity, state: invalid.has(document) ? 'invalid' : outcome };
  });
}

/** Longer lines are not shown. */
const LONGEST_LINE = 2_000;

/** Adds the lines of findings. A text that may hold a Secret is not shown: a line at fault can be one of its values. */
function addExcerpts(text: string, found: readonly Diagnostic[], excerpts: Map<string, string>): void {
  if (mayHoldSecret(text)) return;
  const lines = text.split('\n');
  for (const { at } of found) {
    const line = at?.line === undefined ? undefined : lines[at.line - 1];
    if (at !== undefined && line !== undefined && line.length <= LONGEST_LINE) {
      excerpts.set(`${at.path}:${at.line}`, line);
    }
  }
}
