import type { Digest } from '../../model/fleet/ids.ts';
import { type ObjectKey, objectRefOf } from '../../model/objects/object-key.ts';
import { objectDigest } from '../../model/text/digest.ts';
import type { JsonObject } from '../../model/text/json.ts';
import type { ObservedObject, Stamp } from '../../ports/cluster-api.ts';
import { readRegularFile } from './folder.ts';
import { LARGEST_FILE_BYTES, pathOfObject, readLiveFile } from './object-file.ts';

/** An object where fleetrelay writes it, with a stamp. */
export interface Stamped extends ObservedObject {
  readonly stamp: Stamp;
}

/** Whether the object is where fleetrelay writes it, and its stamp names it. */
export function isStampedAtItsPath(object: ObservedObject): object is Stamped {
  return object.stamp?.key === object.key && object.where === pathOfObject(object.key);
}

/**
 * An object of ours, without its value: all that fleetrelay has written may be larger than the memory of the agent. A class,
 * because a getter of its own takes several hundred bytes for each object.
 */
export class OwnObject implements Stamped {
  readonly key: ObjectKey;
  readonly stamp: Stamp;
  readonly where: string;
  /** Of the value. */
  readonly digest: Digest;
  readonly isReread = true;
  declare readonly stale?: true;
  readonly #root: string;
  /** For those who look at it when it was read. */
  readonly #value: WeakRef<JsonObject>;

  /** `digest`: of its value. `stale`: its file cannot be read now. */
  constructor(root: string, { key, stamp, where, value, stale }: Stamped, digest = objectDigest(value)) {
    this.key = key;
    this.stamp = stamp;
    this.where = where;
    this.digest = digest;
    if (stale === true) this.stale = true;
    this.#root = root;
    this.#value = new WeakRef(value);
  }

  /** The same object, while its file cannot be read: with the value that is known. */
  asStale(): OwnObject {
    const { key, stamp, where, digest } = this;
    const value = this.#value.deref() ?? nameOf(key);
    return new OwnObject(this.#root, { key, stamp, where, value, stale: true }, digest);
  }

  get value(): JsonObject {
    return this.#value.deref() ?? valueIn(this.#root, this) ?? nameOf(this.key);
  }
}

/** Reads the value of an object from its file; undefined if the file does not have it any more, or cannot be read. */
function valueIn(root: string, { key, where }: Pick<OwnObject, 'key' | 'where'>): JsonObject | undefined {
  try {
    const file = readRegularFile(root, where, LARGEST_FILE_BYTES);
    const read = file === undefined ? undefined : readLiveFile(where, file.bytes);
    return read?.ok === true ? read.value.find((object) => object.key === key)?.value : undefined;
  } catch {
    // The next look at the folder says why.
    return undefined;
  }
}

/** An object with only its name, for a file that has changed, is gone, or cannot be read: the next look says more. */
function nameOf(key: ObjectKey): JsonObject {
  const { group, kind, namespace, name } = objectRefOf(key);
  const apiVersion = group === '' ? 'v1' : `${group}/v1`;
  return { apiVersion, kind, metadata: { name, ...(namespace === '' ? {} : { namespace }) } };
}
