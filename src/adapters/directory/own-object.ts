import { objectDigest } from '../../model/digest.ts';
import type { Digest } from '../../model/ids.ts';
import type { JsonObject } from '../../model/json.ts';
import { type ObjectKey, objectRefOf } from '../../model/object-key.ts';
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
  readonly #root: string;
  /** For those who look at it when it was read. */
  #value: WeakRef<JsonObject> | undefined;

  constructor(root: string, { key, stamp, where, value }: Stamped, digest = objectDigest(value)) {
    this.key = key;
    this.stamp = stamp;
    this.where = where;
    this.digest = digest;
    this.#root = root;
    this.#value = new WeakRef(value);
  }

  get value(): JsonObject {
    const known = this.#value?.deref();
    if (known !== undefined) return known;
    this.#value = undefined;
    const file = readRegularFile(this.#root, this.where, LARGEST_FILE_BYTES);
    const read = file === undefined ? undefined : readLiveFile(this.where, file.bytes);
    const found = read?.ok === true ? read.value.find(({ key }) => key === this.key) : undefined;
    return found?.value ?? nameOf(this.key);
  }
}

/** What is known of an object whose file has changed or gone since: the next look says more. */
function nameOf(key: ObjectKey): JsonObject {
  const { group, kind, namespace, name } = objectRefOf(key);
  const apiVersion = group === '' ? 'v1' : `${group}/v1`;
  return { apiVersion, kind, metadata: { name, ...(namespace === '' ? {} : { namespace }) } };
}
