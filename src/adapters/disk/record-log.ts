import {
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { sha256 } from '../../model/digest.ts';
import { isErrno } from './errno.ts';

const sync = promisify(fdatasync);
const CHECK_LENGTH = 16;

/** Content of a log when it was opened. `damaged`: a record before the last one fails its check; the file is unchanged. */
export type RecordLogContent =
  | { readonly type: 'found'; readonly records: readonly unknown[] }
  | { readonly type: 'missing' }
  | { readonly type: 'damaged'; readonly message: string };

/**
 * An append-only file of records, one per line, each with a checksum. A crash can tear only the last record, which was never
 * confirmed and is dropped.
 */
export interface RecordLog {
  /** Bytes in the file. */
  size(): number;
  /** True if the file still exists. Throws if another file has its path: then another process writes it. */
  isThere(): boolean;
  /** Durable when it resolves; one at a time. */
  append(record: unknown): Promise<void>;
  /** Replaces the content atomically. */
  rewrite(records: readonly unknown[]): Promise<void>;
  close(): void;
}

/** Reads the file and opens the log for writing (mode 0600). A damaged file is moved aside at the first write. */
export function openRecordLog(path: string): { readonly log: RecordLog; readonly content: RecordLogContent } {
  const { content, length } = read(path);
  let good = length;
  let descriptor: number | undefined;

  return { content, log: { size: () => good, isThere, append, rewrite, close } };

  function isThere(): boolean {
    const found = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    if (found === undefined) return false;
    if (descriptor !== undefined && fstatSync(descriptor, { bigint: true }).ino !== found.ino)
      throw new Error(`${path} was replaced by another process; stop that process, then restart this agent`);
    return true;
  }

  async function append(record: unknown): Promise<void> {
    if (descriptor === undefined && content.type !== 'found') return rewrite([record]);
    descriptor ??= openSync(path, constants.O_RDWR | constants.O_NOFOLLOW);
    const line = lineOf(record);
    // Removes a torn record or one whose write failed.
    ftruncateSync(descriptor, good);
    writeFully(descriptor, line, good);
    await sync(descriptor);
    good += line.byteLength;
  }

  async function rewrite(records: readonly unknown[]): Promise<void> {
    const temporary = `${path}.tmp`;
    const next = openSync(
      temporary,
      constants.O_CREAT | constants.O_TRUNC | constants.O_RDWR | constants.O_NOFOLLOW,
      0o600,
    );
    try {
      let written = 0;
      for (const record of records) {
        const line = lineOf(record);
        writeFully(next, line, written);
        written += line.byteLength;
      }
      await sync(next);
      if (descriptor === undefined && content.type === 'damaged' && isThere()) moveAside(path);
      renameSync(temporary, path);
      syncFolder(dirname(path));
      if (descriptor !== undefined) closeSync(descriptor);
      descriptor = next;
      good = written;
    } catch (error) {
      closeSync(next);
      throw error;
    }
  }

  function close(): void {
    if (descriptor !== undefined) closeSync(descriptor);
    descriptor = undefined;
  }
}

/** Makes a rename or removal in this folder durable. */
export function syncFolder(folder: string): void {
  const descriptor = openSync(folder, constants.O_RDONLY);
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Writes all bytes: one system call may write only a part of a large buffer. */
export function writeFully(descriptor: number, bytes: Uint8Array, position: number): void {
  let done = 0;
  while (done < bytes.byteLength) {
    done += writeSync(descriptor, bytes, done, bytes.byteLength - done, position + done);
  }
}

function lineOf(record: unknown): Uint8Array {
  const json = JSON.stringify(record);
  return Buffer.from(`${sha256(json).slice(0, CHECK_LENGTH)} ${json}\n`);
}

function read(path: string): { readonly content: RecordLogContent; readonly length: number } {
  let bytes: Buffer;
  try {
    bytes = readBytes(path);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return { content: { type: 'missing' }, length: 0 };
    throw error;
  }
  const records: unknown[] = [];
  let start = 0;
  while (start < bytes.byteLength) {
    const end = bytes.indexOf(0x0a, start);
    const record = end < 0 ? undefined : parseLine(bytes.toString('utf8', start, end));
    if (record === undefined) {
      const last = end < 0 || end === bytes.byteLength - 1;
      return last && records.length > 0
        ? { content: { type: 'found', records }, length: start }
        : { content: { type: 'damaged', message: `record ${records.length + 1} fails its check` }, length: start };
    }
    records.push(record.value);
    start = end + 1;
  }
  return records.length === 0
    ? { content: { type: 'damaged', message: 'the file is empty' }, length: 0 }
    : { content: { type: 'found', records }, length: start };
}

function readBytes(path: string): Buffer {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    return readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function parseLine(line: string): { readonly value: unknown } | undefined {
  const json = line.slice(CHECK_LENGTH + 1);
  if (line[CHECK_LENGTH] !== ' ' || sha256(json).slice(0, CHECK_LENGTH) !== line.slice(0, CHECK_LENGTH))
    return undefined;
  try {
    return { value: JSON.parse(json) };
  } catch {
    return undefined;
  }
}

/** Renames a file to the first free `PATH.corrupt-N`. */
function moveAside(path: string): void {
  for (let number = 1; ; number += 1) {
    const aside = `${path}.corrupt-${number}`;
    try {
      closeSync(openSync(aside, 'wx', 0o600));
    } catch (error) {
      if (isErrno(error, 'EEXIST')) continue;
      throw error;
    }
    try {
      renameSync(path, aside);
    } catch (error) {
      unlinkSync(aside);
      throw error;
    }
    return;
  }
}
