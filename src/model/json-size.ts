import { isJsonObject, type JsonValue } from './json.ts';

/** What the canonical JSON of a value takes. */
export interface JsonSize {
  /** Of the text, as UTF-8. */
  readonly bytes: number;
  /** Scalars, lists and objects, without the names of members. */
  readonly elements: number;
}

/** Measures the canonical JSON of a value without making it. The work follows the value. */
export function jsonSize(value: JsonValue): JsonSize {
  const size = { bytes: 0, elements: 0 };
  measure(value, size);
  return size;
}

function measure(value: JsonValue, size: { bytes: number; elements: number }): void {
  size.elements += 1;
  if (typeof value === 'string') {
    size.bytes += textBytes(value);
  } else if (Array.isArray(value)) {
    // The brackets, and a comma between two items.
    size.bytes += 2 + Math.max(0, value.length - 1);
    for (const item of value) measure(item, size);
  } else if (isJsonObject(value)) {
    let members = 0;
    for (const name in value) {
      const member = Object.hasOwn(value, name) ? value[name] : undefined;
      if (member === undefined) continue;
      members += 1;
      // With the colon.
      size.bytes += textBytes(name) + 1;
      measure(member, size);
    }
    size.bytes += 2 + Math.max(0, members - 1);
  } else {
    size.bytes += JSON.stringify(value).length;
  }
}

/** Other characters may be escaped, as half of a surrogate pair is that stands alone. */
const PLAIN = /^[ !#-[\]-\ud7ff]*$/;

function textBytes(text: string): number {
  return PLAIN.test(text) ? Buffer.byteLength(text) + 2 : Buffer.byteLength(JSON.stringify(text));
}
