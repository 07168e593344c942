import type { StoredRecord } from '../../../ports/snapshot-store.ts';

export type Layout = ReturnType<typeof createLayout>;

/**
 * Names of the store's keys and channel in Redis. All carry one hash tag. A channel is common to all databases of a server,
 * so its name contains the database.
 */
export function createLayout(prefix: string, database: number) {
  const base = /[{}]/.test(prefix) ? prefix : `{${prefix}}`;
  const records = `${base}:record:`;
  return {
    /** Prefix of all names. */
    base,
    /** Hash: the store's marker, the count of batches, and the ids of the last ones. */
    state: `${base}:state`,
    /** Sorted set: `k` + key for each record, and `m` + marker. */
    index: `${base}:index`,
    changes: `${base}:changes:${database}`,
    record: (key: string) => records + key,
    /** The record key in a name that `record` made. */
    keyOf: (name: string) => name.slice(records.length),
    /** A SCAN pattern that matches all records. */
    anyRecord: `${records.replaceAll(/[\\*?[\]^]/g, '\\$&')}*`,
    /** Holds the current session of a handle. */
    writer: (handle: string) => `${base}:writer:${handle}`,
  };
}

/** Characters of a version, which precedes the bytes of its value. */
export const VERSION_LENGTH = 24;

/** The bytes of a record in Redis. */
export function withVersion(version: string, value: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(version, 'latin1'), value]);
}

/** Decodes the answer of GET; undefined if Redis has no such record. Throws if another program wrote the bytes. */
export function recordOf(key: string, bytes: unknown): StoredRecord | undefined {
  if (bytes === null) return undefined;
  if (!Buffer.isBuffer(bytes) || bytes.byteLength < VERSION_LENGTH) {
    throw new Error(`the record ${key} in Redis was not written by fleetrelay; remove it`);
  }
  // Copied: the client's buffers are large, and a small record would keep one of them in memory.
  const value = new Uint8Array(bytes.subarray(VERSION_LENGTH));
  return { key, value, version: bytes.toString('latin1', 0, VERSION_LENGTH) };
}

/** The texts of an answer that is a list of texts. */
export function texts(answer: unknown): readonly string[] {
  return Array.isArray(answer) ? answer.map(String) : [];
}
