/** The names that a store has in Redis. All carry one hash tag, so that they would lie in one slot. */
export interface Layout {
  /** What all names begin with. */
  readonly base: string;
  /** Hash: which store this is, how many batches were written, and the ids of the last ones. */
  readonly state: string;
  /** Sorted set of `k` and a key for each record, and of `m` and the marker. */
  readonly index: string;
  readonly changes: string;
  record(key: string): string;
  /** The key of a record's name. */
  keyOf(name: string): string;
  /** A pattern of SCAN that all records match. */
  readonly anyRecord: string;
  /** Who writes as this handle now. */
  writer(handle: string): string;
  /** A value on its way into a batch. */
  part(batch: string, number: number): string;
}

/** Channels know no databases, so the database is in their name. */
export function createLayout(prefix: string, database: number): Layout {
  const base = /[{}]/.test(prefix) ? prefix : `{${prefix}}`;
  const records = `${base}:record:`;
  return {
    base,
    state: `${base}:state`,
    index: `${base}:index`,
    changes: `${base}:changes:${database}`,
    record: (key) => records + key,
    keyOf: (name) => name.slice(records.length),
    anyRecord: `${records.replaceAll(/[\\*?[\]^]/g, '\\$&')}*`,
    writer: (handle) => `${base}:writer:${handle}`,
    part: (batch, number) => `${base}:part:${batch}:${number}`,
  };
}
