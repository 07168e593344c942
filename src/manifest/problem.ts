import type { FindingReason } from '../model/diagnostic.ts';
import type { FieldPath } from '../model/field-path.ts';
import { suggestion } from '../model/messages.ts';

/** A problem of a document, without its place in the file. */
export interface FieldProblem {
  readonly severity: 'error' | 'warning';
  readonly reason: FindingReason;
  readonly message: string;
  readonly hint?: string;
  readonly path: FieldPath;
  /** The problem is at the key of the last step, not at its value. */
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

/** "did you mean X?"; undefined if no known word is near. */
export function didYouMean(text: string, known: Iterable<string>): string | undefined {
  const near = suggestion(text, known);
  return near === undefined ? undefined : `did you mean ${near}?`;
}
