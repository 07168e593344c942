import type { LiveObject } from './agent.ts';
import type { Digest } from './ids.ts';
import { isJsonObject, type JsonObject, parseJson } from './json.ts';
import type { ObjectKey } from './object-key.ts';

/**
 * A live object that keeps its content as text, which takes a third of the memory and whose size a sender cannot multiply by
 * many small elements. The value is parsed on access, because most objects are never read, and stays while it is among those that
 * were read last. `value`: the parsed text, if it is known.
 */
export function liveObjectOf(key: ObjectKey, digest: Digest, text: string, value?: JsonObject): LiveObject {
  const object = new TextObject(key, digest, text);
  if (value !== undefined) parsed.set(object, value);
  return object;
}

/** A class, because a getter of its own takes several hundred bytes for each object. */
class TextObject implements LiveObject {
  readonly key: ObjectKey;
  readonly digest: Digest;
  readonly text: string;

  constructor(key: ObjectKey, digest: Digest, text: string) {
    this.key = key;
    this.digest = digest;
    this.text = text;
  }

  get value(): JsonObject {
    const known = parsed.get(this);
    if (known !== undefined) return known;
    const read = parseJson(this.text);
    if (!isJsonObject(read)) throw new Error('the content of a live object is not an object');
    parsed.set(this, read);
    return read;
  }
}

/** Length of the texts whose values stay at least: those of a part of a snapshot, which several computations read in one commit. */
const KEPT_LENGTH = 2 * 1024 * 1024;
const KEPT_OBJECTS = 2_000;

const parsed = createRecentValues();

/**
 * The values that were parsed last. Weak references would keep them until the next collection of the whole heap: for a large snapshot
 * that is more memory than its texts.
 */
function createRecentValues() {
  let recent = new Map<TextObject, JsonObject>();
  let earlier = recent;
  let length = 0;
  const set = (object: TextObject, value: JsonObject): void => {
    recent.set(object, value);
    length += object.text.length;
    if (length < KEPT_LENGTH && recent.size < KEPT_OBJECTS) return;
    earlier = recent;
    recent = new Map();
    length = 0;
  };
  return {
    get: (object: TextObject): JsonObject | undefined => {
      const known = recent.get(object);
      if (known !== undefined) return known;
      const before = earlier.get(object);
      if (before !== undefined) set(object, before);
      return before;
    },
    set,
  };
}
