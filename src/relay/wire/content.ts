import { sha256 } from '../../model/digest.ts';
import { type Digest, quote } from '../../model/ids.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../model/json.ts';
import type { ObjectKey } from '../../model/object-key.ts';
import { objectLimits } from '../../model/object-size.ts';
import { TRANSFER_ELEMENTS } from '../limits.ts';
import { ProtocolError } from './scalars.ts';

/** The content of an object, parsed and as it was sent. */
export interface Content {
  readonly value: JsonObject;
  readonly text: string;
}

/**
 * Returns a function that reads the objects of one transfer: it joins the pieces of a content, and checks their digest and
 * their shape before it parses them.
 */
export function createContentReader(): (key: ObjectKey, digest: Digest, pieces: readonly Uint8Array[]) => Content {
  let elements = 0;
  return (key, digest, pieces) => {
    const [first] = pieces;
    const bytes = pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces);
    if (sha256(bytes) !== digest) {
      throw new ProtocolError('DigestMismatch', `${quote(key)}: the content has another digest`);
    }
    const shape = shapeOf(bytes);
    if (typeof shape === 'string') throw malformed(key, shape);
    elements += shape.elements;
    if (elements > TRANSFER_ELEMENTS) {
      const message = `a transfer of objects with more than ${TRANSFER_ELEMENTS} elements`;
      throw new ProtocolError('TransferTooLarge', message, 'exhausted');
    }
    return parseContent(key, bytes);
  };
}

function malformed(key: ObjectKey, what: string): ProtocolError {
  return new ProtocolError('MalformedContent', `${quote(key)}: ${what}`);
}

function parseContent(key: ObjectKey, bytes: Uint8Array): Content {
  let text: string;
  let value: JsonValue;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    value = JSON.parse(text);
  } catch {
    throw malformed(key, 'the content is not JSON');
  }
  if (!isJsonObject(value)) throw malformed(key, 'the content is not an object');
  if (namesPrototype(bytes, value)) throw malformed(key, PROTOTYPE);
  return { value, text };
}

/** Why readers refuse this content, whose value is `value`; undefined: they take it. */
export function contentProblem(bytes: Uint8Array, value: JsonObject): string | undefined {
  const shape = shapeOf(bytes);
  if (typeof shape === 'string') return shape;
  return namesPrototype(bytes, value) ? PROTOTYPE : undefined;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const SPACE = 0x20;

/**
 * Counts the elements (scalars, arrays and objects, without member names) and the depth of JSON without parsing it: `[[],[]]`
 * takes ten times more memory parsed than as text. A text says what is beyond the limits. For other bytes than JSON the count means
 * nothing, and a parser refuses them.
 */
function shapeOf(bytes: Uint8Array): { readonly elements: number } | string {
  let elements = 1;
  let depth = 0;
  /** The last byte outside of strings was the start of an array or object, which may be empty. */
  let opened = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    if (byte <= SPACE) continue;
    const isClose = byte === CLOSE_ARRAY || byte === CLOSE_OBJECT;
    if (opened && !isClose) elements += 1;
    opened = byte === OPEN_ARRAY || byte === OPEN_OBJECT;
    if (byte === QUOTE) at = endOfString(bytes, at);
    else if (byte === COMMA) elements += 1;
    else if (isClose) depth -= 1;
    else if (opened) {
      depth += 1;
      if (depth > objectLimits.depth) return `deeper than ${objectLimits.depth} levels`;
    }
    if (elements > objectLimits.elements) return `more than ${objectLimits.elements} elements`;
  }
  return { elements };
}

/** The index of the quote that ends the string, or the length. */
function endOfString(bytes: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}

/** The one member name with a meaning in JavaScript. */
const PROTOTYPE = 'a member named __proto__';

/** True if an object in the value has a member `__proto__`. */
function namesPrototype(bytes: Uint8Array, value: JsonObject): boolean {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  // Written as it is, or with an escape.
  if (!text.includes('__proto__') && !text.includes('\\u')) return false;
  const waiting: object[] = [value];
  for (let item = waiting.pop(); item !== undefined; item = waiting.pop()) {
    if (Object.hasOwn(item, '__proto__')) return true;
    for (const child of Object.values(item)) if (typeof child === 'object' && child !== null) waiting.push(child);
  }
  return false;
}
