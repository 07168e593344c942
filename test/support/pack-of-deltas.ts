import { createHash } from 'node:crypto';
import { deflateSync } from 'node:zlib';

/** The most that one command of a delta copies. */
const MOST_COPIED = 2 ** 24 - 1;
const [COMMIT, TREE, BLOB, DELTA] = [1, 2, 3, 6] as const;

/**
 * A pack with a commit of `count` files of `size` bytes, in which each file is a delta of the one before, so that it is small.
 */
export function packOfDeltas(size: number, count: number): { readonly pack: Buffer; readonly commit: string } {
  const head = Buffer.from('PACK\0\0\0\u0002\0\0\0\0', 'latin1');
  head.writeUInt32BE(count + 2, 8);
  const parts = [head];
  let [at, base] = [head.length, head.length];
  const add = (kind: number, data: Buffer, distance?: number): void => {
    const entry = Buffer.concat([
      ...[entryHeader(kind, data.length), distance === undefined ? Buffer.alloc(0) : distanceBytes(distance)],
      deflateSync(data),
    ]);
    parts.push(entry);
    at += entry.length;
  };
  let content = Buffer.alloc(size);
  const files = [entryOf(0, content)];
  add(BLOB, content);
  for (let index = 1; index < count; index += 1) {
    content = Buffer.concat([Buffer.from([index]), content.subarray(0, -1)]);
    files.push(entryOf(index, content));
    const begin = at;
    add(DELTA, shiftBy(index, size), begin - base);
    base = begin;
  }
  const tree = Buffer.concat(files);
  add(TREE, tree);
  const who = 'Ada <ada@example.com> 1700000000 +0000';
  const commit = Buffer.from(`tree ${idOf('tree', tree).toString('hex')}\nauthor ${who}\ncommitter ${who}\n\nx\n`);
  add(COMMIT, commit);
  const body = Buffer.concat(parts);
  const sum = createHash('sha1').update(body).digest();
  return { pack: Buffer.concat([body, sum]), commit: idOf('commit', commit).toString('hex') };
}

function idOf(type: string, content: Buffer): Buffer {
  return createHash('sha1').update(`${type} ${content.length}\0`).update(content).digest();
}

/** The entry of a file in a tree. */
function entryOf(index: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`100644 ${String(index).padStart(3, '0')}.yaml\0`), idOf('blob', content)]);
}

/** A delta that puts one byte before its base, and takes off the last one. */
function shiftBy(byte: number, size: number): Buffer {
  const commands = [littleEndian(size), littleEndian(size), Buffer.from([1, byte])];
  for (let from = 0; from < size - 1; from += MOST_COPIED) {
    const command = Buffer.alloc(8, 0xff);
    command.writeUInt32LE(from, 1);
    command.writeUIntLE(Math.min(MOST_COPIED, size - 1 - from), 5, 3);
    commands.push(command);
  }
  return Buffer.concat(commands);
}

/** Seven bits for each byte, the lowest first. */
function littleEndian(value: number): Buffer {
  const bytes: number[] = [];
  let left = value;
  for (; left > 127; left >>>= 7) bytes.push((left & 127) | 128);
  return Buffer.from([...bytes, left]);
}

function entryHeader(kind: number, size: number): Buffer {
  const first = (kind << 4) | (size & 15);
  return size < 16 ? Buffer.from([first]) : Buffer.concat([Buffer.from([first | 128]), littleEndian(size >>> 4)]);
}

function distanceBytes(distance: number): Buffer {
  const bytes = [distance & 127];
  for (let left = distance >>> 7; left > 0; left >>>= 7) {
    left -= 1;
    bytes.unshift((left & 127) | 128);
  }
  return Buffer.from(bytes);
}
