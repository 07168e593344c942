import { suggestion } from '../model/suggestion.ts';

/** Steps from the root of a document to a value. */
export type FieldPath = readonly (string | number)[];

/** Something to say about a document, before its place in the file is known. */
export interface FieldProblem {
  readonly severity: 'error' | 'warning';
  /** Constant UpperCamelCase word. */
  readonly reason: string;
  readonly message: string;
  readonly hint?: string;
  readonly path: FieldPath;
  /** Point at the key of the last step instead of its value. */
  readonly atKey?: boolean;
}

/** An error at a field. */
export function fieldError(reason: string, path: FieldPath, message: string, hint?: string): FieldProblem {
  return { severity: 'error', reason, path, message, ...(hint === undefined ? {} : { hint }) };
}

/** A warning at a field. */
export function fieldWarning(reason: string, path: FieldPath, message: string, hint?: string): FieldProblem {
  return { severity: 'warning', reason, path, message, ...(hint === undefined ? {} : { hint }) };
}

/** A path as people write it: `spec.paths[0]`, `metadata.labels["a/b"]`. */
export function displayPath(path: FieldPath): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else if (/^[A-Za-z_$][\w$-]*$/.test(step)) text += text === '' ? step : `.${step}`;
    else text += `[${JSON.stringify(step)}]`;
  }
  return text;
}

/** "did you mean X?", if one of the known words is near. */
export function didYouMean(text: string, known: Iterable<string>): string | undefined {
  const near = suggestion(text, known);
  return near === undefined ? undefined : `did you mean ${near}?`;
}
