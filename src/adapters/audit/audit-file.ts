import { type FileHandle, open, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isJsonObject, type JsonValue } from '../../model/text/json.ts';
import { errorText } from '../../model/text/messages.ts';
import { createTurns } from '../../model/values/in-turn.ts';
import type { AuditEntry, AuditLog } from '../../ports/audit-log.ts';
import { makeFolders } from '../disk/folders.ts';

const NEWLINE = 0x0a;
/** `tail` reads this many bytes at the end of the log. */
const TAIL_BYTES = 4 * 1024 * 1024;

/** Where the log is, and how much of it is kept. */
export interface AuditFileOptions {
  readonly file: string;
  /** A file that would have more bytes becomes `FILE.1`, and a new one begins. */
  readonly fileBytes: number;
  /** Number of files with the current one; the oldest, `FILE.N`, is overwritten. */
  readonly files: number;
}

/**
 * The audit log as files: a JSON document a line, readable for their owner alone. Another program may move the current file away
 * at any time: the next entry begins a new file. An entry that a full disk or a crash has cut is a line of its own.
 */
export function createAuditFile({ file: path, fileBytes, files }: AuditFileOptions): AuditLog {
  let handle: FileHandle | undefined;
  const inTurn = createTurns();
  const rotated = Array.from({ length: files - 1 }, (_, index) => `${path}.${index + 1}`);
  const close = async (): Promise<void> => {
    const closing = handle;
    handle = undefined;
    await closing?.close();
  };
  const opened = async (): Promise<FileHandle> => {
    if (handle !== undefined && (await isAt(handle, path))) return handle;
    await close();
    handle = await openForAppending(path);
    return handle;
  };
  /** The current file, if it has room for the line; else a new one. */
  const withRoom = async (line: Buffer): Promise<FileHandle> => {
    const file = await opened();
    const { size } = await file.stat();
    if (size === 0 || size + line.length <= fileBytes) return file;
    await close();
    await rotate([path, ...rotated]);
    return opened();
  };
  return {
    append: (entry) =>
      inTurn(async () => {
        const line = Buffer.from(`${JSON.stringify(entry)}\n`);
        const file = await withRoom(line);
        try {
          await file.appendFile(line);
          await file.datasync();
        } catch (error) {
          // The line may be incomplete: opening the file again ends it.
          await close().catch(() => undefined);
          throw error;
        }
      }),
    tail: (limit) => inTurn(() => readTail([path, ...rotated], limit)),
    problem: () => inTurn(() => opened()).then(() => undefined, errorText),
    close: () => inTurn(close),
  };
}

/**
 * Renames each file to the next name, the last ones first, up to the first name that is free. A crash between two of these steps
 * leaves a free name, which the next call fills: only the file with the last name is ever overwritten.
 */
async function rotate(names: readonly string[]): Promise<void> {
  const there = await Promise.all(names.map(exists));
  const free = there.indexOf(false);
  const last = free === -1 ? names.length - 1 : free;
  for (let at = last - 1; at >= 0; at -= 1) await rename(names[at] ?? '', names[at + 1] ?? '');
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}

async function openForAppending(path: string): Promise<FileHandle> {
  await makeFolders(dirname(path), { mode: 0o700 });
  const isNew = !(await exists(path));
  const file = await open(path, 'a+', 0o600);
  try {
    const { size } = await file.stat();
    const end = Buffer.alloc(1);
    if (size > 0 && (await file.read(end, 0, 1, size - 1)).bytesRead === 1 && end[0] !== NEWLINE) {
      await file.appendFile('\n');
    }
    if (isNew) await syncFolder(dirname(path));
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Makes the names in a folder durable: without them, the contents of a new file could not be found after a crash. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function isAt(file: FileHandle, path: string): Promise<boolean> {
  const there = await stat(path).catch(() => undefined);
  const { dev, ino } = await file.stat();
  return there !== undefined && there.dev === dev && there.ino === ino;
}

/** Reads the newest entries. `paths`: the newest file first. */
async function readTail(paths: readonly string[], limit: number): Promise<readonly AuditEntry[]> {
  let entries: readonly AuditEntry[] = [];
  let left = TAIL_BYTES;
  for (const path of paths) {
    if (entries.length >= limit || left <= 0) break;
    const { lines, bytes } = await readLines(path, left);
    left -= bytes;
    entries = [...lines.flatMap(readEntry), ...entries];
  }
  return limit === 0 ? [] : entries.slice(-limit);
}

/** The complete lines in the last `most` bytes of a file; none if it is not there. */
async function readLines(
  path: string,
  most: number,
): Promise<{ readonly lines: readonly string[]; readonly bytes: number }> {
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (file === undefined) return { lines: [], bytes: 0 };
  try {
    const { size } = await file.stat();
    const from = Math.max(0, size - most);
    const read = Buffer.alloc(size - from);
    const { bytesRead: bytes } = await file.read(read, 0, read.length, from);
    const lines = read.toString('utf8', 0, bytes).split('\n');
    // The first line may be incomplete.
    return { lines: lines.slice(from === 0 ? 0 : 1), bytes };
  } finally {
    await file.close();
  }
}

const STAGES: readonly string[] = ['asked', 'done', 'refused', 'failed', 'unknown'];
const PROOFS: readonly string[] = ['token', 'certificate', 'local', 'none'];

/** The entry of a line, or nothing if the line is damaged. */
function readEntry(line: string): readonly AuditEntry[] {
  try {
    const value: unknown = JSON.parse(line);
    return isEntry(value) ? [value] : [];
  } catch {
    return [];
  }
}

function isEntry(value: unknown): value is AuditEntry {
  if (!isJsonObject(value as JsonValue)) return false;
  const entry = value as Readonly<Record<string, unknown>>;
  return (
    ['id', 'at', 'who', 'from', 'act', 'message'].every((name) => typeof entry[name] === 'string') &&
    STAGES.includes(String(entry.stage)) &&
    PROOFS.includes(String(entry.proof)) &&
    [null, 'read', 'operate'].includes(entry.role as string | null) &&
    typeof entry.details === 'object' &&
    entry.details !== null
  );
}
