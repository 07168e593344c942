import type { LiveObject } from '../agent/agent.ts';
import type { Digest } from '../fleet/ids.ts';
import { isJsonObject, type JsonObject, parseJson } from '../text/json.ts';
import { PackedText, type Place } from '../values/packed-texts.ts';
import type { ObjectKey } from './object-key.ts';

/**
 * A live object that keeps its content as text: text takes a third of the memory, and a sender cannot multiply its size by many
 * small elements. The value is parsed on access, because most objects are never read, and is kept while it is among the values that
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
    return parsedValue(this);
  }
}

/** A live object whose text is packed; it is read, and parsed, on access. */
export function packedObjectOf(key: ObjectKey, digest: Digest, place: Place): LiveObject {
  return new PackedObject(key, digest, place);
}

class PackedObject extends PackedText implements LiveObject {
  readonly key: ObjectKey;
  readonly digest: Digest;

  constructor(key: ObjectKey, digest: Digest, place: Place) {
    super(place);
    this.key = key;
    this.digest = digest;
  }

  get value(): JsonObject {
    return parsedValue(this);
  }
}

/** A live object with a text. */
type WithText = Pick<LiveObject, 'bytes'> & { readonly text: string };

/** Parses the text of a live object, if its value is not among those that were read last. */
function parsedValue(object: WithText): JsonObject {
  const known = parsed.get(object);
  if (known !== undefined) return known;
  const read = parseJson(object.text);
  if (!isJsonObject(read)) throw new Error('the content of a live object is not an object');
  parsed.set(object, read);
  return read;
}

/** Length of the content of a live object: in bytes, or of its text. 0: neither is known. */
export function contentLength(object: Pick<LiveObject, 'bytes' | 'content' | 'text'>): number {
  return object.bytes ?? object.content?.length ?? object.text?.length ?? 0;
}

/** Length of texts whose values are kept at least: a part of a snapshot, which several computations read in one commit. */
const KEPT_LENGTH = 2 * 1024 * 1024;
const KEPT_OBJECTS = 2_000;

const parsed = createRecentValues();

/**
 * The values that were parsed last. Weak references would keep them until the next collection of the whole heap: for a large snapshot
 * that is more memory than its texts.
 */
function createRecentValues() {
  let recent = new Map<WithText, JsonObject>();
  let earlier = recent;
  let length = 0;
  const set = (object: WithText, value: JsonObject): void => {
    recent.set(object, value);
    length += object.bytes ?? object.text.length;
    if (length < KEPT_LENGTH && recent.size < KEPT_OBJECTS) return;
    earlier = recent;
    recent = new Map();
    length = 0;
  };
  return {
    get: (object: WithText): JsonObject | undefined => {
      const known = recent.get(object);
      if (known !== undefined) return known;
      const before = earlier.get(object);
      if (before !== undefined) set(object, before);
      return before;
    },
    set,
  };
}
