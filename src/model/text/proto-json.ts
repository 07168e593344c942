import { isJsonObject, type JsonObject, type JsonValue } from './json.ts';

/*
 * The JSON form of Protocol Buffers, as Kuma reads it: field names in camelCase or snake_case, integers also as text, enums
 * as names or numbers, durations as in Go, and null for the zero value.
 */

/** Members whose keys are the user's own, not names of fields. */
const FREE_KEYS: ReadonlySet<string> = new Set(['tags', 'labels', 'annotations', 'metadata', 'conf', 'status']);

/** The value with all field names in camelCase. If a field has both spellings, the camelCase one counts. */
export function withCamelCaseNames(value: JsonObject): JsonObject;
export function withCamelCaseNames(value: JsonValue): JsonValue;
export function withCamelCaseNames(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map((item: JsonValue) => withCamelCaseNames(item));
  if (!isJsonObject(value)) return value;
  const converted: Record<string, JsonValue> = {};
  for (const [key, member] of Object.entries(value)) {
    if (member === undefined) continue;
    const name = camelCaseName(key);
    if (name !== key && Object.hasOwn(value, name)) continue;
    converted[name] = FREE_KEYS.has(name) ? member : withCamelCaseNames(member);
  }
  return converted;
}

/** The name in camelCase. */
export function camelCaseName(key: string): string {
  if (!/^[a-z0-9]+(_[a-z0-9]+)+$/.test(key)) return key;
  return key.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** The integer; 0 if the value is none. */
export function integerOf(value: JsonValue | undefined): number {
  if (typeof value === 'string') return /^-?[0-9]+$/.test(value) ? Number(value) : 0;
  return typeof value === 'number' && Number.isInteger(value) ? value : 0;
}

/** The name of an enum's value that is written as its name or number; undefined if the enum does not have it. */
export function enumNameOf<Name extends string>(
  value: JsonValue | undefined,
  names: Readonly<Record<number, Name>>,
): Name | undefined {
  if (typeof value === 'number') return names[value];
  return Object.values(names).find((name) => name === value);
}
