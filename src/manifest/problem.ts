import type { FieldPath } from '../model/field-path.ts';
import type { FindingReason } from '../model/finding-codes.ts';
import { suggestion } from '../model/suggestion.ts';

/** Something to say about a document, before its place in the file is known. */
export interface FieldProblem {
  readonly severity: 'error' | 'warning';
  readonly reason: FindingReason;
  readonly message: string;
  readonly hint?: string;
  readonly path: FieldPath;
  /** Point at the key of the last step instead of its value. */
  readonly atKey?: boolean;
}

/** An error at a field. */
export function fieldError(reason: FindingReason, path: FieldPath, message: string, hint?: string): FieldProblem {
  return { severity: 'error', reason, path, message, ...(hint === undefined ? {} : { hint }) };
}

/** A warning at a field. */
export function fieldWarning(reason: FindingReason, path: FieldPath, message: string, hint?: string): FieldProblem {
  return { severity: 'warning', reason, path, message, ...(hint === undefined ? {} : { hint }) };
}

/** "did you mean X?", if one of the known words is near. */
export function didYouMean(text: string, known: Iterable<string>): string | undefined {
  const near = suggestion(text, known);
  return near === undefined ? undefined : `did you mean ${near}?`;
}
