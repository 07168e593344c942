/** A JSON value as it came from a manifest or the wire. Treated as frozen everywhere. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue | undefined;
}

/** Narrows to an object (not null, not a list). */
export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value that UTF-8 bytes hold; undefined if they are not JSON. */
export function parseJsonBytes(bytes: Uint8Array): JsonValue | undefined {
  return parseJson(new TextDecoder().decode(bytes));
}

/** The value of a text; undefined if it is not JSON. */
export function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** Orders two strings by UTF-16 code unit: the one order of everything written anywhere (locale-free). */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * The canonical text of a value: keys in {@link compareText} order, no white space, `undefined` members left out.
 * Two values are equal exactly when their canonical texts are.
 */
export function canonicalJson(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (isJsonObject(value)) {
    const parts: string[] = [];
    for (const key of Object.keys(value).sort(compareText)) {
      const member = value[key];
      if (member !== undefined) parts.push(`${JSON.stringify(key)}:${canonicalJson(member)}`);
    }
    return `{${parts.join(',')}}`;
  }
  return JSON.stringify(value);
}

/** Deep equality by value; the order of an object's keys does not matter, the order of a list does. */
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
