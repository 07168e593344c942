import { sha256 } from '../../model/digest.ts';
import { type Digest, quote } from '../../model/ids.ts';
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../../model/json.ts';
import { ProtocolError } from './protocol-error.ts';

/** Content bytes in one record: two such records fit in one chunk. */
export const PIECE_BYTES = 120 * 1024;
/** Deeper content is refused: it would overflow the stack of whoever walks it. */
const MAX_DEPTH = 200;

/** The bytes of an object as they travel, cut into pieces; at least one. `content`: they are at hand. */
export function contentPieces(
  value: JsonObject,
  content?: Uint8Array,
): { readonly size: number; readonly pieces: readonly Uint8Array[] } {
  const bytes = content ?? new TextEncoder().encode(canonicalJson(value));
  const pieces: Uint8Array[] = [];
  for (let start = 0; start === 0 || start < bytes.length; start += PIECE_BYTES) {
    pieces.push(bytes.subarray(start, start + PIECE_BYTES));
  }
  return { size: bytes.length, pieces };
}

/** Puts pieces together and checks them against the digest that was announced, before anything reads them. */
export function readContent(key: string, digest: Digest, pieces: readonly Uint8Array[]): JsonObject {
  const [first] = pieces;
  const bytes = pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces);
  if (sha256(bytes) !== digest)
    throw new ProtocolError('DigestMismatch', `${quote(key)}: the content has another digest`);
  const value = parseJson(key, bytes);
  if (!isJsonObject(value)) throw new ProtocolError('MalformedContent', `${quote(key)}: the content is not an object`);
  checkShape(key, value);
  return value;
}

function parseJson(key: string, bytes: Uint8Array): JsonValue {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    throw new ProtocolError('MalformedContent', `${quote(key)}: the content is not JSON`);
  }
}

/** Why whoever reads this content would refuse it, together with everything beside it; undefined: it would not. */
export function unfitShape(key: string, value: JsonObject): string | undefined {
  try {
    checkShape(key, value);
    return undefined;
  } catch (error) {
    if (error instanceof ProtocolError) return error.message;
    throw error;
  }
}

/** Bounds the depth, without recursion, and refuses the one member name that means something to JavaScript. */
function checkShape(key: string, value: JsonObject): void {
  let level: JsonValue[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH)
      throw new ProtocolError('MalformedContent', `${quote(key)}: deeper than ${MAX_DEPTH} levels`);
    const next: JsonValue[] = [];
    for (const item of level) collectChildren(key, item, next);
    level = next;
  }
}

function collectChildren(key: string, item: JsonValue, into: JsonValue[]): void {
  if (Array.isArray(item)) {
    for (const child of item) if (typeof child === 'object' && child !== null) into.push(child);
  } else if (isJsonObject(item)) {
    for (const name of Object.keys(item)) {
      if (name === '__proto__') throw new ProtocolError('MalformedContent', `${quote(key)}: a member named __proto__`);
      const child = item[name];
      if (typeof child === 'object' && child !== null) into.push(child);
    }
  }
}
