import { createHash } from 'node:crypto';
import { inflateSync } from 'node:zlib';

/** An object in a pack, or a delta of one. */
export interface PackEntry {
  readonly kind: 'commit' | 'tree' | 'blob' | 'tag' | 'delta';
  /** Bytes of the object or of the delta. */
  readonly size: number;
  /** Of a delta: how far before this entry its base begins, or the id of its base. */
  readonly base: number | string | undefined;
  /** Bytes of this header. */
  readonly length: number;
}

/** The longest header of an entry. */
export const HEADER_BYTES = 40;
/** The smallest output buffer that zlib takes. */
const LEAST_CHUNK = 64;
/** Larger objects are refused, because they are held in memory. */
export const MOST_OBJECT_BYTES = 64 * 1024 * 1024;
/** Bytes before the first entry and after the last. */
export const PACK_HEAD = 12;
export const PACK_END = 20;

const KINDS: Readonly<Record<number, PackEntry['kind']>> = {
  1: 'commit',
  2: 'tree',
  3: 'blob',
  4: 'tag',
  6: 'delta',
  7: 'delta',
};
const BY_OFFSET = 6;

/** A pack that cannot be used. */
export class BadPack extends Error {}

/** Reads the header of an entry. */
export function parseEntry(bytes: Buffer): PackEntry {
  let at = 0;
  const next = (): number => bytes[at++] ?? 0;
  let byte = next();
  const type = (byte >> 4) & 7;
  let size = byte & 15;
  for (let factor = 16; byte & 0x80; factor *= 128) {
    byte = next();
    size += (byte & 0x7f) * factor;
  }
  const kind = KINDS[type];
  if (kind === undefined || !Number.isSafeInteger(size)) throw new BadPack('it holds an entry of an unknown kind');
  if (kind !== 'delta') return { kind, size, base: undefined, length: at };
  if (type !== BY_OFFSET) return { kind, size, base: bytes.toString('hex', at, at + 20), length: at + 20 };
  byte = next();
  let distance = byte & 0x7f;
  while (byte & 0x80) {
    byte = next();
    distance = (distance + 1) * 128 + (byte & 0x7f);
  }
  return { kind, size, base: distance, length: at };
}

/** Inflates the data of an entry; `bytes` may be longer. */
export function inflateEntry(bytes: Buffer, size: number): { readonly content: Buffer; readonly consumed: number } {
  // The types of Node.js do not have the answer that `info` gives.
  const options = { info: true, maxOutputLength: Math.max(size, 1), chunkSize: Math.max(size + 1, LEAST_CHUNK) };
  const { buffer, engine } = inflateSync(bytes, options) as unknown as {
    readonly buffer: Buffer;
    readonly engine: { readonly bytesWritten: number };
  };
  if (buffer.length !== size) throw new BadPack('an object of it is not as long as it says');
  return { content: buffer, consumed: engine.bytesWritten };
}

/** The most bytes that an object of this size has in a pack. */
export function packedBound(size: number): number {
  return HEADER_BYTES + size + (size >> 8) + 128;
}

/** The size of the object that a delta makes, and where its commands begin. */
export function deltaTarget(delta: Buffer): { readonly size: number; readonly at: number } {
  let at = 0;
  const number = (): number => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = delta[at++] ?? 0;
      value += (byte & 0x7f) * factor;
      if (!(byte & 0x80)) return value;
    }
  };
  number();
  return { size: number(), at };
}

/** Makes an object of a delta and its base. */
export function applyDelta(delta: Buffer, base: Buffer): Buffer {
  const target = deltaTarget(delta);
  const result = Buffer.alloc(target.size);
  let at = target.at;
  let to = 0;
  const operand = (command: number, bits: number, shift: number): number => {
    let value = 0;
    for (let index = 0; index < bits; index += 1) {
      if (command & (1 << (index + shift))) value += (delta[at++] ?? 0) * 2 ** (8 * index);
    }
    return value;
  };
  while (at < delta.length) {
    const command = delta[at++] ?? 0;
    if (command & 0x80) {
      const from = operand(command, 4, 0);
      const length = operand(command, 3, 4) || 0x10000;
      to += base.copy(result, to, from, from + length);
    } else {
      to += delta.copy(result, to, at, at + command);
      at += command;
    }
  }
  if (to !== target.size) throw new BadPack('a delta of it makes another object than it says');
  return result;
}

/**
 * Checks a pack before its objects are held in memory: its checksum, and the size of each object. Throws a {@link BadPack} that
 * says what is wrong.
 */
export function checkPack(pack: Buffer): void {
  const end = pack.length - PACK_END;
  if (end < PACK_HEAD || pack.toString('latin1', 0, 4) !== 'PACK') throw new BadPack('it is no pack');
  const sum = createHash('sha1').update(pack.subarray(0, end)).digest();
  if (!sum.equals(pack.subarray(end))) throw new BadPack('its checksum is wrong');
  let at = PACK_HEAD;
  for (let left = pack.readUInt32BE(8); left > 0; left -= 1) {
    const { kind, size, length } = parseEntry(pack.subarray(at, Math.min(at + HEADER_BYTES, end)));
    checkSize(size);
    const { content, consumed } = inflateEntry(pack.subarray(at + length, end), size);
    if (kind === 'delta') checkSize(deltaTarget(content).size);
    at += length + consumed;
  }
  if (at !== end) throw new BadPack('it holds more than its entries');
}

function checkSize(size: number): void {
  if (size <= MOST_OBJECT_BYTES) return;
  throw new BadPack(
    `an object of it has ${size} bytes; at most ${MOST_OBJECT_BYTES} are read without the git program, which has no such limit`,
  );
}
