import type { FieldPath } from '../model/text/field-path.ts';
import { isJsonObject, type JsonValue } from '../model/text/json.ts';
import type { YamlDocument } from './compose-documents.ts';
import { addQuotes } from './field-edits.ts';
import { type ScalarAt, scalarsIn } from './positions.ts';
import type { FieldProblem } from './problem.ts';
import type { FileFinding } from './read-file.ts';

/** Most such scalars of a file that are checked: each costs a check of its manifest. All warnings stay if there are more. */
const MAX_SCALARS = 1_000;

/**
 * Returns a function that completes the warnings about scalars of one manifest that YAML 1.2 reads differently. It drops a warning
 * where the value has another finding, or where the schema wants the boolean or the number that is read. A key is quoted, since it
 * is text.
 *
 * @param findings of the YAML text; changed in place
 * @param fixes whether to add fixes
 */
export function createScalarWarnings(findings: FileFinding[], fixes: boolean) {
  const byOffset = new Map<number, FileFinding>();
  for (const finding of findings) {
    if (finding.diagnostic.reason === 'YamlVersionsDiffer') byOffset.set(finding.offset, finding);
  }
  if (byOffset.size === 0 || byOffset.size > MAX_SCALARS) return undefined;
  let known: { readonly document: YamlDocument; readonly scalars: readonly ScalarAt[] } | undefined;

  /**
   * @param path of the manifest in its document
   * @param problems of the manifest
   * @param check returns all problems of a value in the place of the manifest
   */
  return (
    document: YamlDocument,
    path: FieldPath,
    value: JsonValue,
    problems: readonly FieldProblem[],
    check: Check,
  ): void => {
    if (known?.document !== document) {
      const scalars = scalarsIn(document).filter(({ event }) => byOffset.has(document.base + event.valueStart));
      known = { document, scalars: scalars.toArray() };
    }
    for (const { path: at, event, isKey } of known.scalars) {
      if (!path.every((step, index) => step === at[index])) continue;
      const finding = byOffset.get(document.base + event.valueStart);
      const index = finding === undefined ? -1 : findings.indexOf(finding);
      if (finding === undefined || index < 0) continue;
      const inManifest = at.slice(path.length);
      if (isKey) {
        const fix = fixes && event.anchorStart < 0 ? addQuotes(document, event) : undefined;
        if (fix !== undefined) findings[index] = { ...finding, diagnostic: { ...finding.diagnostic, fix } };
      } else if (isKnown(problems, inManifest) || isWanted(value, inManifest, check)) findings.splice(index, 1);
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

/**
 * The problem, without its fix if the manifest would have more problems then: a mended key may be another one than the author
 * meant. A mended kind or apiVersion shows only what is wrong in any case: without them no field is checked.
 */
export function withSafeFix(problem: FieldProblem, value: JsonValue, problems: number, check: Check): FieldProblem {
  const { fix, ...rest } = problem;
  // Quotes change the type of a scalar and show nothing that was hidden.
  if (fix === undefined || 'quotes' in fix || isIdentity(problem.path)) return problem;
  const after = check(() =>
    changedAt(value, problem.path, (old) => ('key' in fix ? { key: fix.key, value: old } : fix)),
  );
  return after !== undefined && after.length <= problems ? problem : rest;
}

function isIdentity([field, ...rest]: FieldPath): boolean {
  return rest.length === 0 && (field === 'kind' || field === 'apiVersion');
}

/** Whether a value at the path is refused if it is text. */
function isWanted(value: JsonValue, path: FieldPath, check: Check): boolean {
  const withText = () =>
    changedAt(value, path, (old) => (typeof old === 'string' ? undefined : { value: 'text that is no number' }));
  return isKnown(check(withText)?.filter(({ reason }) => reason === 'WrongType') ?? [], path);
}

/** Whether one of the problems concerns the value at the path. */
function isKnown(problems: readonly FieldProblem[], path: FieldPath): boolean {
  return problems.some(
    (problem) => problem.path.length === path.length && problem.path.every((step, index) => step === path[index]),
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
