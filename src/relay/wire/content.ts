import type { LiveObject } from '../../model/agent/agent.ts';
import { type Digest, quote } from '../../model/fleet/ids.ts';
import type { ObjectKey } from '../../model/objects/object-key.ts';
import { notCarried, type ObjectSize, objectLimits, sizeOf } from '../../model/objects/object-size.ts';
import { sha256 } from '../../model/text/digest.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../model/text/json.ts';
import { TRANSFER_ELEMENTS } from '../limits.ts';
import { ProtocolError } from './scalars.ts';

/** The content of an object, parsed and as it was sent. */
export interface Content {
  readonly value: JsonObject;
  readonly text: string;
  readonly bytes: Uint8Array;
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
  if (mayNamePrototype(bytes) && namesPrototype(value)) throw malformed(key, PROTOTYPE);
  return { value, text, bytes };
}

/** Why a reader that takes objects of `limit` bytes refuses the content of an object, as a predicate; undefined: it takes it. */
export function contentProblem(object: Pick<LiveObject, 'value' | 'content'>, limit: number): string | undefined {
  const { content } = object;
  if (content !== undefined) {
    if (content.length > limit) return tooLong(content.length, limit);
    const shape = shapeOf(content);
    if (typeof shape === 'string') return `has ${shape}`;
    return mayNamePrototype(content) && namesPrototype(object.value) ? `has ${PROTOTYPE}` : undefined;
  }
  const { value } = object;
  const size = sizeOf(value);
  if (size.bytes > limit) return tooLong(size.bytes, limit);
  return notCarried(size) ?? (namesPrototype(value) ? `has ${PROTOTYPE}` : undefined);
}

function tooLong(bytes: number, limit: number): string {
  return `has ${bytes} bytes; the other end takes ${limit}`;
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
export function shapeOf(
  bytes: Uint8Array,
  most: Pick<ObjectSize, 'elements' | 'depth'> = objectLimits,
): { readonly elements: number } | string {
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
      if (depth > most.depth) return `more than ${most.depth} levels`;
    }
    if (elements > most.elements) return `more than ${most.elements} elements`;
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

/** False: no object in the content has such a member, written as it is or with an escape. */
function mayNamePrototype(bytes: Uint8Array): boolean {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  return text.includes('__proto__') || text.includes('\\u');
}

function namesPrototype(value: JsonObject): boolean {
  const waiting: object[] = [value];
  for (let item = waiting.pop(); item !== undefined; item = waiting.pop()) {
    if (Object.hasOwn(item, '__proto__')) return true;
    for (const child of Object.values(item)) if (typeof child === 'object' && child !== null) waiting.push(child);
  }
  return false;
}
