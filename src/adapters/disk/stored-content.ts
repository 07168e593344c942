import type { Digest } from '../../model/fleet/ids.ts';
import { displayKey, type ObjectKey } from '../../model/objects/object-key.ts';
import { sha256 } from '../../model/text/digest.ts';
import { isJsonObject, type JsonObject, parseJsonBytes } from '../../model/text/json.ts';
import type { StoredContents, StoredObject } from '../../ports/agent-disk.ts';
import type { Segment } from './content-segment.ts';

/** Where a content is. */
export interface Place {
  readonly segment: Segment;
  readonly offset: number;
}

/** Bytes on the disk beside a content. */
const LINE_BYTES = 200;

/** A content on the disk. A class, because a getter of its own takes several hundred bytes for each object. */
export class StoredContent implements StoredObject {
  readonly key: ObjectKey;
  readonly digest: Digest;
  readonly bytes: number;
  /** Undefined: it is lost. */
  #place: Place | undefined;
  /** The contents that were written with it, as long as they are in memory. One reference for all: each costs the garbage collector. */
  #written: WeakRef<StoredContents> | undefined;

  constructor(key: ObjectKey, digest: Digest, bytes: number, place: Place, written?: WeakRef<StoredContents>) {
    this.key = key;
    this.digest = digest;
    this.bytes = bytes;
    this.#place = place;
    this.#written = written;
  }

  get value(): JsonObject {
    const written = this.#written?.deref()?.get(this.key);
    if (written !== undefined) return written.value;
    this.#written = undefined;
    const value = parseJsonBytes(this.read());
    if (!isJsonObject(value)) throw new Error(`the content of ${displayKey(this.key)} on the disk is not an object`);
    return value;
  }

  /** Its canonical bytes. Throws if the disk has others. */
  read(): Uint8Array {
    if (this.#place === undefined) throw new Error(`the content of ${displayKey(this.key)} is lost`);
    const { segment, offset } = this.#place;
    const content = segment.read(offset, this.bytes);
    if (sha256(content) === this.digest) return content;
    throw new Error(`the content of ${displayKey(this.key)} in ${segment.path} is damaged`);
  }

  get place(): Place | undefined {
    return this.#place;
  }

  /** It was copied to another place; undefined: it could not be read for that. */
  moveTo(place: Place | undefined): void {
    this.#place = place;
  }

  /** What it takes on the disk. */
  get size(): number {
    return this.bytes + LINE_BYTES;
  }
}

/** What these take on the disk, in bytes. */
export function sizeOf(contents: Iterable<StoredContent>): number {
  let sum = 0;
  for (const { size } of contents) sum += size;
  return sum;
}
