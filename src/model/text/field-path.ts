import { quoteInFull } from '../fleet/ids.ts';
import { ok, problem, type Result } from '../values/result.ts';
import { parseJson } from './json.ts';

/** Steps from the root of a document to a value. */
export type FieldPath = readonly (string | number)[];

/**
 * Steps to a value of a document as it is written. Decoded lists are sorted, so an item of a written list is identified by
 * its text and not by an index.
 */
export type WrittenPath = readonly (string | number | { readonly item: string })[];

/** A path for people: `spec.paths[0]`, `metadata.labels["a/b"]`. */
export function displayPath(path: FieldPath): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else if (/^[A-Za-z_$][\w$-]*$/.test(step)) text += text === '' ? step : `.${step}`;
    else text += `[${quoteInFull(step)}]`;
  }
  return text;
}

/** Parses a path as {@link displayPath} writes it; a leading dot is allowed. */
export function parseFieldPath(text: string): Result<FieldPath> {
  const path: (string | number)[] = [];
  const step = /(?:^|\.)([A-Za-z_$][\w$-]*)|\[(\d{1,9})\]|\[("(?:[^"\\]|\\.)*")\]/y;
  while (step.lastIndex < text.length) {
    const from = step.lastIndex;
    const [, name, index, quoted] = step.exec(text) ?? [];
    const member = quoted === undefined ? undefined : parseJson(quoted);
    if (name !== undefined) path.push(name);
    else if (index !== undefined) path.push(Number(index));
    else if (typeof member === 'string') path.push(member);
    else {
      const form = 'spec.paths[0] or metadata.labels["a/b"]';
      return problem(`is no field: after ${from} characters it goes on otherwise than ${form}`);
    }
  }
  return path.length === 0 ? problem('is no field') : ok(path);
}
