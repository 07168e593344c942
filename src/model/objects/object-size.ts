import { isJsonObject, type JsonObject, type JsonValue } from '../text/json.ts';

/** What a value costs those that carry and read it. */
export interface ObjectSize {
  /** Of its canonical JSON. */
  readonly bytes: number;
  /** Scalars, lists and mappings; the names of members do not count. */
  readonly elements: number;
  /** Levels of lists and mappings. */
  readonly depth: number;
}

/** The size of a value, and the number of its members, as often as aliases repeat them. */
export interface ValueSize extends ObjectSize {
  readonly members: number;
}

/** The most that one object may have for the relay to carry it. A property of the protocol; decoding counts the same. */
export const objectLimits: ObjectSize = {
  bytes: 64 * 1024 * 1024,
  // Parsing them takes about 20 ms.
  elements: 200_000,
  // A deeper value would overflow the stack of recursive readers.
  depth: 200,
};

/** Most clusters in the scope of one object. A property of the protocol. */
export const SCOPE_CLUSTERS = 20_000;

/** What an API server reads of the body of a request: `MaxRequestBodyBytes` of k8s.io/apiserver. */
export const REQUEST_BYTES = 3 * 1024 * 1024;

/** An agent adds its stamp to an object that it applies. Only the files of many sources, or long paths, make it longer. */
const STAMP_BYTES = 16 * 1024;

/** An object up to this size is far from every limit, and both ends of the relay take it. */
export const SMALL_OBJECT: ObjectSize = { bytes: 1024 * 1024, elements: 50_000, depth: 100 };

/** Whether the object is so small that its size need not be known. */
export function isSmall({ bytes, elements, depth }: ObjectSize): boolean {
  return bytes <= SMALL_OBJECT.bytes && elements <= SMALL_OBJECT.elements && depth <= SMALL_OBJECT.depth;
}

/** The size of a value as a member; no member for a small one. */
export function sizeIfLarge(value: JsonValue): { readonly size?: ObjectSize } {
  const { bytes, elements, depth } = sizeOf(value);
  const size = { bytes, elements, depth };
  return isSmall(size) ? {} : { size };
}

/**
 * Counts a value without making its JSON: aliases can make a small file large. A value that aliases repeat counts each time. What
 * is deeper than the relay carries is not looked into.
 */
export function sizeOf(value: JsonValue): ValueSize {
  const count = { bytes: 0, elements: 0, depth: 0, members: 0 };
  const long = new Map<string, number>();
  const textBytes = (text: string): number => {
    if (text.length < LONG) return jsonBytes(text);
    const known = long.get(text) ?? jsonBytes(text);
    long.set(text, known);
    return known;
  };
  const add = (item: JsonValue, depth: number): void => {
    count.elements += 1;
    if (typeof item === 'string') count.bytes += textBytes(item);
    else if (typeof item !== 'object' || item === null) count.bytes += JSON.stringify(item).length;
    else {
      if (depth > count.depth) count.depth = depth;
      // The brackets, and a comma between two of the items or members.
      let others = -1;
      if (depth > objectLimits.depth) others = 0;
      else if (Array.isArray(item)) {
        others += item.length;
        for (const each of item) add(each, depth + 1);
      } else {
        for (const name of Object.keys(item)) {
          const member = (item as JsonObject)[name];
          if (member === undefined) continue;
          others += 1;
          count.members += 1;
          count.bytes += textBytes(name) + 1;
          add(member, depth + 1);
        }
      }
      count.bytes += 2 + Math.max(0, others);
    }
  };
  add(value, 1);
  return count;
}

/** Length from which a text that aliases repeat is counted once. */
const LONG = 256;
/** Characters that stand for themselves in JSON. Others may be escaped, as half of a surrogate pair is that stands alone. */
const PLAIN = /^[ !#-[\]-\ud7ff]*$/;

function jsonBytes(text: string): number {
  return PLAIN.test(text) ? Buffer.byteLength(text) + 2 : Buffer.byteLength(JSON.stringify(text));
}

/** Why the relay does not carry an object, as the predicate of a sentence; undefined: it does. */
export function notCarried({ bytes, elements, depth }: ObjectSize): string | undefined {
  if (elements > objectLimits.elements) {
    return `has ${elements} values (scalars, lists and mappings, aliases counted in full); the relay carries at most ${objectLimits.elements} in one object`;
  }
  if (depth > objectLimits.depth) {
    return `has lists and mappings that are nested more than ${objectLimits.depth} deep, and the relay carries no deeper object`;
  }
  if (bytes > objectLimits.bytes) {
    return `has ${bytes} bytes as JSON, aliases counted in full; the relay carries at most ${objectLimits.bytes} in one object`;
  }
  return undefined;
}

/**
 * Why an API server does not take an object of this size, as the predicate of a sentence; undefined: it does. The agent sends the
 * object with its stamp, and `stringData` of a Secret in base64.
 */
export function aboveRequest(value: JsonObject, { bytes }: Pick<ObjectSize, 'bytes'>): string | undefined {
  const sent = bytes + STAMP_BYTES + growthOfSecret(value);
  if (sent <= REQUEST_BYTES) return undefined;
  return `has ${sent} bytes as it is sent, with the stamp of the agent; an API server takes at most ${REQUEST_BYTES} in a request`;
}

/** The bytes that the texts in `stringData` of a Secret grow by in base64. */
function growthOfSecret({ apiVersion, kind, stringData }: JsonObject): number {
  if (apiVersion !== 'v1' || kind !== 'Secret' || !isJsonObject(stringData)) return 0;
  let growth = 0;
  for (const text of Object.values(stringData)) {
    if (typeof text === 'string')
      growth += Math.max(0, 4 * Math.ceil(Buffer.byteLength(text) / 3) + 2 - jsonBytes(text));
  }
  return growth;
}
