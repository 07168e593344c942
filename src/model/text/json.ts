/** A JSON value. No code changes one. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue | undefined;
}

/** Narrows to an object (not null, not a list). */
export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Parses UTF-8 bytes; undefined if they are not JSON. */
export function parseJsonBytes(bytes: Uint8Array): JsonValue | undefined {
  return parseJson(new TextDecoder().decode(bytes));
}

/** Parses a text; undefined if it is not JSON. */
export function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** Orders two strings by UTF-16 code unit: the canonical order of all output. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * The canonical text of a value: keys in {@link compareText} order, no white space, no `undefined` members. Two values are
 * equal exactly if their canonical texts are.
 */
export function canonicalJson(value: JsonValue): string {
  try {
    return textByRecursion(value);
  } catch (error) {
    // The value may be too deep for the stack: API servers have objects of up to 10,000 levels.
    if (error instanceof RangeError) return textByStack(value);
    throw error;
  }
}

function textByRecursion(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(textByRecursion).join(',')}]`;
  if (isJsonObject(value)) {
    const parts: string[] = [];
    for (const key of Object.keys(value).sort(compareText)) {
      const member = value[key];
      if (member !== undefined) parts.push(`${JSON.stringify(key)}:${textByRecursion(member)}`);
    }
    return `{${parts.join(',')}}`;
  }
  return JSON.stringify(value);
}

function textByStack(value: JsonValue): string {
  const parts: string[] = [];
  /** What is still to be written, the next one last: a value, or a text as it is. */
  const waiting: ({ readonly value: JsonValue } | string)[] = [{ value }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (typeof next === 'string') parts.push(next);
    else if (Array.isArray(next.value)) {
      const items = (next.value as readonly JsonValue[]).map((item) => ({ value: item }));
      waiting.push(']', ...joined(items).toReversed(), '[');
    } else if (isJsonObject(next.value)) {
      const object = next.value;
      const names = Object.keys(object).filter((name) => object[name] !== undefined);
      const members = names.sort(compareText).map((name) => ({ name, value: object[name] ?? null }));
      const list = joined(members).flatMap((part) =>
        typeof part === 'object' ? [`${JSON.stringify(part.name)}:`, part] : part,
      );
      waiting.push('}', ...list.toReversed(), '{');
    } else parts.push(JSON.stringify(next.value));
  }
  return parts.join('');
}

function joined<Item>(items: readonly Item[]): readonly (Item | string)[] {
  return items.flatMap((item, at) => (at === 0 ? [item] : [',', item]));
}

/** Deep equality by value. The order of keys does not matter, the order of lists does. */
export function jsonEquals(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => jsonEquals(item, b[index]));
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  const keys = Object.keys(a).filter((key) => a[key] !== undefined);
  return (
    keys.length === Object.keys(b).filter((key) => b[key] !== undefined).length &&
    keys.every((key) => b[key] !== undefined && jsonEquals(a[key], b[key]))
  );
}

/** Whether two lists have the same texts in the same order. */
export function isSameList(a: readonly string[], b: readonly string[]): boolean {
  return a === b || (a.length === b.length && a.every((text, at) => text === b[at]));
}

/** The text; empty if the value is none. */
export function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

/** The texts of a list, without its other items; empty if the value is no list. */
export function textsOf(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

/** The object; empty if the value is none. */
export function objectOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** The objects of a list, without its other items; empty if the value is no list. */
export function objectsOf(value: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** The member of this name; undefined: there is none, also where every object inherits one, such as `constructor`. */
export function ownMember<Value>(object: Readonly<Record<string, Value>> | undefined, name: string): Value | undefined {
  return object !== undefined && Object.hasOwn(object, name) ? object[name] : undefined;
}
