import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  read,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';

const sync = promisify(fdatasync);
const { O_RDWR, O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
const PIECE_BYTES = 1024 * 1024;
const LONGEST_LINE = 64 * 1024 * 1024;
const LINE_FEED = 0x0a;
const LINE_END = Buffer.of(LINE_FEED);

/** A line of {@link lineOf}, with the content that follows it. */
export interface Entry {
  readonly line: Uint8Array;
  readonly content?: Uint8Array;
}

/** A line that was read. `content`: what follows it, if the reader has said how long that is. */
export interface ReadEntry {
  readonly line: string;
  readonly content: { readonly offset: number; readonly bytes: number; readonly sha256: string } | undefined;
  /** The length of the file up to the end of the entry. */
  readonly end: number;
}

export type Segment = ReturnType<typeof openSegment>;

/** One file (mode 0600) of lines and contents, which only grows. `create`: it must not exist yet. */
export function openSegment(path: string, create = false) {
  const flags = O_RDWR | O_APPEND | O_NOFOLLOW | (create ? O_CREAT | O_EXCL : 0);
  const descriptor = openSync(path, flags, 0o600);
  let length = fstatSync(descriptor).size;
  return {
    path,
    /** Bytes. */
    length: () => length,
    /** Shortens the file to this number of bytes. */
    truncate(bytes: number): void {
      ftruncateSync(descriptor, bytes);
      length = bytes;
    },
    /** Appends all of these; durable when it resolves. If it rejects, nothing of them stays. */
    async append(entries: Iterable<Entry>): Promise<void> {
      // A failed append may have left its bytes behind.
      if (fstatSync(descriptor).size !== length) ftruncateSync(descriptor, length);
      const before = length;
      try {
        let more = false;
        for (const bytes of piecesOf(entries)) {
          // Large steps are written in pieces, between which the event loop turns.
          if (more) await nextTurn();
          more = true;
          writeFileSync(descriptor, bytes);
          length += bytes.byteLength;
        }
        await sync(descriptor);
      } catch (error) {
        length = before;
        try {
          ftruncateSync(descriptor, before);
        } catch {
          // The next append truncates the file, or fails.
        }
        throw error;
      }
    },
    /** Reads a content. Throws if it is not there. */
    read(offset: number, bytes: number): Buffer {
      const content = Buffer.allocUnsafe(bytes);
      for (let at = 0; at < bytes; ) {
        const count = readSync(descriptor, content, at, bytes - at, offset + at);
        if (count === 0) throw new Error(`${path} ends before the content at ${offset}`);
        at += count;
      }
      return content;
    },
    /**
     * Reads the entries in their order. `contentAfter`: how many bytes of content follow a line. Ends before an entry that is not
     * complete.
     */
    entries: (contentAfter: (line: string) => number | undefined) => readEntries(descriptor, contentAfter),
    /** False: the path has no file any more. Throws if it has another file: then another process writes there. */
    exists(): boolean {
      const found = lstatSync(path, { bigint: true, throwIfNoEntry: false });
      if (found === undefined) return false;
      if (fstatSync(descriptor, { bigint: true }).ino === found.ino) return true;
      throw new Error(`${path} was replaced by another process; stop that process, then restart this agent`);
    },
    close: () => closeSync(descriptor),
    remove(): void {
      rmSync(path, { force: true });
      closeSync(descriptor);
    },
  };
}

/** The bytes of a line of JSON, with its line feed. */
export function lineOf(json: string): Uint8Array {
  return Buffer.from(`${json}\n`);
}

/** The place of the content in a file whose length before was `start`, and the length with the entry. */
export function placeOfContent(
  start: number,
  { line, content }: Entry,
): { readonly offset: number; readonly end: number } {
  const offset = start + line.byteLength;
  return { offset, end: content === undefined ? offset : offset + content.byteLength + 1 };
}

function* piecesOf(entries: Iterable<Entry>): Generator<Uint8Array> {
  let waiting: Uint8Array[] = [];
  let bytes = 0;
  for (const { line, content } of entries) {
    const parts = content === undefined ? [line] : [line, content, LINE_END];
    for (const part of parts) {
      if (bytes + part.byteLength > PIECE_BYTES && bytes > 0) {
        yield Buffer.concat(waiting);
        waiting = [];
        bytes = 0;
      }
      if (part.byteLength > PIECE_BYTES) yield part;
      else {
        waiting.push(part);
        bytes += part.byteLength;
      }
    }
  }
  if (bytes > 0) yield Buffer.concat(waiting);
}

async function* readEntries(
  descriptor: number,
  contentAfter: (line: string) => number | undefined,
): AsyncGenerator<ReadEntry> {
  const reader = createReader(descriptor);
  for (;;) {
    const line = await reader.line();
    if (line === undefined) return;
    const bytes = contentAfter(line);
    const offset = reader.at();
    const sha256 = bytes === undefined ? '' : await reader.hash(bytes);
    // The line feed after the content, too.
    if (sha256 === undefined || (bytes !== undefined && (await reader.line()) !== '')) return;
    yield { line, content: bytes === undefined ? undefined : { offset, bytes, sha256 }, end: reader.at() };
  }
}

/** Reads a file from its beginning, with one piece of it in memory. Each function returns undefined where the file ends too early. */
function createReader(descriptor: number) {
  let held: Buffer = Buffer.alloc(0);
  let at = 0;
  const more = async (): Promise<boolean> => {
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    const { bytesRead } = await readAt(descriptor, piece, at + held.byteLength);
    held = held.byteLength === 0 ? piece.subarray(0, bytesRead) : Buffer.concat([held, piece.subarray(0, bytesRead)]);
    return bytesRead > 0;
  };
  const take = (bytes: number): Buffer => {
    const taken = held.subarray(0, bytes);
    held = held.subarray(bytes);
    at += bytes;
    return taken;
  };
  return {
    at: () => at,
    async line(): Promise<string | undefined> {
      for (let from = 0; ; ) {
        const end = held.indexOf(LINE_FEED, from);
        if (end >= 0) return take(end + 1).toString('utf8', 0, end);
        from = held.byteLength;
        if (from > LONGEST_LINE || !(await more())) return undefined;
      }
    },
    async hash(bytes: number): Promise<string | undefined> {
      const hash = createHash('sha256');
      for (let missing = bytes; missing > 0; ) {
        if (held.byteLength === 0 && !(await more())) return undefined;
        const piece = take(Math.min(missing, held.byteLength));
        hash.update(piece);
        missing -= piece.byteLength;
      }
      return hash.digest('hex');
    },
  };
}

function readAt(descriptor: number, piece: Buffer, position: number): Promise<{ readonly bytesRead: number }> {
  return promisify(read)(descriptor, piece, 0, piece.byteLength, position);
}
