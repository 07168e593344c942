import { type JsonValue, objectOf, parseJsonBytes } from '../../model/json.ts';
import type { AdmissionPosition } from '../../model/output.ts';
import type { SnapshotStore, StoreWrite } from '../../ports/snapshot-store.ts';

/** What is admitted: written by the leader, or by the only server. */
export const ADMISSION_KEY = 'admission';

/** A record's JSON as it is now, with its version (null: it is not there). A damaged one counts as not there. */
export interface JsonRecord {
  readonly value: JsonValue | undefined;
  readonly version: string | null;
}

/** Rejects when the store cannot be asked. */
export async function readJson(store: SnapshotStore, key: string): Promise<JsonRecord> {
  const record = await store.get(key);
  return record === undefined
    ? { value: undefined, version: null }
    : { value: parseJsonBytes(record.value), version: record.version };
}

/** A write of JSON; null deletes. */
export function jsonWrite(key: string, value: JsonValue | null, ifVersion?: string | null): StoreWrite {
  const bytes = value === null ? null : new TextEncoder().encode(JSON.stringify(value));
  return { key, value: bytes, ...(ifVersion === undefined ? {} : { ifVersion }) };
}

/** Undefined: that is no position. */
export function readAdmission(value: JsonValue | undefined): AdmissionPosition | undefined {
  const { epoch, sequence } = objectOf(value);
  return isCount(epoch) && isCount(sequence) ? { epoch, sequence } : undefined;
}

function isCount(value: JsonValue | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
