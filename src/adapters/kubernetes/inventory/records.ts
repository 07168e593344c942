import { canonicalJson, compareText, type JsonValue } from '../../../model/json.ts';
import { type ObjectKey, parseObjectKey } from '../../../model/object-key.ts';
import type { InventoryRecord } from '../../../ports/cluster-api.ts';
import { asInventoryRecord, asObject, parsed } from '../../disk/stored-json.ts';

/** The entries of an inventory. */
export type Records = Map<ObjectKey, InventoryRecord>;

/** A line for each entry, in key order, and for each that is gone. */
export function changeLines({
  put,
  drop,
}: {
  readonly put: Iterable<InventoryRecord>;
  readonly drop: readonly ObjectKey[];
}): string {
  const lines = [...put]
    .sort((a, b) => compareText(a.key, b.key))
    .map((record) => canonicalJson({ put: plain(record) }));
  return [...lines, ...drop.map((key) => canonicalJson({ drop: key }))].map((line) => `${line}\n`).join('');
}

/** What lines come to, later ones over earlier ones. Throws on what does not fit. */
export function readLines(text: string): Records {
  const records: Records = new Map();
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const { put, drop } = asObject(JSON.parse(line));
    if (put === undefined) records.delete(parsed(parseObjectKey, drop));
    else {
      const record = asInventoryRecord(put);
      records.set(record.key, record);
    }
  }
  return records;
}

function plain({ key, digest, phase, origins, scope, identity }: InventoryRecord): JsonValue {
  return {
    key,
    digest,
    phase,
    origins: origins.map(({ source, path }) => ({ source, path })),
    scope: [...scope],
    identity,
  };
}
