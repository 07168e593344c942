import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { pieceToCompress } from './zlib-piece.ts';

/** Most bytes of a block with several texts. A longer text has a block of its own. Reading a text unpacks its whole block. */
const BLOCK_BYTES = 32 * 1024;
/** The smallest piece for which zlib allocates memory, in bytes. */
const SMALLEST = 64;
/** Most bytes of unpacked blocks in memory. The blocks that were read last stay: enough for several parts of a snapshot. */
const KEPT_BYTES = 4 * 1024 * 1024;

/** Where a text is. */
export interface Place {
  readonly block: TextBlock;
  /** In bytes. */
  readonly start: number;
  readonly bytes: number;
}

/**
 * Places texts in blocks, compressed and outside of the heap of V8, which may grow to a multiple of what it holds. The texts of one
 * `group` share blocks, in the order in which they come. `finish` ends the last block of each group: before it their texts cannot be
 * read. Each group takes 32 KiB until then.
 */
export function createTextPacker() {
  const open = new Map<number, OpenBlock>();
  return {
    place: (content: Uint8Array, group = 0): Place => {
      const bytes = content.length;
      if (bytes > BLOCK_BYTES) {
        const block = new TextBlock();
        const start = block.add(bytes);
        block.close(content);
        return { block, start, bytes };
      }
      const opened = open.get(group) ?? openBlock();
      open.set(group, opened);
      const { contents } = opened;
      if (opened.block.length + bytes > BLOCK_BYTES) {
        opened.block.close(contents);
        opened.block = new TextBlock();
      }
      const { block } = opened;
      const start = block.add(bytes);
      contents.set(content, start);
      return { block, start, bytes };
    },
    finish: (): void => {
      for (const { block, contents } of open.values()) block.close(contents);
      open.clear();
    },
    /** Gives up what is not finished. Its texts cannot be read. */
    drop: (): void => open.clear(),
  };
}

/** A block that is not closed. The memory of its contents is used again for the next one. */
interface OpenBlock {
  block: TextBlock;
  readonly contents: Buffer;
}

function openBlock(): OpenBlock {
  return { block: new TextBlock(), contents: Buffer.allocUnsafeSlow(BLOCK_BYTES) };
}

/** A text in a block. A class, because getters of its own take several hundred bytes for each text. */
export class PackedText {
  /** Length of the text in UTF-8. */
  readonly bytes: number;
  readonly #start: number;
  #block: TextBlock | undefined;
  #own: string | undefined;

  constructor({ block, start, bytes }: Place) {
    this.bytes = bytes;
    this.#start = start;
    this.#block = block;
    this.#own = undefined;
    block.members.add(this);
  }

  get text(): string {
    if (this.#own !== undefined) return this.#own;
    if (this.#block === undefined) throw new Error('a text has neither a block nor itself');
    return this.#block.read(this.#start, this.bytes);
  }

  /** The block, if the text was not released from it before. */
  release(): TextBlock | undefined {
    const block = this.#block;
    if (block?.members.delete(this) !== true) return undefined;
    block.used -= this.bytes;
    return block;
  }

  /** Keeps the text without its block. */
  unpack(): void {
    this.#own = this.text;
    this.#block = undefined;
  }
}

/**
 * Gives up values that are not needed any more. If less than half of a block is needed, the block is given up and its other texts
 * are kept by themselves: memory is at most twice as long as the texts that are needed. Values that are no packed texts count nothing.
 */
export function releaseTexts(values: Iterable<unknown>): void {
  const touched = new Set<TextBlock>();
  for (const value of values) {
    const block = value instanceof PackedText ? value.release() : undefined;
    if (block !== undefined) touched.add(block);
  }
  for (const block of touched) {
    const { used, length, members } = block;
    if (used >= length / 2) continue;
    for (const member of members) member.unpack();
    unpacked.forget(block);
  }
}

/** Texts that are compressed together. */
class TextBlock {
  /** Those that were not released. */
  readonly members = new Set<PackedText>();
  /** Bytes of all texts, and of those that were not released. */
  length = 0;
  used = 0;
  /** Undefined: the block is not closed. */
  #content: Uint8Array | undefined;
  #isCompressed = false;

  /** Returns where the text begins. */
  add(bytes: number): number {
    const start = this.length;
    this.length += bytes;
    this.used = this.length;
    return start;
  }

  /** Nothing follows. `contents` begins with the contents of all texts. */
  close(contents: Uint8Array): void {
    const content = contents.subarray(0, this.length);
    const params = { [constants.ZSTD_c_compressionLevel]: 1 };
    const packed = zstdCompressSync(content, { params, chunkSize: pieceToCompress(content.length) });
    this.#isCompressed = packed.length < content.length / 2;
    // A copy, because the memory of the contents is used again, and the buffer of the result may be larger than it.
    this.#content = Uint8Array.from(this.#isCompressed ? packed : content);
  }

  read(start: number, bytes: number): string {
    return this.#unpacked().toString('utf8', start, start + bytes);
  }

  #unpacked(): Buffer {
    const packed = this.#content;
    if (packed === undefined) throw new Error('a text is read before its block has ended');
    if (!this.#isCompressed) return Buffer.from(packed.buffer, packed.byteOffset, packed.length);
    return unpacked.take(this, () => zstdDecompressSync(packed, { chunkSize: Math.max(this.length, SMALLEST) }));
  }
}

const unpacked = createRecent();

/** The contents of the blocks that were read last. */
function createRecent() {
  const contents = new Map<TextBlock, Buffer>();
  let bytes = 0;
  const forget = (block: TextBlock): void => {
    bytes -= contents.get(block)?.length ?? 0;
    contents.delete(block);
  };
  return {
    forget,
    take: (block: TextBlock, unpack: () => Buffer): Buffer => {
      const content = contents.get(block) ?? unpack();
      forget(block);
      // A block of one long text is read once, for that text.
      if (content.length > BLOCK_BYTES) return content;
      contents.set(block, content);
      bytes += content.length;
      for (const oldest of contents.keys()) {
        if (bytes <= KEPT_BYTES) break;
        forget(oldest);
      }
      return content;
    },
  };
}
