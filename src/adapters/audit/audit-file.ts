import { type FileHandle, open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createTurns } from '../../model/in-turn.ts';
import { isJsonObject, type JsonValue } from '../../model/json.ts';
import { errorText } from '../../model/messages.ts';
import type { AuditEntry, AuditLog } from '../../ports/audit-log.ts';
import { makeFolders } from '../disk/folders.ts';

const NEWLINE = 0x0a;
/** `tail` reads this many bytes at the end of the file. */
const TAIL_BYTES = 4 * 1024 * 1024;

/**
 * The audit log as a file: a JSON document a line, readable for its owner alone. Another program may move the file away at
 * any time: the next entry begins a new file. An entry that a full disk or a crash has cut is a line of its own.
 */
export function createAuditFile(path: string): AuditLog {
  let handle: FileHandle | undefined;
  const inTurn = createTurns();
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
  return {
    append: (entry) =>
      inTurn(async () => {
        const file = await opened();
        try {
          await file.appendFile(`${JSON.stringify(entry)}\n`);
          await file.datasync();
        } catch (error) {
          // The line may be incomplete: opening the file again ends it.
          await close().catch(() => undefined);
          throw error;
        }
      }),
    tail: (limit) => inTurn(() => readTail(path, limit)),
    problem: () => inTurn(() => opened()).then(() => undefined, errorText),
    close: () => inTurn(close),
  };
}

async function openForAppending(path: string): Promise<FileHandle> {
  await makeFolders(dirname(path), { mode: 0o700 });
  const file = await open(path, 'a+', 0o600);
  try {
    const { size } = await file.stat();
    const end = Buffer.alloc(1);
    if (size > 0 && (await file.read(end, 0, 1, size - 1)).bytesRead === 1 && end[0] !== NEWLINE) {
      await file.appendFile('\n');
    }
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function isAt(file: FileHandle, path: string): Promise<boolean> {
  const there = await stat(path).catch(() => undefined);
  const { dev, ino } = await file.stat();
  return there !== undefined && there.dev === dev && there.ino === ino;
}

async function readTail(path: string, limit: number): Promise<readonly AuditEntry[]> {
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (file === undefined) return [];
  try {
    const { size } = await file.stat();
    const from = Math.max(0, size - TAIL_BYTES);
    const bytes = Buffer.alloc(size - from);
    const { bytesRead } = await file.read(bytes, 0, bytes.length, from);
    const lines = bytes.toString('utf8', 0, bytesRead).split('\n');
    // The first line may be incomplete.
    const entries = lines.slice(from === 0 ? 0 : 1).flatMap(readEntry);
    return limit === 0 ? [] : entries.slice(-limit);
  } finally {
    await file.close();
  }
}

const STAGES: readonly string[] = ['asked', 'done', 'refused', 'failed'];
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
