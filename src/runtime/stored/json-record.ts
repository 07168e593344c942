import { type JsonValue, parseJsonBytes } from '../../model/text/json.ts';
import { given } from '../../model/values/given.ts';
import type { SnapshotStore, StoreWrite } from '../../ports/snapshot-store.ts';

/** The JSON of a record (undefined: it is missing or damaged) with its version (null: it is missing). */
export interface JsonRecord {
  readonly value: JsonValue | undefined;
  readonly version: string | null;
}

/** Rejects if the store does not answer. */
export async function readJson(store: SnapshotStore, key: string): Promise<JsonRecord> {
  const record = await store.get(key);
  return record === undefined
    ? { value: undefined, version: null }
    : { value: parseJsonBytes(record.value), version: record.version };
}

/** A write of JSON; null deletes. */
export function jsonWrite(key: string, value: JsonValue | null, ifVersion?: string | null): StoreWrite {
  const bytes = value === null ? null : new TextEncoder().encode(JSON.stringify(value));
  return { key, value: bytes, ...given({ ifVersion }) };
}
