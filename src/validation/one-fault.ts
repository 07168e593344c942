import type { FieldProblem } from '../manifest/problem.ts';
import type { FindingReason } from '../model/fleet/diagnostic.ts';
import type { FieldPath } from '../model/text/field-path.ts';
import { ANY_ITEM } from './values/misplaced-fields.ts';

/** Reasons of errors that a field with a wrong name or in a wrong place causes elsewhere. */
const CONSEQUENCES: ReadonlySet<FindingReason> = new Set([
  'BadRestartPolicy',
  'EmptySelector',
  'MissingField',
  'SelectorMismatch',
  'UnknownVolume',
  'WrongChoice',
]);

/** Fields that give a Pod its volumes. */
const VOLUMES: readonly string[] = ['volumes', 'volumeClaimTemplates'];

/**
 * Leaves one finding of each fault: an API server refuses an unknown field before it looks for what is missing, and the
 * missing field is often the one that the unknown one was meant to be. If no other field is likely, the finding of the
 * unknown field names the missing one.
 */
export function withoutConsequences(problems: readonly FieldProblem[]): readonly FieldProblem[] {
  const unknown = problems.filter(({ reason, severity }) => reason === 'UnknownField' && severity === 'error');
  if (unknown.length === 0 || unknown.length === problems.length) return problems;
  const caused = new Set(
    problems.filter(
      (problem) =>
        CONSEQUENCES.has(problem.reason) &&
        problem.severity === 'error' &&
        unknown.some((field) => isCausedBy(problem, field)),
    ),
  );
  const others = problems.filter((problem) => !caused.has(problem));
  return withMissing(others);
}

function isCausedBy(problem: FieldProblem, { path, meant }: FieldProblem): boolean {
  const mapping = path.slice(0, -1);
  if (meant === undefined) {
    if (problem.reason === 'WrongChoice') return isSame(problem.path, mapping);
    // One of several places has the missing field: `requests.storage` for `storage`.
    const missing = problem.missing ?? problem.path;
    return missing.length === path.length + 1 && isSame([...missing.slice(0, -2), missing.at(-1) ?? ''], path);
  }
  if (problem.reason === 'UnknownVolume') return VOLUMES.includes(String(meant.at(-1)));
  const at = problem.missing ?? problem.path;
  return at.length > 0 && isAlong(at, meant);
}

/** Names the only missing field of a mapping in the finding of an unknown field there that was meant to be no other. */
function withMissing(problems: readonly FieldProblem[]): readonly FieldProblem[] {
  const named = new Map<FieldProblem, FieldProblem>();
  const left = new Set<FieldProblem>();
  for (const field of problems) {
    // Only a hint that lists the fields of a small mapping makes this likely.
    if (field.reason !== 'UnknownField' || field.meant !== undefined || field.hint === undefined) continue;
    const mapping = field.path.slice(0, -1);
    const missing = problems.filter((each) => each.missing !== undefined && isSame(each.missing.slice(0, -1), mapping));
    const [only, ...more] = missing;
    if (only === undefined || more.length > 0 || left.has(only)) continue;
    left.add(only);
    named.set(field, { ...field, hint: `${field.hint}; ${String(only.missing?.at(-1))} is missing` });
  }
  if (named.size === 0) return problems;
  return problems.flatMap((problem) => (left.has(problem) ? [] : [named.get(problem) ?? problem]));
}

function isSame(a: FieldPath, b: FieldPath): boolean {
  return a.length === b.length && isAlong(a, b);
}

/** Whether one path is the other or leads to it. */
function isAlong(a: FieldPath, b: FieldPath): boolean {
  const steps = Math.min(a.length, b.length);
  for (let index = 0; index < steps; index += 1) {
    const [left, right] = [a[index], b[index]];
    const isItem = (left === ANY_ITEM && typeof right === 'number') || (right === ANY_ITEM && typeof left === 'number');
    if (left !== right && !isItem) return false;
  }
  return true;
}
