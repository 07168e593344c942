import { compareText } from '../model/json.ts';

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

/** The candidate that `text` is most likely a misspelling of, if any is near. */
export function didYouMean(text: string, candidates: Iterable<string>): string | undefined {
  let best: { readonly word: string; readonly distance: number } | undefined;
  if (text.length > 64) return undefined;
  for (const word of [...candidates].sort(compareText)) {
    const distance = editDistance(text.toLowerCase(), word.toLowerCase());
    const allowed = Math.max(1, Math.floor(Math.max(text.length, word.length) / 3));
    if (distance <= allowed && (best === undefined || distance < best.distance)) best = { word, distance };
  }
  return best?.word;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const substitution = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(substitution, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
