import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { inflateSync } from 'node:zlib';
import { errorText } from '../../../model/text/messages.ts';
import { gitCopyError } from '../../../ports/git-repo.ts';
import { type GitObject, type GitObjects, isObjectId } from '../git-objects.ts';
import {
  applyDelta,
  deltaTarget,
  HEADER_BYTES,
  inflateEntry,
  MOST_OBJECT_BYTES,
  PACK_HEAD,
  packedBound,
  parseEntry,
} from './pack-entry.ts';

export type PackObjects = ReturnType<typeof createPackObjects>;

interface Pack {
  readonly name: string;
  readonly index: Buffer;
  readonly count: number;
  readonly file: number;
  /** The part of the file that was read last, and where it begins. */
  window: { readonly at: number; readonly bytes: Buffer };
  /** Of entries, by offset. */
  readonly types: Map<number, string>;
}

interface Found {
  type(): string;
  size(): number;
  content(): Buffer;
}

const INDEX_HEAD = 8;
const FAN_OUT = 256 * 4;
/** Objects near each other in a pack are read together. */
const WINDOW_BYTES = 1024 * 1024;
/** Objects that were read, kept because deltas may need them. */
const MOST_KEPT_BYTES = 16 * 1024 * 1024;
const EMPTY_TREE = '4b825dc642cb6eb9a060e54bf8d69288fbee4904';

/** Reads the objects of a repository: packs with an index of version 2, and loose ones. Nothing is held but indexes. */
export function createPackObjects(repository: string) {
  const folder = join(repository, 'objects');
  let packs: readonly Pack[] | undefined;
  const results = createKept();
  const opened = (): readonly Pack[] => {
    packs ??= readdirSync(join(folder, 'pack'))
      .filter((name) => name.endsWith('.idx'))
      .map((name) => openPack(join(folder, 'pack', name)));
    return packs;
  };
  const find = (id: string): Found | undefined => {
    for (const pack of opened()) {
      const offset = offsetOf(pack, id);
      if (offset !== undefined) return entryAt(pack, offset);
    }
    if (id === EMPTY_TREE) return { type: () => 'tree', size: () => 0, content: () => Buffer.alloc(0) };
    return loose(join(folder, id.slice(0, 2), id.slice(2)));
  };
  const baseOf = (pack: Pack, offset: number, base: number | string): Found => {
    const object = typeof base === 'string' ? find(base) : entryAt(pack, offset - base);
    if (object === undefined) throw new Error(`the base ${base} of an object is missing`);
    return object;
  };
  const entryAt = (pack: Pack, offset: number): Found => {
    const { kind, size, base, length } = parseEntry(readAt(pack, offset, HEADER_BYTES));
    let inflated: Buffer | undefined;
    const data = (): Buffer => {
      inflated ??= inflateEntry(readAt(pack, offset, packedBound(size)).subarray(length), size).content;
      return inflated;
    };
    const key = `${pack.name} ${offset}`;
    if (base === undefined) return { type: () => kind, size: () => size, content: () => results.get(key, data) };
    return {
      type: () => {
        const type = pack.types.get(offset) ?? baseOf(pack, offset, base).type();
        pack.types.set(offset, type);
        return type;
      },
      size: () => deltaTarget(data()).size,
      content: () => results.get(key, () => applyDelta(data(), baseOf(pack, offset, base).content())),
    };
  };
  const asked = <Value>(id: string, answer: (object: Found) => Value): Value | undefined => {
    try {
      const object = isObjectId(id) ? find(id) : undefined;
      return object && answer(object);
    } catch (error) {
      throw gitCopyError(`reading the local copy failed: ${errorText(error)}`);
    }
  };
  const objects: GitObjects = {
    header: async (id) => asked(id, (object) => ({ id, type: object.type(), size: object.size() })),
    read: async (id, maxBytes, wantsStart = false) =>
      asked(id, (object): GitObject => {
        const [type, size] = [object.type(), object.size()];
        const isWanted = size <= maxBytes || wantsStart;
        return { id, type, size, bytes: isWanted ? object.content().subarray(0, maxBytes) : undefined };
      }),
  };
  return {
    objects,
    /** Takes notice of new and removed packs. */
    refresh: (): void => {
      for (const { file } of packs ?? []) closeSync(file);
      packs = undefined;
      results.clear();
    },
  };
}

/** The newest results of deltas, within a bound: others may need them as their base. */
function createKept() {
  const contents = new Map<string, Buffer>();
  let bytes = 0;
  return {
    get: (key: string, make: () => Buffer): Buffer => {
      const before = contents.get(key);
      if (before !== undefined) return before;
      const made = make();
      contents.set(key, made);
      bytes += made.length;
      for (const [oldest, content] of contents) {
        if (bytes <= MOST_KEPT_BYTES) break;
        contents.delete(oldest);
        bytes -= content.length;
      }
      return made;
    },
    clear: (): void => {
      contents.clear();
      bytes = 0;
    },
  };
}

function openPack(indexFile: string): Pack {
  const index = readFileSync(indexFile);
  if (index.length < INDEX_HEAD + FAN_OUT || index.toString('hex', 0, 8) !== 'ff744f6300000002') {
    throw new Error(`${indexFile} is no index of a pack`);
  }
  const count = index.readUInt32BE(INDEX_HEAD + FAN_OUT - 4);
  const file = openSync(indexFile.replace(/idx$/, 'pack'), 'r');
  return { name: indexFile, index, count, file, window: { at: 0, bytes: Buffer.alloc(0) }, types: new Map() };
}

/** Where an object begins in a pack; undefined: it has no such object. */
function offsetOf({ index, count }: Pack, id: string): number | undefined {
  const wanted = Buffer.from(id, 'hex');
  const names = INDEX_HEAD + FAN_OUT;
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    const order = wanted.compare(index, names + middle * 20, names + middle * 20 + 20);
    if (order === 0) return index.readUInt32BE(names + count * 24 + middle * 4);
    if (order < 0) high = middle;
    else low = middle + 1;
  }
  return undefined;
}

/** The bytes of a pack; fewer at its end. They may be more than `length`. */
function readAt(pack: Pack, offset: number, length: number): Buffer {
  if (offset < PACK_HEAD) throw new Error('an object begins where there is none');
  const { at, bytes } = pack.window;
  if (offset >= at && offset + length <= at + bytes.length) return bytes.subarray(offset - at);
  // A base is before what needs it.
  const from = Math.max(0, offset - WINDOW_BYTES / 2);
  const fresh = Buffer.allocUnsafe(Math.max(WINDOW_BYTES, offset - from + length));
  pack.window = { at: from, bytes: fresh.subarray(0, readSync(pack.file, fresh, 0, fresh.length, from)) };
  return pack.window.bytes.subarray(offset - from);
}

function loose(file: string): Found | undefined {
  let packed: Buffer;
  try {
    packed = readFileSync(file);
  } catch {
    return undefined;
  }
  const bytes = inflateSync(packed, { maxOutputLength: MOST_OBJECT_BYTES + HEADER_BYTES });
  const end = bytes.indexOf(0);
  const [type = '', size] = bytes.toString('latin1', 0, end).split(' ');
  return { type: () => type, size: () => Number(size), content: () => bytes.subarray(end + 1) };
}
