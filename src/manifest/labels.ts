import type { FieldPath } from '../model/field-path.ts';
import { quote } from '../model/ids.ts';
import type { FieldProblem } from './problem.ts';
import { fieldError } from './problem.ts';

const NAME = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
const PREFIX = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/;

/** Why the text is no label key by Kubernetes' rules; undefined if it is one. Annotation keys follow the same rules. */
export function labelKeyProblem(key: string): string | undefined {
  const slash = key.indexOf('/');
  const prefix = slash < 0 ? undefined : key.slice(0, slash);
  const name = key.slice(slash + 1);
  if (prefix !== undefined && (prefix.length > 253 || !PREFIX.test(prefix))) {
    return `the prefix of the key ${quote(key)} must be a DNS name of at most 253 characters`;
  }
  return NAME.test(name)
    ? undefined
    : `the key ${quote(key)} must be 1 to 63 letters, digits, "-", "_" or ".", and begin and end with a letter or digit`;
}

/** Why the text is no label value by Kubernetes' rules; undefined if it is one. The empty value is allowed. */
export function labelValueProblem(value: string): string | undefined {
  return value === '' || NAME.test(value)
    ? undefined
    : `the value ${quote(value)} must be empty or 1 to 63 letters, digits, "-", "_" or ".", and begin and end with a letter or digit`;
}

/** Checks a map of labels whose values are known to be text. */
export function checkLabels(labels: Readonly<Record<string, string>>, path: FieldPath): FieldProblem[] {
  const problems: FieldProblem[] = [];
  for (const [key, value] of Object.entries(labels)) {
    const at = [...path, key];
    const badKey = labelKeyProblem(key);
    if (badKey !== undefined) problems.push({ ...fieldError('BadLabel', at, badKey), atKey: true });
    const badValue = labelValueProblem(value);
    if (badValue !== undefined) problems.push(fieldError('BadLabel', at, badValue));
  }
  return problems;
}
