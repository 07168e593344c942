import {
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { sha256 } from '../../model/text/digest.ts';
import { isErrno, moveAside, syncFolder } from './files.ts';

const sync = promisify(fdatasync);
const { O_RDONLY, O_RDWR, O_APPEND, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants;
const CHECK_LENGTH = 16;
/** The file is rewritten when it is this many times as long as after the last rewrite. */
const SLACK = 4;

/** Content of a log when it was opened. `damaged`: a record before the last one is invalid; the file is unchanged. */
export type RecordLogContent =
  | { readonly type: 'found'; readonly records: readonly unknown[] }
  | { readonly type: 'missing' }
  | { readonly type: 'damaged'; readonly message: string };

/**
 * A file of records (mode 0600), one per line, each with a checksum: the format, a complete state, then steps. `content` is
 * the state and the steps at the opening; a file of another format is damaged. A crash can tear only the last step, which was
 * never confirmed and is dropped. The file grows to at least `rewriteFromBytes` before it is rewritten. One call at a time.
 */
export function openRecordLog(path: string, format: string, rewriteFromBytes = 0) {
  const { content, ends } = read(path, format);
  let isValid = content.type === 'found';
  let length = ends.at(-1) ?? 0;
  let lengthAtRewrite = ends[1] ?? 0;
  let descriptor: number | undefined;

  return { content, append, rewrite, close };

  /**
   * Appends a step; durable when it resolves. Writes the complete state instead if there is no valid file to append to, or
   * the file is long. Rejects if another process has replaced the file.
   */
  async function append(step: unknown, complete: () => unknown): Promise<void> {
    const isLong = length > Math.max(rewriteFromBytes, SLACK * lengthAtRewrite);
    if (!isValid || isLong || !exists()) return rewrite(complete());
    descriptor ??= openSync(path, O_RDWR | O_APPEND | O_NOFOLLOW);
    const line = lineOf(step);
    // Removes a torn record or one whose write failed.
    ftruncateSync(descriptor, length);
    writeFileSync(descriptor, line);
    await sync(descriptor);
    length += line.byteLength;
  }

  /** Replaces the content with a complete state, atomically; durable when it resolves. A damaged file is moved aside. */
  async function rewrite(complete: unknown): Promise<void> {
    const temporary = `${path}.tmp`;
    const next = openSync(temporary, O_CREAT | O_TRUNC | O_RDWR | O_APPEND | O_NOFOLLOW, 0o600);
    try {
      const lines = Buffer.concat([lineOf(format), lineOf(complete)]);
      writeFileSync(next, lines);
      await sync(next);
      if (content.type === 'damaged' && !isValid && exists()) moveAside(path);
      renameSync(temporary, path);
      syncFolder(dirname(path));
      close();
      descriptor = next;
      length = lines.byteLength;
      lengthAtRewrite = length;
      isValid = true;
    } catch (error) {
      closeSync(next);
      throw error;
    }
  }

  /** Throws if another file has the path: then another process writes it. */
  function exists(): boolean {
    const found = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    if (found === undefined) return false;
    if (descriptor !== undefined && fstatSync(descriptor, { bigint: true }).ino !== found.ino) {
      throw new Error(`${path} was replaced by another process; stop that process, then restart this agent`);
    }
    return true;
  }

  function close(): void {
    if (descriptor !== undefined) closeSync(descriptor);
    descriptor = undefined;
  }
}

function lineOf(record: unknown): Buffer {
  const json = JSON.stringify(record);
  return Buffer.from(`${sha256(json).slice(0, CHECK_LENGTH)} ${json}\n`);
}

/** `ends`: the length of the file up to the end of each valid record. */
function read(path: string, format: string): { readonly content: RecordLogContent; readonly ends: readonly number[] } {
  const ends: number[] = [];
  const damaged = (message: string) => ({ content: { type: 'damaged', message } as const, ends });
  let bytes: Buffer;
  try {
    bytes = readBytes(path);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return { content: { type: 'missing' }, ends };
    throw error;
  }
  const records: unknown[] = [];
  for (let start = 0; start < bytes.byteLength; ) {
    const end = bytes.indexOf(0x0a, start);
    const record = end < 0 ? undefined : parseLine(bytes.toString('utf8', start, end));
    if (record === undefined) {
      const isTornStep = (end < 0 || end === bytes.byteLength - 1) && records.length > 1;
      if (isTornStep) break;
      return damaged(`record ${records.length + 1} fails its check`);
    }
    records.push(record.value);
    start = end + 1;
    ends.push(start);
  }
  const [found, ...rest] = records;
  if (rest.length === 0) return damaged('the file holds no complete state');
  return found === format ? { content: { type: 'found', records: rest }, ends } : damaged('unknown format');
}

function readBytes(path: string): Buffer {
  const descriptor = openSync(path, O_RDONLY | O_NOFOLLOW);
  try {
    return readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function parseLine(line: string): { readonly value: unknown } | undefined {
  const json = line.slice(CHECK_LENGTH + 1);
  if (line[CHECK_LENGTH] !== ' ' || sha256(json).slice(0, CHECK_LENGTH) !== line.slice(0, CHECK_LENGTH)) {
    return undefined;
  }
  try {
    return { value: JSON.parse(json) };
  } catch {
    return undefined;
  }
}
