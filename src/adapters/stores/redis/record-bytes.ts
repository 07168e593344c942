import type { StoredRecord } from '../../../ports/snapshot-store.ts';

/** Characters of a version, which stands before the bytes of its value. */
export const VERSION_LENGTH = 24;

/** What Redis keeps of a record: its version and then its bytes. */
export function withVersion(version: string, value: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(version, 'latin1'), value]);
}

/** Undefined: Redis has no such record. */
export function recordOf(key: string, bytes: unknown): StoredRecord | undefined {
  if (bytes === null) return undefined;
  if (!Buffer.isBuffer(bytes) || bytes.byteLength < VERSION_LENGTH) {
    throw new Error(`the record ${key} in Redis was not written by fleetrelay; remove it`);
  }
  // A copy: what Redis sends arrives in large pieces, which a small record would hold on to.
  const value = new Uint8Array(bytes.subarray(VERSION_LENGTH));
  return { key, value, version: bytes.toString('latin1', 0, VERSION_LENGTH) };
}
