import type { LiveObject } from './agent.ts';
import type { Digest } from './ids.ts';
import { isJsonObject, type JsonObject, parseJson } from './json.ts';
import type { ObjectKey } from './object-key.ts';

/**
 * A live object that keeps its content as text, which takes a third of the memory and whose size a sender cannot multiply by
 * many small elements. The value is parsed on access, because most objects are never read, and stays until the garbage
 * collector needs the memory. `value`: the parsed text, if it is known.
 */
export function liveObjectOf(key: ObjectKey, digest: Digest, text: string, value?: JsonObject): LiveObject {
  let parsed = value === undefined ? undefined : new WeakRef(value);
  return {
    key,
    digest,
    text,
    get value(): JsonObject {
      const known = parsed?.deref();
      if (known !== undefined) return known;
      const read = parseJson(text);
      if (!isJsonObject(read)) throw new Error('the content of a live object is not an object');
      parsed = new WeakRef(read);
      return read;
    },
  };
}
