import { getScalarValue, SCALAR_STYLE_PLAIN } from 'js-yaml';
import type { FieldPath } from '../model/field-path.ts';
import { isJsonObject, type JsonValue } from '../model/json.ts';
import type { YamlDocument } from './compose-documents.ts';
import { addQuotes } from './field-edits.ts';
import { yamlSurprise } from './plain-scalars.ts';
import { type ScalarAt, scalarsIn } from './positions.ts';
import type { FieldProblem } from './problem.ts';
import type { Finding } from './read-file.ts';

/** A file with more scalars that YAML 1.1 reads differently is not mended: each costs a check of its manifest. */
const MAX_SCALARS = 1_000;

/**
 * Returns a function that adds fixes to the warnings about YAML 1.1 in one manifest. A key, and text where a value that is no
 * text is refused, get quotes: no reader of YAML 1.2 reads them differently then.
 *
 * @param findings those of the YAML text; fixes are added in place
 */
export function createQuoteFixes(findings: Finding[]) {
  const byOffset = new Map<number, number>();
  for (const [index, { offset, diagnostic }] of findings.entries()) {
    if (diagnostic.reason === 'YamlVersionsDiffer') byOffset.set(offset, index);
  }
  if (byOffset.size === 0 || byOffset.size > MAX_SCALARS) return undefined;
  let known: { readonly document: YamlDocument; readonly scalars: readonly ScalarAt[] } | undefined;

  /**
   * @param path of the manifest in its document
   * @param check returns all problems of a value in the place of the manifest
   */
  return (document: YamlDocument, path: FieldPath, value: JsonValue, check: Check): void => {
    if (known?.document !== document) {
      const scalars = scalarsIn(document).filter((scalar) => isSurprise(document, scalar));
      known = { document, scalars: scalars.toArray() };
    }
    for (const { path: at, event, isKey } of known.scalars) {
      if (!path.every((step, index) => step === at[index])) continue;
      const inManifest = at.slice(path.length);
      const isText = isKey
        ? String(inManifest.at(-1)) === getScalarValue(document.text, event)
        : isTextOnly(value, inManifest, check);
      const fix = isText ? addQuotes(document, event) : undefined;
      const index = byOffset.get(document.base + event.valueStart);
      const finding = index === undefined ? undefined : findings[index];
      if (index === undefined || finding === undefined || fix === undefined) continue;
      findings[index] = { ...finding, diagnostic: { ...finding.diagnostic, fix } };
    }
  };
}

type Check = (value: JsonValue) => readonly FieldProblem[];

function isSurprise({ text }: YamlDocument, { event, isKey }: ScalarAt): boolean {
  if (event.style !== SCALAR_STYLE_PLAIN || event.valueStart < 0 || event.anchorStart >= 0 || event.tagStart >= 0)
    return false;
  return yamlSurprise(getScalarValue(text, event), isKey) !== undefined;
}

/** Whether the value at the path is text, and a boolean in its place is refused. */
function isTextOnly(value: JsonValue, path: FieldPath, check: Check): boolean {
  const changed = withBoolean(value, path);
  if (changed === undefined) return false;
  return check(changed).some(
    (problem) =>
      problem.reason === 'WrongType' &&
      problem.path.length === path.length &&
      problem.path.every((step, index) => step === path[index]),
  );
}

/** A copy of the value with `true` in the place of a text; undefined if there is no text. */
function withBoolean(value: JsonValue | undefined, path: FieldPath): JsonValue | undefined {
  const [step, ...rest] = path;
  if (step === undefined) return typeof value === 'string' ? true : undefined;
  if (Array.isArray(value) && typeof step === 'number') {
    const item = withBoolean(value[step], rest);
    return item === undefined ? undefined : value.with(step, item);
  }
  if (!isJsonObject(value)) return undefined;
  const member = withBoolean(value[step], rest);
  return member === undefined ? undefined : { ...value, [step]: member };
}
