import { isJsonObject, type JsonValue, jsonEquals } from './json.ts';

/** Names of the fields in which two values differ, such as `data.greeting`; at most `most`. A list is one field. */
export function differingFields(
  a: JsonValue | undefined,
  b: JsonValue | undefined,
  most: number,
  field = '',
): readonly string[] {
  if (most <= 0 || jsonEquals(a, b)) return [];
  if (!isJsonObject(a) || !isJsonObject(b)) return [field];
  const found: string[] = [];
  for (const name of [...new Set([...Object.keys(a), ...Object.keys(b)])].sort()) {
    found.push(...differingFields(a[name], b[name], most - found.length, field === '' ? name : `${field}.${name}`));
  }
  return found;
}
