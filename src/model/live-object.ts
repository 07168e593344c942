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
  return new TextObject(key, digest, text, value === undefined ? undefined : new WeakRef(value));
}

/** A class, because a getter of its own takes several hundred bytes for each object. */
class TextObject implements LiveObject {
  readonly key: ObjectKey;
  readonly digest: Digest;
  readonly text: string;
  #parsed: WeakRef<JsonObject> | undefined;

  constructor(key: ObjectKey, digest: Digest, text: string, parsed: WeakRef<JsonObject> | undefined) {
    this.key = key;
    this.digest = digest;
    this.text = text;
    this.#parsed = parsed;
  }

  get value(): JsonObject {
    const known = this.#parsed?.deref();
    if (known !== undefined) return known;
    const read = parseJson(this.text);
    if (!isJsonObject(read)) throw new Error('the content of a live object is not an object');
    this.#parsed = new WeakRef(read);
    return read;
  }
}
