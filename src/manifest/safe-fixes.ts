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

/** Returns all problems of a changed manifest; undefined: nothing is changed, or the file has cost too many checks. */
type Check = (change: () => JsonValue | undefined) => readonly FieldProblem[] | undefined;

/** Values in all manifests of one file that are checked to find fixes, each as often as it is checked. */
const MAX_CHECKED_VALUES = 5_000_000;

/** Makes the checks of changed manifests of one file, with a bound on the work. */
export function createJudging() {
  let left = MAX_CHECKED_VALUES;
  return (manifest: JsonValue, check: (changed: JsonValue) => readonly FieldProblem[]): Check => {
    let size: number | undefined;
    return (change) => {
      size ??= countValues(manifest);
      left -= size;
      const changed = left < 0 ? undefined : change();
      return changed === undefined ? undefined : check(changed);
    };
  };
}

function countValues(value: JsonValue | undefined): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce((sum: number, member) => sum + countValues(member), 1);
}

/** The problem, without its fix if the manifest would have more problems then: a mended key can show others. */
export function withSafeFix(problem: FieldProblem, value: JsonValue, problems: number, check: Check): FieldProblem {
  const { fix, ...rest } = problem;
  // Quotes change the type of a scalar and show nothing that was hidden.
  if (fix === undefined || 'quotes' in fix) return problem;
  const after = check(() =>
    changedAt(value, problem.path, (old) => ('key' in fix ? { key: fix.key, value: old } : fix)),
  );
  return after !== undefined && after.length <= problems ? problem : rest;
}

function isSurprise({ text }: YamlDocument, { event, isKey }: ScalarAt): boolean {
  if (event.style !== SCALAR_STYLE_PLAIN || event.valueStart < 0 || event.anchorStart >= 0 || event.tagStart >= 0)
    return false;
  return yamlSurprise(getScalarValue(text, event), isKey) !== undefined;
}

/** Whether the value at the path is text, and a boolean in its place is refused. */
function isTextOnly(value: JsonValue, path: FieldPath, check: Check): boolean {
  const withBoolean = () => changedAt(value, path, (old) => (typeof old === 'string' ? { value: true } : undefined));
  const problems = check(withBoolean) ?? [];
  return problems.some(
    (problem) =>
      problem.reason === 'WrongType' &&
      problem.path.length === path.length &&
      problem.path.every((step, index) => step === path[index]),
  );
}

/** What a value becomes: another value, and another key of its mapping. */
type Change = { readonly key?: string; readonly value: JsonValue } | undefined;

/** A copy of a value with a change at a path; undefined if there is no value, or it does not change. */
function changedAt(root: JsonValue, path: FieldPath, change: (old: JsonValue) => Change): JsonValue | undefined {
  const [step, ...rest] = path;
  if (step === undefined) return change(root)?.value;
  const old = Array.isArray(root) ? root[Number(step)] : isJsonObject(root) ? root[step] : undefined;
  if (old === undefined) return undefined;
  const changed = rest.length === 0 ? change(old) : { value: changedAt(old, rest, change) };
  if (changed?.value === undefined) return undefined;
  const { value, key = step } = { key: undefined, ...changed };
  if (Array.isArray(root)) return root.with(Number(step), value);
  if (!isJsonObject(root)) return undefined;
  return Object.fromEntries(
    Object.entries(root).map(([name, member]) => (name === step ? [key, value] : [name, member])),
  );
}
