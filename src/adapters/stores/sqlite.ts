import { chmodSync, closeSync, constants, openSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { compareText } from '../../model/text/json.ts';
import { errorText } from '../../model/text/messages.ts';
import type { Log } from '../../ports/log.ts';
import type { SnapshotStore, StoredRecord, StoreWrite } from '../../ports/snapshot-store.ts';
import { moveAside } from '../disk/files.ts';
import { makeFoldersSync } from '../disk/folders.ts';

/** "flrs" in ASCII: marks a database file as one of ours. */
const APPLICATION_ID = 0x666c7273;
const SCHEMA_VERSION = 1;
/** Wait for a server that is shutting down and still locks the file. */
const BUSY_TIMEOUT_MS = 3000;
/** A list yields to the event loop after this many records. */
const TURN_RECORDS = 100;
/** Primary result codes of SQLite. */
const SQLITE_BUSY = 5;
const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;

export interface SqliteStoreOptions {
  /** Receives an error when a damaged file is moved aside. */
  readonly log?: Log;
}

/**
 * A store in one SQLite file (mode 0600), locked by one process at a time.
 *
 * A damaged file is renamed to `PATH.corrupt-N`, and the store starts empty. Rejects if the file belongs to another program,
 * was written by a newer version, or is locked by a running server.
 */
export async function createSqliteStore(path: string, options: SqliteStoreOptions = {}): Promise<SnapshotStore> {
  // Imported here: only a process with such a store loads it.
  const { DatabaseSync } = await import('node:sqlite');
  makeFoldersSync(dirname(path), { mode: 0o700 });
  try {
    return storeOver(open(DatabaseSync, path));
  } catch (error) {
    if (!isDamage(error)) throw error;
    const aside = moveAside(path, ['-wal', '-shm']);
    options.log?.error('the store was damaged and has been moved aside; it starts empty', { path, aside, error });
    return storeOver(open(DatabaseSync, path));
  }
}

function open(Database: typeof DatabaseSync, path: string): DatabaseSync {
  // Created first: SQLite would apply the umask. The WAL and shared-memory files copy the mode of the file.
  closeSync(openSync(path, constants.O_CREAT | constants.O_RDWR | constants.O_NOFOLLOW, 0o600));
  chmodSync(path, 0o600);
  const database = new Database(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    prepare(database, path);
    return database;
  } catch (error) {
    database.close();
    if (codeOf(error) === SQLITE_BUSY) {
      throw new Error(`the store ${path} is in use by another process; stop that one first`, { cause: error });
    }
    if (codeOf(error) === undefined || isDamage(error)) throw error;
    throw new Error(`the store ${path} cannot be used: ${errorText(error)}`, { cause: error });
  }
}

function prepare(database: DatabaseSync, path: string): void {
  database.exec('PRAGMA locking_mode = EXCLUSIVE');
  const found = pragma(database, 'application_id');
  const tables = Number(database.prepare('SELECT count(*) AS n FROM sqlite_schema').get()?.n ?? 0);
  if (found !== APPLICATION_ID && (found !== 0 || tables > 0)) {
    throw new Error(`${path} is a database of another program; name another path for the store`);
  }
  const version = pragma(database, 'user_version');
  if (version > SCHEMA_VERSION) {
    throw new Error(`the store ${path} was written by a newer version (format ${version}, known is ${SCHEMA_VERSION})`);
  }
  const check = database.prepare('PRAGMA quick_check(1)').get()?.quick_check;
  if (check !== 'ok') throw new DamagedFile(`the store ${path} is damaged: ${String(check)}`);
  // FULL: a confirmed write must survive a power failure, since a position that was sent must never be assigned again.
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  database.exec(`
    BEGIN IMMEDIATE;
    CREATE TABLE IF NOT EXISTS records (key TEXT PRIMARY KEY NOT NULL, value BLOB NOT NULL, version INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS counter (id INTEGER PRIMARY KEY CHECK (id = 1), value INTEGER NOT NULL);
    INSERT OR IGNORE INTO counter (id, value) VALUES (1, 0);
    PRAGMA application_id = ${APPLICATION_ID};
    PRAGMA user_version = ${SCHEMA_VERSION};
    COMMIT;
  `);
}

function storeOver(database: DatabaseSync): SnapshotStore {
  const read = database.prepare('SELECT value, version FROM records WHERE key = ?');
  const versionOf = database.prepare('SELECT version FROM records WHERE key = ?');
  const keysFrom = database.prepare('SELECT key FROM records WHERE key >= ? ORDER BY key');
  const put = database.prepare('INSERT OR REPLACE INTO records (key, value, version) VALUES (?, ?, ?)');
  const remove = database.prepare('DELETE FROM records WHERE key = ?');
  const countOn = database.prepare('UPDATE counter SET value = value + ? WHERE id = 1 RETURNING value');

  return {
    get: async (key) => get(key),
    async *list(prefix) {
      for (const [index, key] of keysWith(prefix).entries()) {
        // The driver is synchronous: without a pause a long list would block the event loop.
        if (index % TURN_RECORDS === TURN_RECORDS - 1) await setImmediate();
        const record = get(key);
        if (record !== undefined) yield record;
      }
    },
    write: async (writes) => write(writes),
    shared: false,
    watch: () => () => {},
    notified: async () => undefined,
    close: async () => {
      if (database.isOpen) database.close();
    },
  };

  function get(key: string): StoredRecord | undefined {
    const row = read.get(key);
    if (row === undefined) return undefined;
    const { value, version } = row;
    if (!(value instanceof Uint8Array)) throw new Error('the store holds a record that is not bytes');
    return { key, value, version: String(version) };
  }

  function keysWith(prefix: string): readonly string[] {
    const keys: string[] = [];
    for (const row of keysFrom.iterate(prefix)) {
      const key = String(row.key);
      if (!key.startsWith(prefix)) break;
      keys.push(key);
    }
    // SQLite orders by UTF-8 bytes; the port orders by UTF-16 units.
    return keys.sort(compareText);
  }

  function write(writes: readonly StoreWrite[]): 'written' | 'conflict' {
    database.exec('BEGIN IMMEDIATE');
    try {
      for (const { key, ifVersion } of writes) {
        if (ifVersion !== undefined && ifVersion !== currentVersion(key)) {
          database.exec('ROLLBACK');
          return 'conflict';
        }
      }
      const puts = writes.filter(({ value }) => value instanceof Uint8Array).length;
      let version = puts === 0 ? 0 : Number(countOn.get(puts)?.value) - puts;
      for (const { key, value } of writes) {
        if (value === null) remove.run(key);
        else if (value !== undefined) put.run(key, value, ++version);
      }
      database.exec('COMMIT');
      return 'written';
    } catch (error) {
      if (database.isTransaction) database.exec('ROLLBACK');
      throw error;
    }
  }

  function currentVersion(key: string): string | null {
    const row = versionOf.get(key);
    return row === undefined ? null : String(row.version);
  }
}

class DamagedFile extends Error {}

function isDamage(error: unknown): boolean {
  return error instanceof DamagedFile || [SQLITE_CORRUPT, SQLITE_NOTADB].includes(codeOf(error) ?? 0);
}

/** Primary result code (the low byte of the extended one) of an error of SQLite. */
function codeOf(error: unknown): number | undefined {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'
    ? error.errcode & 0xff
    : undefined;
}

function pragma(database: DatabaseSync, name: string): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0);
}
